"""Names that the command line knows, as rows of plain values. Nothing heavy is imported to list it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyharness import corpora, suite, tokenizers, trainers
from pyharness.benchmarks import benchmarks
from pyharness.commands import streams
from pyharness.metrics import all_metrics

Row = dict[str, Any]
PROSE = ("about", "parameters")  # keys of rows whose values are long


def _tokenizers() -> list[Row]:
    rows = [{"name": spec.name, "extra": spec.extra, "about": spec.source} for spec in tokenizers.specs().values()]
    for family in tokenizers.families_by_name().values():
        arguments = ", ".join(family.known())
        rows.append(
            {
                "name": f"{family.name}:...",
                "extra": family.extra,
                "about": family.summary + (f" ({arguments})" if arguments else ""),
            }
        )
    rows += [
        {"name": f"{engine.name}+...", "extra": engine.extra, "about": engine.summary}
        for engine in tokenizers.engines_by_name().values()
    ]
    return rows


def _corpora() -> list[Row]:
    return [
        {"name": family.name, "extra": family.extra, "about": f"{family.summary}; for example {family.example}"}
        for family in corpora.families().values()
    ]


def _trainers() -> list[Row]:
    rows = [
        {"name": trainer.name, "library": trainer.library, "extra": trainer.extra, "about": trainer.summary}
        for trainer in trainers.specs().values()
    ]
    others = streams.trainings().values()
    return [*rows, *({"name": one.name, "library": None, "extra": None, "about": one.summary} for one in others)]


def _metrics() -> list[Row]:
    return [
        {"name": metric.name, "unit": metric.unit, "better": metric.direction, "about": metric.summary}
        for metric in all_metrics().values()
    ]


def _benchmarks() -> list[Row]:
    return [
        {
            "name": benchmark.name,
            "corpus": benchmark.corpus,
            "parameters": ", ".join(f"{name}={value}" for name, value in benchmark.parameters.items()),
            "about": benchmark.summary,
        }
        for benchmark in benchmarks().values()
    ]


def _suites() -> list[Row]:
    return [{"name": name, "about": suite.summary_of(path)} for name, path in suite.shipped().items()]


KINDS: Mapping[str, Callable[[], list[Row]]] = {
    "tokenizers": _tokenizers,
    "corpora": _corpora,
    "trainers": _trainers,
    "metrics": _metrics,
    "benchmarks": _benchmarks,
    "suites": _suites,
}
