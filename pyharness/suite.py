"""Suites: TOML -> Suite -> Cases. A suite names tokenizers, corpora and benchmarks; its cases are their product."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from pyharness import corpora, tokenizers
from pyharness.benchmarks import Benchmark, benchmarks
from pyharness.environment import cores
from pyharness.registry import pick, suggest
from pyharness.types import Case, Corpus, InputError, ParallelCorpus, TokenizerSpec

PACKAGED = Path(__file__).parent / "suites"
DEFAULT = "quick"
TIME_LIMIT_SECONDS = 600.0
_KEYS = {"name", "summary", "tokenizers", "corpora", "benchmarks", "reference", "time_limit_seconds"}
_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Entry:
    """A tokenizer or corpus of a suite: a short label for tables, and the specification behind it."""

    label: str
    spec: str


@dataclass(frozen=True, slots=True)
class Selection:
    """A benchmark of a suite, with its parameters, on all of the suite's rows or on some."""

    benchmark: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tokenizers: tuple[str, ...] | None = None  # labels; None: all
    corpora: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """What to run, as declared."""

    name: str
    tokenizers: tuple[Entry, ...]
    corpora: tuple[Entry, ...]
    selections: tuple[Selection, ...]
    summary: str = ""
    reference: str | None = None  # label of the tokenizer that sequence lengths are normalised by
    time_limit_seconds: float = TIME_LIMIT_SECONDS

    def as_json(self) -> dict[str, Any]:
        """Return the declaration as JSON values."""
        return {
            "name": self.name,
            "summary": self.summary,
            "reference": self.reference,
            "time_limit_seconds": self.time_limit_seconds,
            "tokenizers": {entry.label: entry.spec for entry in self.tokenizers},
            "corpora": {entry.label: entry.spec for entry in self.corpora},
            "benchmarks": [
                {
                    "name": selection.benchmark,
                    "parameters": dict(selection.parameters),
                    "tokenizers": selection.tokenizers and list(selection.tokenizers),
                    "corpora": selection.corpora and list(selection.corpora),
                }
                for selection in self.selections
            ],
        }

    @property
    def digest(self) -> str:
        """SHA-256 of the declaration: a run is resumed only under the same one."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Plan:
    """A suite with every name resolved: nothing has run yet, and nothing unknown is left."""

    suite: Suite
    tokenizers: Mapping[str, TokenizerSpec]
    corpora: Mapping[str, Corpus]
    cases: tuple[Case, ...]


# ---------------------------------------------------------------------------------------------- reading


def find(name: str) -> Path:
    """Path of a suite: a TOML file, or the name of one that is shipped."""
    path = Path(name)
    if path.suffix == ".toml" or path.exists():
        if not path.is_file():
            raise InputError(f"suite file {name!r} does not exist")
        return path
    return pick("suite", name, shipped())


def shipped() -> dict[str, Path]:
    """Suites that come with pyharness, by name."""
    # An editable install runs from the checkout, where the suites stay in bench/.
    folder = PACKAGED if PACKAGED.is_dir() else PACKAGED.parents[1] / "bench" / "suites"
    return {file.stem: file for file in sorted(folder.glob("*.toml"))}


def summary_of(path: Path) -> str:
    """Return what a suite says about itself, without filling in its variables."""
    return str(tomllib.loads(path.read_text(encoding="utf-8")).get("summary", ""))


def read(path: Path) -> Suite:
    """Parse a suite file; says which key is wrong."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"suite {path} is not valid TOML: {error}") from None
    for key in data.keys() - _KEYS:
        raise InputError(f"suite {path}: {suggest('key', key, _KEYS)}")
    try:
        return Suite(
            name=str(data.get("name", path.stem)),
            summary=str(data.get("summary", "")),
            tokenizers=entries(data["tokenizers"]),
            corpora=entries(data.get("corpora", [])),
            selections=selections(data["benchmarks"]),
            reference=data.get("reference"),
            time_limit_seconds=float(data.get("time_limit_seconds", TIME_LIMIT_SECONDS)),
        )
    except KeyError as error:
        raise InputError(
            f"suite {path} lacks {error.args[0]!r}; a suite has tokenizers, corpora and benchmarks"
        ) from None
    except (TypeError, AttributeError, ValueError) as error:
        if isinstance(error, InputError):
            raise InputError(f"suite {path}: {error}") from None
        raise InputError(f"suite {path} is not laid out like one: {error}; see bench/suites/quick.toml") from None


def entries(items: Iterable[str | Mapping[str, str]]) -> tuple[Entry, ...]:
    """Labels and specifications, with ``${VARIABLE}`` filled in from the environment."""
    found = [_entry(item) for item in items]
    labels = [entry.label for entry in found]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f'the name {label!r} is used twice; give one of them another name = "..."')
    return tuple(found)


def _entry(item: str | Mapping[str, str]) -> Entry:
    if isinstance(item, str):
        return Entry(item, _fill_in(item))
    if set(item) - {"name", "spec"} or "spec" not in item:
        raise InputError(f"{dict(item)!r} needs the keys 'spec' and, if you like, 'name'")
    return Entry(item.get("name", item["spec"]), _fill_in(item["spec"]))


def _fill_in(text: str) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise InputError(f"{text!r} needs the environment variable {match[1]}, which is not set")
        return os.environ[match[1]]

    return _VARIABLE.sub(value, text)


