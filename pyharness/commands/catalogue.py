"""Names that the command line knows, as rows of plain values. Nothing heavy is imported to list it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyharness import corpora, suite, tokenizers
from pyharness.benchmarks import benchmarks
from pyharness.metrics import all_metrics
from pyharness.plugins import registry
from pyharness.types import TokenizerFamily, TokenizerSpec

Row = dict[str, Any]
PROSE = ("about", "parameters")  # keys of rows whose values are long
GROUP = "benchmark"  # key of rows: a table for people has one value of it


def _sort(known: Mapping[str, Any]) -> list[Any]:
    """Return the values in the order that they declare."""
    return sorted(known.values(), key=lambda one: one.place)


def _tokenizers() -> list[Row]:
    listed = _sort({**tokenizers.specs(), **{f"{name}:": one for name, one in tokenizers.families_by_name().items()}})
    engines = sorted(tokenizers.engines_by_name().values(), key=lambda engine: engine.name)
    rows = [(one.name, one.extra, one.source) if isinstance(one, TokenizerSpec) else _family(one) for one in listed]
    rows += [(f"{engine.name}+...", engine.extra, engine.summary) for engine in engines]
    return [{"name": name, "extra": extra, "about": about} for name, extra, about in rows]


def _family(family: TokenizerFamily) -> tuple[str, str | None, str]:
    arguments = ", ".join(family.known())
    return f"{family.name}:...", family.extra, family.summary + (f" ({arguments})" if arguments else "")


def _corpora() -> list[Row]:
    return [
        {"name": family.name, "extra": family.extra, "about": f"{family.summary}; for example {family.example}"}
        for family in _sort(corpora.families())
    ]


def _trainers() -> list[Row]:
    rows = [
        {"name": trainer.name, "library": trainer.library, "extra": trainer.extra, "about": trainer.summary}
        for trainer in _sort(registry.offered("pyharness.trainers", "TRAINERS"))
    ]
    others = registry.offered("pyharness.streams", "TRAININGS").values()
    return [*rows, *({"name": other.name, "library": None, "extra": None, "about": other.summary} for other in others)]


def _metrics() -> list[Row]:
    """Return metrics by benchmark; those of a pass first, as the pass gives them to several benchmarks."""
    metrics = all_metrics()
    measured = {name: one.name for one in reversed(_sort(benchmarks())) for name in one.metric_names}
    groups = {one.name: place for place, one in enumerate(_sort(benchmarks()))}
    names = sorted(metrics, key=lambda name: groups.get(measured.get(name, ""), len(groups)))
    return [
        {"name": name, "unit": metric.unit, "better": metric.direction, "about": metric.summary,
         GROUP: measured.get(name)}
        for name, metric in ((name, metrics[name]) for name in names)
    ]  # fmt: skip


def _benchmarks() -> list[Row]:
    return [
        {
            "name": benchmark.name,
            "corpus": benchmark.corpus,
            "parameters": ", ".join(f"{name}={value}" for name, value in benchmark.parameters.items()),
            "about": benchmark.summary,
        }
        for benchmark in _sort(benchmarks())
    ]


def names() -> dict[str, list[str]]:
    """Return what a shell completes: names by kind."""
    return {
        "tokenizers": [*tokenizers.names(), *(f"{one}+" for one in tokenizers.engines_by_name())],
        "corpora": corpora.names(),
        **{kind: [row["name"] for row in KINDS[kind]()] for kind in ("trainers", "metrics", "benchmarks", "suites")},
    }


KINDS: Mapping[str, Callable[[], list[Row]]] = {
    "tokenizers": _tokenizers, "corpora": _corpora, "trainers": _trainers, "metrics": _metrics,
    "benchmarks": _benchmarks,
    "suites": lambda: [{"name": name, "about": suite.summary_of(path)} for name, path in suite.shipped().items()],
}  # fmt: skip
