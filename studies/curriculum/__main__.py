"""Does a vocabulary that grows by a model's own entropy make the model better, beside models that train as long?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m curriculum --tier small           # --tables prints them again

What a vocabulary curriculum (arXiv 2502.17910) claims, with the controls that were left out. The tier ``ngram`` puts
symbol models in the place of networks; ``small`` trains networks of two layers on one core; ``gpu`` is the published
configuration. Results are kept line by line, so a run that
was ended goes on where it was; tables are computed from them.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from curriculum import ngram, ngram_tables, scoring, tables
from curriculum.ngram import GIVEN, Source
from curriculum.scoring import Passage
from curriculum.study import Study, run
from curriculum.tiers import TIERS, Tier
from curriculum.vocabulary import Grown
from pyharness.features.language_models.loader import require_libraries
from pyharness.system.environment import version_of
from pyharness.types import InputError, Unsupported
from small_model import networks
from small_model.results import Results
from small_model.texts import Texts, ordered

RESULTS = Path(__file__).parents[1] / "results"
BOOKS = "english/books"
CODE = ("cpp", "go", "java", "javascript", "kotlin", "python", "rust", "typescript")
DOCUMENTS = 300, 64  # held out of the books, and of each language of the code


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="curriculum", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--tier", choices=["ngram", *TIERS], required=True)
    add("--text", help="corpus [default: the books of the data folder; of the tier ngram, its code, too]")
    add("--work-field", default="id", help="field of its rows that names a work, up to a #; empty: there is none")
    add("--bytes", type=int, default=6_000_000, help="of each text that the tier ngram learns from")
    published = "the text is enwik8, cleaned as the paper says: else nothing is called a replication"
    add("--published-text", action="store_true", help=published)
    add("--seeds", type=int, default=3)
    add("--results", type=Path, help="file of results [default: studies/results/curriculum_TIER.jsonl.gz]")
    add("--tables", action="store_true", help="print tables of what there is, and measure nothing")
    parsed = parser.parse_args(given)
    if parsed.seeds < 1:
        parser.error("there is at least one seed")
    return parsed


def in_data(name: str) -> str:
    """Specification of a corpus of the data folder.

    Raises:
        InputError: there is no data folder.
    """
    if not (data := os.environ.get("PYHARNESS_DATA")):
        raise InputError("set PYHARNESS_DATA to the folder of data, or give --text")
    return f"path:{data}/corpora/{name}.jsonl.xz"


def read(given: argparse.Namespace, tier: Tier) -> tuple[str, list[Passage], Grown]:
    """Text of the training, passages of held-out works, and the characters of both."""
    texts = Texts.read(given.text or in_data(BOOKS), tier.documents, given.work_field)
    text = scoring.kept("\n".join(ordered((*texts.before, *texts.further), tier.characters, seed=0)))
    passages = scoring.passages(texts.held_out)
    alphabet = sorted({*text, *"".join(one.text for one in passages)})
    return text, passages, Grown(tuple(alphabet))


def setting_of(tier: Tier, text: str, passages: Sequence[Passage]) -> Mapping[str, Any]:
    """Return what decides the results; texts by their digests."""
    held_out = "".join(f"{one.text}\0{one.group}\0" for one in passages)
    fields = _plain(asdict(tier))
    del fields["lacks"]
    return {
        **fields,
        "text": hashlib.sha256(text.encode()).hexdigest(),
        "passages": hashlib.sha256(held_out.encode()).hexdigest(),
        "libraries": {name: version_of(name) for name in ("torch", "transformers")},
    }


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON gives it back."""
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
    return {name: _plain(value) if isinstance(value, dict) else value for name, value in plain.items()}


def not_run(tier: Tier, seeds: int) -> str:
    """Say what a tier would do that needs a GPU."""
    tokens = tier.shape.batch * tier.shape.context
    rounds = len(tier.sizes)
    steps = tier.steps[0] + rounds * tier.steps[1]
    scratch = sum(tier.steps[0] + number * tier.steps[1] for number in range(1, rounds + 1))
    return (
        f"tier gpu: not run, because torch sees no GPU. On a machine with one:\n\n"
        f"    PYHARNESS_DATA=... PYTHONPATH=studies python -m curriculum --tier gpu --seeds {seeds} "
        f"--text path:ENWIK8 --published-text\n\n"
        f"It trains {tier.shape.layers} layers of {tier.shape.width} (context {tier.shape.context}, batch "
        f"{tier.shape.batch}, no biases, dropout {tier.dropout:g}) on {tier.characters:,} characters, {rounds} rounds "
        f"to {tier.sizes[-1]:,} tokens at {tier.epsilon:g} nats: {steps:,} steps of {tokens:,} tokens for a curve, "
        f"{len(tier.methods)} curves ({', '.join(tier.methods)}), {2 * scratch:,} steps of models that train as long, "
        f"and at least {2 * scratch + 2 * rounds * tier.steps[1]:,} of models of characters, for every seed. "
        "Verdict: not testable here, because it was not run.\n"
    )


def measure(given: argparse.Namespace, tier: Tier, results: Results) -> None:
    networks.settle()
    text, passages, alphabet = read(given, tier)
    results.settle(setting_of(tier, text, passages))
    run([Study(tier, text, passages, alphabet, results, seed) for seed in range(given.seeds)])


def sources(given: argparse.Namespace) -> Iterator[Source]:
    """Texts of the tier without networks."""
    if given.text:
        yield Source.read("text", [given.text], given.work_field, given.bytes, DOCUMENTS[0])
        return
    yield Source.read("English", [in_data(BOOKS)], "id", given.bytes, DOCUMENTS[0])
    yield Source.read("code", [in_data(f"code/{one}") for one in CODE], "path", given.bytes, DOCUMENTS[1])


def measure_symbol_models(given: argparse.Namespace, results: Results) -> None:
    texts = list(sources(given))
    digests = {one.name: hashlib.sha256("\0".join(one.documents).encode()).hexdigest() for one in texts}
    results.settle({"bytes": given.bytes, "texts": digests, "scored": GIVEN})
    for one in texts:
        ngram.Tier(one, results, given.seeds).run()


def _has_gpu() -> bool:
    import torch

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # for results that are the same each time
    return bool(torch.cuda.is_available())


def report(given: argparse.Namespace) -> str:
    """Measure, unless tables alone are asked for, and return what is printed.

    Raises:
        InputError: there is no text, or the results are of something else.
        Unsupported: a library is missing.
    """
    results = Results.read(given.results or RESULTS / f"curriculum_{given.tier}.jsonl.gz")
    tier = None if given.tier == "ngram" else TIERS[given.tier]
    if not given.tables and tier is None:
        measure_symbol_models(given, results)
    elif not given.tables and tier is not None:
        require_libraries()
        if tier.device == "cuda" and not _has_gpu():
            return not_run(tier, given.seeds)
        measure(given, tier, results)
    if not results.lines:
        raise InputError(f"{results.path} has nothing yet; leave --tables out to measure")
    if ("texts" if tier is None else "shape") not in results.setting:
        raise InputError(f"{results.path} is of another tier; name another file with --results")
    if tier is None:
        return ngram_tables.report(results)
    unknown = "" if given.published_text else "the text is not said to be the published one"
    return tables.report(results, tier.lacks or unknown)


def main() -> None:
    given = arguments()
    try:
        sys.stdout.write(report(given))
    except (InputError, Unsupported) as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