def selections(items: Iterable[str | Mapping[str, Any]]) -> tuple[Selection, ...]:
    """Benchmarks by name, or as tables with a name, parameters, and the rows and corpora they are limited to."""
    return tuple(_selection(item) for item in items)


def override(base: Suite, rows: tuple[Entry, ...], texts: tuple[Entry, ...], chosen: tuple[Selection, ...]) -> Suite:
    """Return the suite with what is given in place of its own; limits to rows or corpora that are gone are dropped."""
    kept_rows = {entry.label for entry in rows or base.tokenizers}
    kept_texts = {entry.label for entry in texts or base.corpora}
    return replace(
        base,
        tokenizers=rows or base.tokenizers,
        corpora=texts or base.corpora,
        selections=tuple(_narrowed(selection, kept_rows, kept_texts) for selection in chosen or base.selections),
        reference=base.reference if base.reference in kept_rows else None,
    )


def _narrowed(selection: Selection, rows: set[str], texts: set[str]) -> Selection:
    left = tuple(label for label in selection.tokenizers or () if label in rows)
    text = tuple(label for label in selection.corpora or () if label in texts)
    return replace(selection, tokenizers=left or None, corpora=text or None)


def _selection(item: str | Mapping[str, Any]) -> Selection:
    if isinstance(item, str):
        return Selection(item)
    parameters = {key: value for key, value in item.items() if key not in ("name", "tokenizers", "corpora")}
    rows, texts = (tuple(item[key]) if key in item else None for key in ("tokenizers", "corpora"))
    return Selection(item["name"], parameters, rows, texts)


# ---------------------------------------------------------------------------------------------- resolving


def plan(suite: Suite) -> Plan:
    """Resolve every name; all that is wrong is reported at once, before anything runs."""
    problems: list[str] = []
    rows = _each(suite.tokenizers, tokenizers.obtain, problems)
    texts = _each(suite.corpora, corpora.open_corpus, problems)
    cases: list[Case] = []
    for selection in suite.selections:
        try:
            cases += _cases(selection, suite, texts)
        except InputError as error:
            problems.append(str(error))
    if suite.reference is not None and suite.reference not in (labels := [entry.label for entry in suite.tokenizers]):
        problems.append(str(suggest("reference", suite.reference, labels)))
    if problems:
        raise InputError("\n".join(dict.fromkeys(problems)))
    if not cases:
        raise InputError(f"suite {suite.name!r} has nothing to run: it needs tokenizers, corpora and benchmarks")
    return Plan(suite, rows, texts, tuple(_distinct(cases)))


def _each(wanted: Sequence[Entry], resolve: Any, problems: list[str]) -> dict[str, Any]:
    found = {}
    for entry in wanted:
        try:
            found[entry.label] = resolve(entry.spec)
        except InputError as error:
            problems.append(str(error))
    return found


def _distinct(cases: Iterable[Case]) -> list[Case]:
    return list({case.key: case for case in cases}.values())


def _cases(selection: Selection, suite: Suite, texts: Mapping[str, Corpus]) -> list[Case]:
    benchmark = pick("benchmark", selection.benchmark, benchmarks())
    for name in selection.parameters.keys() - benchmark.parameters.keys():
        raise suggest(f"parameter of {benchmark.name}", name, benchmark.parameters)
    rows = _chosen("tokenizer", selection.tokenizers, suite.tokenizers)
    chosen = _corpora(benchmark, selection, suite, texts)
    parameters = _parameters(benchmark, selection.parameters)
    return [Case(benchmark.name, row, text, values) for row, text, values in product(rows, chosen, parameters)]


def _chosen(kind: str, wanted: Sequence[str] | None, known: Sequence[Entry]) -> list[str]:
    labels = [entry.label for entry in known]
    for label in wanted or ():
        if label not in labels:
            raise suggest(kind, label, labels)
    return labels if wanted is None else list(wanted)


def _corpora(benchmark: Benchmark, selection: Selection, suite: Suite, texts: Mapping[str, Corpus]) -> list[str | None]:
    if benchmark.corpus == "none" or (benchmark.corpus == "optional" and selection.corpora is None):
        return [None]
    chosen = _chosen("corpus", selection.corpora, suite.corpora)
    if benchmark.corpus == "parallel":
        if selection.corpora is None:
            return [label for label in chosen if isinstance(texts.get(label), ParallelCorpus)]
        for label in chosen:
            if label in texts and not isinstance(texts[label], ParallelCorpus):
                raise InputError(f"benchmark {benchmark.name!r} needs parallel text, and corpus {label!r} is not")
    if not chosen:
        raise InputError(f"benchmark {benchmark.name!r} needs a corpus; give one, such as 'sample'")
    return list(chosen)


def _parameters(benchmark: Benchmark, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    values = {**benchmark.parameters, **given}
    if values.get("threads") == "powers of two":
        values["threads"] = powers_of_two(cores())
    axes = {name: value if isinstance(value, list) else [value] for name, value in values.items()}
    return [dict(zip(axes, point, strict=True)) for point in product(*axes.values())]


def powers_of_two(limit: int) -> list[int]:
    """1, 2, 4, ... up to the limit."""
    return [1 << exponent for exponent in range(limit.bit_length())]
