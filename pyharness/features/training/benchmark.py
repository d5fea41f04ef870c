"""Training: seconds by phase, memory, merges and vocabulary of the rows ``trained:TRAINER?vocab_size=...&corpus=...``.

Such a row names its trainer, options and text, so a case adds only threads, repetitions and rounds. Every repetition
trains again, in a process of its own (``python -m pyharness.features.training.benchmark SPEC THREADS``), on text in
memory, with the library imported. Before it counts, its number of ids is checked. If a library loads it, the first
1 MiB of its text (at least a document) must come back as its class promises. If the trainer is deterministic, all files
must be equal.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pyharness import tokenizers
from pyharness.benchmarks import Benchmark, Findings, Role, Work, notes, rounds
from pyharness.benchmarks.load import MemoryMeter
from pyharness.features.training import rows, trainers
from pyharness.features.training.recipe import Recipe
from pyharness.features.training.trained_cache import RecipeFolder
from pyharness.features.training.trainers import TrainedTokenizer
from pyharness.metrics.speed import OF_TRAINING
from pyharness.plugins import libraries
from pyharness.statistics.samples import median
from pyharness.system import lifeline
from pyharness.system.child_process import ChildDied, said_by
from pyharness.system.timing import without_collector
from pyharness.types import (
    CaseResult,
    Column,
    HasVocabulary,
    InputError,
    Measurement,
    Plot,
    Table,
    Tokenizer,
    TokenizerSpec,
    TokenKind,
    Unsupported,
    counted,
)

CHECKED_BYTES = 1 << 20  # of the text, for the round trip
TOTAL = "total"


class Wrong(Exception):
    """The result of a training breaks a promise."""


# ---------------------------------------------------------------------------------------------- one repetition


def probe(specification: str, threads: int) -> dict[str, Any]:
    """Train once in this process, and check the result; return the figures, or why the trainer refused.

    Raises:
        Unsupported: the row was not trained here.
        Wrong: the result breaks a promise.
    """
    recipe = recipe_of(specification)
    texts = list(recipe.texts())
    size = sum(len(text.encode()) for text in texts)
    libraries.import_all(recipe.trainer.library)
    request = recipe.request(threads, texts=lambda: iter(texts), text_bytes=size)
    meter = MemoryMeter()
    with meter, without_collector():
        start = time.perf_counter()
        try:
            trained = trainers.train(recipe.trainer, request)
        except InputError as error:
            return {"refused": str(error)}
        seconds = time.perf_counter() - start
    return {
        "seconds": {TOTAL: seconds, **trained.seconds}, "peak_memory_bytes": meter.bytes, "bytes": size,
        "merges": trained.merges, "vocab_size": trained.vocab_size, "complete": trained.complete,
        "notes": list(trained.notes), "details": dict(trained.details),
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in trained.files.items()},
        "checked": check(recipe, trained, texts),
    }  # fmt: skip


def recipe_of(specification: str) -> Recipe:
    """Return the recipe of a row; raise ``Unsupported`` for rows that were not trained here."""
    recipe = rows.recipe_of(specification)
    if recipe is None:
        raise Unsupported("it was not trained here: only rows trained:... can be trained again")
    return recipe


def check(recipe: Recipe, trained: TrainedTokenizer, texts: Sequence[str]) -> str:
    """Check a trained tokenizer; return the checks in words, or raise ``Wrong``."""
    wanted = int(recipe.options.get("vocab_size", trained.vocab_size))
    if trained.vocab_size > wanted or (trained.complete and trained.vocab_size != wanted):
        raise Wrong(f"{trained.vocab_size:,} ids instead of {wanted:,}")
    if not recipe.trainer.loadable:
        return "number of ids only: no library loads the result"
    try:
        tokenizer = rows.first_loaded(recipe.trainer, trained)
    except InputError as error:
        raise Wrong(str(error)) from None
    if isinstance(tokenizer, HasVocabulary):
        present = int((tokenizer.vocabulary().kinds != TokenKind.ABSENT).sum())
        if present != trained.vocab_size:
            raise Wrong(f"the file has {present:,} ids, the training says {trained.vocab_size:,}")
    return f"vocabulary; {_round_trip(tokenizer, texts)}"


def _round_trip(tokenizer: Tokenizer, texts: Sequence[str]) -> str:
    ends = np.cumsum([len(text.encode()) for text in texts])
    chosen = texts[: max(1, int(np.searchsorted(ends, CHECKED_BYTES, side="right")))]
    tokens = tokenizer.encode_batch(chosen)
    if not len(tokens.ids) or int(tokens.ids.max()) >= tokenizer.id_limit:
        raise Wrong("the text encodes to nothing, or to ids outside the vocabulary")
    if tokenizer.round_trip == "lossy":
        return "encodes (a lossy tokenizer promises no round trip)"
    for number, text in enumerate(chosen):
        promised = text.encode()
        decoded = tokenizer.decode(tokens.document(number))
        if decoded == promised:
            continue
        if not (isinstance(tokenizer, tokenizers.HasNormalize) and tokenizer.round_trip == "normalised"):
            raise Wrong(f"document {number + 1} does not come back from its ids")
        if decoded != tokenizer.normalize(text).encode():
            raise Wrong(f"document {number + 1} does not come back from its ids, not even normalised")
    return f"round trip ({tokenizer.round_trip}) of {counted(len(chosen), 'document')}"


# ---------------------------------------------------------------------------------------------- all repetitions


def settle(parameters: Mapping[str, Any], row: TokenizerSpec, device: str) -> Mapping[str, Any]:
    """Drop the number of repetitions in rounds, where every turn is one training."""
    settled = rounds.settle(parameters, row, device)
    return {name: value for name, value in settled.items() if name != "repetitions" or "rounds" not in settled}


def run(work: Work) -> Findings:
    """Train in one process per repetition.

    Raises:
        Unsupported: the row was not trained here, or its trainer refuses.
    """
    recipe = recipe_of(work.spec.name)
    kept = RecipeFolder.of(recipe.as_json()).find()
    if kept is not None and kept.refused is not None and not kept.crashed:  # when the row was prepared, on this text
        raise Unsupported(f"{recipe.trainer.name} cannot train this: {kept.refused}")
    threads = str(work.case.parameters["threads"])
    command = ["pyharness.features.training.benchmark", work.spec.name, threads]
    probes: list[dict[str, Any]] = []
    for number in range(int(work.case.parameters.get("repetitions", 1))):
        try:
            *_, last = said_by(command)
        except ChildDied as death:
            return Findings(status="failed", reason=f"training {death}")
        probes.append(json.loads(last))
        if "refused" in probes[-1]:
            raise Unsupported(f"{recipe.trainer.name} cannot train this: {probes[-1]['refused']}")
        work.progress(sum(one["bytes"] for one in probes))
        if recipe.trainer.deterministic and probes[0]["sha256"] != probes[-1]["sha256"]:
            return Findings(
                details={"probes": probes},
                status="failed",
                reason=f"repetition {number + 1} gave other files than the first, though {recipe.trainer.name} says it "
                "is deterministic",
            )
    files = json.dumps(probes[0]["sha256"], sort_keys=True) if recipe.trainer.deterministic else ""
    details = {"probes": probes, "trainer": recipe.as_json()}
    return Findings(tuple(_measurements(probes)), details, fingerprint=files)


def _measurements(probes: Sequence[dict[str, Any]]) -> list[Measurement]:
    first = probes[0]
    measurements = []
    for phase in first["seconds"]:
        samples = tuple(float(one["seconds"][phase]) for one in probes)
        measurements.append(Measurement("train_seconds", median(samples), part=phase, samples=samples))
    rates = tuple(one["bytes"] / one["seconds"][TOTAL] for one in probes)
    measurements.append(Measurement("train_bytes_per_second", median(rates), samples=rates))
    memory = tuple(float(one["peak_memory_bytes"]) for one in probes)
    measurements.append(Measurement("train_peak_memory_bytes", median(memory), samples=memory))
    reason = None if first["merges"] is not None else "no merges, or the library does not report them"
    measurements.append(Measurement("trained_merges", first["merges"], reason=reason))
    measurements.append(Measurement("trained_vocabulary", first["vocab_size"]))
    return measurements


def _note_unfinished(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Name rows with fewer ids than requested."""
    short = []
    for result in results:
        size = notes.training_options(data, result.case.tokenizer).get("vocab_size", "")
        ids = [measurement.value for measurement in result.measurements if measurement.metric == "trained_vocabulary"]
        if size.isdecimal() and ids and ids[0] is not None and ids[0] < int(size):
            short.append(f"{result.case.tokenizer} ({int(size):,})")
    if short:
        yield f"Fewer ids than requested, because the text gave no more: {', '.join(short)}."


