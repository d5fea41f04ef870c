"""Does the way in which new rows are made help a small model, right after surgery and after further training?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m small_model --seeds 3

A GPT-2 of a few layers is trained on English with a little of a language; its tokenizer is extended for the language
(continued BPE), its embeddings by each method, and all models, the unextended among them, go on with the same bytes of
text in the same order. Held-out works are scored before surgery, right after it and after training, in bits per byte.
One core, float32, fixed seeds, fixed bytes: what is measured does not depend on how busy the machine is. Results are
kept line by line, so a run that was ended goes on where it was; tables are computed from them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyharness.features.language_models.loader import require_libraries
from pyharness.system.environment import version_of
from pyharness.types import InputError, Unsupported
from small_model import networks, tables, vocabularies
from small_model.networks import Shape
from small_model.results import Results
from small_model.study import Study
from small_model.texts import DOCUMENTS, Texts, mixed
from small_model.vocabularies import Vocabulary

RESULTS = Path(__file__).parents[1] / "results" / "small_model.jsonl.gz"
LAWS = "multilingual/et/riigiteataja_laws"
METHODS = ("fvt", "mean", "random")
TOKENIZER_BYTES = 1 << 23  # that the base tokenizer is trained on
BYTES = (1_500_000, 300_000)  # that the base is trained on, and that each model goes on with
SETTING = ("layers", "width", "context", "batch", "vocabulary", "tokens", "share", "documents", "work_field")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="small_model", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add, default = parser.add_argument, Shape()
    add("--text", help="corpus of the language [default: the Estonian laws of the data folder]")
    add("--english", help="corpus that the base is trained on [default: the books of the data folder]")
    add("--work-field", default="id", help="field of their rows that names a work, up to a #; empty: there is none")
    add("--base", type=Path, help="tokenizer.json [default: one is trained, with --vocabulary tokens]")
    add("--vocabulary", type=int, default=4096)
    add("--tokens", type=int, default=1024, help="that the extension adds")
    add("--methods", default=",".join(METHODS))
    add("--seeds", type=int, default=3)
    add("--bytes", type=int, nargs=2, metavar=("BASE", "FURTHER"), default=BYTES, help="of text that a model reads")
    add("--share", type=float, default=0.1, help="of the language in the text of the base")
    add("--layers", type=int, default=default.layers)
    add("--width", type=int, default=default.width)
    add("--context", type=int, default=default.context)
    add("--batch", type=int, default=default.batch)
    add("--documents", type=int, default=DOCUMENTS, help="held out of each text")
    add("--results", type=Path, default=RESULTS)
    add("--models", type=Path, default=Path("build/small_model"), help="folder that models are kept in")
    add("--tables", action="store_true", help="print tables of what there is, and measure nothing")
    given = parser.parse_args()
    if unknown := [one for one in given.methods.split(",") if one not in METHODS]:
        parser.error(f"unknown method {unknown[0]!r}; known: {', '.join(METHODS)}")
    if given.seeds < 1 or not 0 <= given.share < 1:
        parser.error("there is at least one seed, and the share is from 0 to 1")
    return given


def corpora_of(given: argparse.Namespace) -> tuple[str, str]:
    """English, and the language.

    Raises:
        InputError: there is no data folder, and they are not given.
    """
    if given.english and given.text:
        return given.english, given.text
    if not (data := os.environ.get("PYHARNESS_DATA")):
        raise InputError("set PYHARNESS_DATA to the folder of data, or give --english and --text")
    books, laws = (f"path:{data}/corpora/{name}.jsonl.xz" for name in ("english/books", LAWS))
    return given.english or books, given.text or laws


def tokenizers_of(given: argparse.Namespace, english: Texts, language: Texts) -> tuple[Vocabulary, Vocabulary]:
    """Base and extension, made unless they are there."""
    of = [english.digest, language.digest, given.work_field, given.vocabulary, given.tokens, given.share, given.base]
    folder = given.models / _short(of)
    base, extended = given.base or folder / "base.json", folder / "extended.json"
    if not base.is_file():
        texts = mixed((*english.before, *english.further), language.before, TOKENIZER_BYTES, given.share, seed=0)
        vocabularies.train_base(texts, given.vocabulary, base)
    if not extended.is_file():
        vocabularies.extend(base, language.further, given.tokens, extended)
    return Vocabulary.load(base), Vocabulary.load(extended)


def _short(content: object) -> str:
    """Name of a folder for what is made with these settings."""
    return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()[:12]


def setting_of(
    given: argparse.Namespace, texts: tuple[Texts, Texts], made: tuple[Vocabulary, Vocabulary]
) -> Mapping[str, Any]:
    return {
        **{name: getattr(given, name) for name in SETTING},
        "bytes": list(given.bytes),
        "texts": [one.digest for one in texts],
        "copied": round(texts[1].copied(), 4),
        "tokenizers": [hashlib.sha256(one.path.read_bytes()).hexdigest() for one in made],
        "ids": [one.ids for one in made],
        "libraries": {name: version_of(name) for name in ("torch", "transformers")},
    }


def measure(given: argparse.Namespace, results: Results) -> None:
    require_libraries()
    networks.settle()
    shape = Shape(given.layers, given.width, given.context, given.batch)
    english, language = (Texts.read(name, given.documents, given.work_field) for name in corpora_of(given))
    base, extended = tokenizers_of(given, english, language)
    results.settle(setting_of(given, (english, language), (base, extended)))
    study = Study(
        shape, english, language, base, extended, given.bytes[0], given.bytes[1], given.share,
        given.models / _short(results.setting), results,
    )  # fmt: skip
    study.run(range(given.seeds), given.methods.split(","))


def main() -> None:
    given = arguments()
    try:
        results = Results.read(given.results)
        if not given.tables:
            measure(given, results)
        if not results.lines:
            raise InputError(f"{given.results} has nothing yet; leave --tables out to measure")
    except (InputError, Unsupported) as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
    sys.stdout.write(tables.report(results))


if __name__ == "__main__":
    main()
