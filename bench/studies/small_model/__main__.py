"""Does the way in which new rows are made help a small model, right after surgery and after further training?

    PYHARNESS_DATA=... PYTHONPATH=bench/studies python -m small_model --seeds 3 --minutes 30

A GPT-2 of a few layers is trained on English with a little of a language; its tokenizer is extended for the language
(continued BPE), its embeddings by each method, and all models, the unextended among them, go on with the same bytes of
text. Held-out text is scored before surgery, right after it and after training, in bits per byte. One core, float32,
fixed seeds. Results are kept line by line, so a run that was ended goes on where it was; tables are computed from them.

The trial that turns --minutes into bytes of text is the one thing that depends on the machine: --bytes leaves it out.
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

from pyharness.language_models.loading import require_libraries
from pyharness.system.environment import version_of
from pyharness.types import InputError, Unsupported
from small_model import networks, tables, vocabularies
from small_model.networks import Shape
from small_model.results import Results
from small_model.study import Study
from small_model.texts import DOCUMENTS, Texts, mixed, ordered
from small_model.vocabularies import Vocabulary

RESULTS = Path(__file__).parents[2] / "results" / "small_model.jsonl"
METHODS = ("fvt", "mean", "random")
SAMPLE = 1 << 20  # bytes that tell how much text is in a token
TOKENIZER_BYTES = 1 << 23  # that the base tokenizer is trained on
SETTING = ("language", "layers", "width", "context", "batch", "vocabulary", "tokens", "share", "documents")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="small_model", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add, default = parser.add_argument, Shape()
    add("--language", default="et", help="folder of corpora/multilingual in the data folder")
    add("--text", help="corpus of the language, instead")
    add("--english", help="corpus that the base is trained on [default: the books of the data folder]")
    add("--base", type=Path, help="tokenizer.json [default: one is trained, with --vocabulary tokens]")
    add("--vocabulary", type=int, default=8192)
    add("--tokens", type=int, default=2048, help="that the extension adds")
    add("--methods", default=",".join(METHODS))
    add("--seeds", type=int, default=3)
    add("--minutes", type=float, default=20.0, help="of training for each seed, about, on this machine")
    add("--bytes", type=int, nargs=2, metavar=("BASE", "FURTHER"), help="of text, instead")
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
    books = f"path:{data}/corpora/english/books.jsonl.xz"
    return given.english or books, given.text or f"path:{data}/corpora/multilingual/{given.language}"


def tokenizers_of(given: argparse.Namespace, english: Texts, language: Texts) -> tuple[Vocabulary, Vocabulary]:
    """Base and extension, made unless they are there."""
    of = [english.digest, language.digest, given.vocabulary, given.tokens, given.share, str(given.base)]
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
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]


def amounts(given: argparse.Namespace, shape: Shape, study: tuple[Texts, Texts, Vocabulary]) -> tuple[int, int]:
    """Bytes of text: for the base half of the time, for the models that go on the other half, in equal parts."""
    if given.bytes:
        return int(given.bytes[0]), int(given.bytes[1])
    english, language, base = study
    tokens = networks.tokens_per_second(shape, base.ids) * 60 * given.minutes / 2
    samples = (
        mixed(english.further, language.before, SAMPLE, given.share, seed=0),
        ordered(language.further, SAMPLE, seed=0),
    )
    per_token = [sum(len(text.encode()) for text in texts) / len(base.stream(texts)) for texts in samples]
    return int(tokens * per_token[0]), int(tokens * per_token[1] / (1 + len(given.methods.split(","))))


def setting_of(given: argparse.Namespace, texts: tuple[Texts, Texts], ids: tuple[int, int]) -> Mapping[str, Any]:
    return {
        **{name: getattr(given, name) for name in SETTING},
        **({"minutes": given.minutes} if given.bytes is None else {}),
        "base": hashlib.sha256(given.base.read_bytes()).hexdigest() if given.base else None,
        "texts": [one.digest for one in texts],
        "ids": list(ids),
        "libraries": {name: version_of(name) for name in ("torch", "transformers")},
    }


def measure(given: argparse.Namespace, results: Results) -> None:
    require_libraries()
    networks.settle()
    shape = Shape(given.layers, given.width, given.context, given.batch)
    english, language = (Texts.read(name, given.documents) for name in corpora_of(given))
    base, extended = tokenizers_of(given, english, language)
    asked = setting_of(given, (english, language), (base.ids, extended.ids))
    if not results.settle(asked):
        sizes = amounts(given, shape, (english, language, base))
        results.setting = {**asked, "base_bytes": sizes[0], "further_bytes": sizes[1]}
    study = Study(
        shape, english, language, base, extended, results.setting["base_bytes"], results.setting["further_bytes"],
        given.share, given.models / _short(results.setting), results,
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