RATIOS = {"train_seconds": "train_time_ratio"}

TABLE = Table(
    "Training",
    columns=(
        Column("train_seconds", "seconds", part=TOTAL),
        Column("train_bytes_per_second", "MB/s"),
        Column("train_peak_memory_bytes", "memory MB"),
        Column("trained_merges", "merges"),
        Column("trained_vocabulary", "ids"),
        Column("train_seconds", "longest phase", pick="most", without=(TOTAL,), shows="part"),
    ),
    notes=(
        "Text in memory, library imported; memory: on top of both. Medians of trainings, each in a fresh process.",
        notes.provenance,
        _note_unfinished,
        rounds.no_ratio(RATIOS),
    ),
    per=("threads",),
)

RATIO_TABLE = Table(
    "Training time relative to the reference",
    columns=(Column("train_time_ratio", "time ratio", part=TOTAL, interval=True),),
    per=("threads",),
    needs=("train_time_ratio",),
)

PLOTS = (
    Plot(
        Table(
            "Seconds of training by phase",
            columns=(Column("train_seconds", "{part}", each=True, interval=True),),
            per=("threads",),
        ),
        "A stroke is a training in a fresh process, a dot their median.",
        log=True,
    ),
    Plot(RATIO_TABLE, "Time of a training relative to the reference in the same round. Below 1 is faster.", at=1.0),
)

BENCHMARKS = (
    Benchmark(
        "training",
        "seconds by phase, memory, merges and vocabulary of a training, for rows trained:...",
        run,
        corpus="none",
        place=8,
        metrics=OF_TRAINING,
        role=Role.TIMES,
        tables=(TABLE, RATIO_TABLE),
        plots=PLOTS,
        parameters={"threads": "powers of two", "repetitions": 3, **rounds.PARAMETERS},
        settle=settle,
        relative=rounds.relative_to(RATIOS),
        own_process=True,
    ),
)

if __name__ == "__main__":
    lifeline.begin()
    try:
        print(json.dumps(probe(sys.argv[1], int(sys.argv[2]))))  # noqa: T201
    except (InputError, Wrong) as error:
        sys.exit(str(error))
