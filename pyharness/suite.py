"""Suites: TOML -> Suite -> Cases. A suite names tokenizers, corpora and benchmarks; its cases are their product."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from pyharness import corpora, store, tokenizers
from pyharness.benchmarks import Benchmark, benchmarks
from pyharness.corpora.specification import size
from pyharness.environment import cores
from pyharness.registry import pick, suggest
from pyharness.types import Case, Corpus, InputError, ParallelCorpus, TokenizerSpec

PACKAGED = Path(__file__).parent / "suites"
DEFAULT = "quick"
DEFAULT_NAME = "suite"
TIME_LIMIT_SECONDS = 600.0
EVERY_POWER = "powers of two"  # thread counts: 1, 2, 4, ... up to the cores of the machine
_KEYS = {
    "name", "summary", "tokenizers", "corpora", "benchmarks", "reference", "time_limit_seconds", "oversubscribe",
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)  # it becomes part of a file name
_LARGEST = 2**63 - 1
_LONGEST_SIZE = 40  # characters of a number of bytes
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
    oversubscribe: bool = False  # whether more threads than cores may be asked for

    def as_json(self) -> dict[str, Any]:
        """Return the declaration as JSON values."""
        return {
            "name": self.name,
            "summary": self.summary,
            "reference": self.reference,
            "time_limit_seconds": self.time_limit_seconds,
            "oversubscribe": self.oversubscribe,
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
    """Path of a suite: the name of one that is shipped, or a TOML file."""
    path, known = Path(name), shipped()
    if name.endswith(".toml") or "/" in name:
        if not path.is_file():
            what = "is a folder, not a suite file" if path.is_dir() else "does not exist"
            raise InputError(f"suite file {name!r} {what}")
        return path
    if name not in known and path.is_file():
        return path
    return pick("suite", name, known)


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
    except OSError as error:
        raise InputError(f"suite {path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, a number of a million digits, bottomless
        raise InputError(f"suite {path} is not valid TOML: {error}") from None
    for key in data.keys() - _KEYS:
        raise InputError(f"suite {path}: {suggest('key', key, _KEYS)}")
    for key in ("tokenizers", "benchmarks"):
        if key not in data:
            raise InputError(f"suite {path} lacks {key!r}; a suite has tokenizers, corpora and benchmarks")
    try:
        return Suite(
            name=_name(data, path),
            summary=_text(data, "summary") or "",
            tokenizers=entries(data["tokenizers"], "tokenizers"),
            corpora=entries(data.get("corpora", []), "corpora"),
            selections=selections(data["benchmarks"]),
            reference=_text(data, "reference"),
            time_limit_seconds=_time_limit(data.get("time_limit_seconds", TIME_LIMIT_SECONDS)),
            oversubscribe=_switch(data, "oversubscribe"),
        )
    except InputError as error:
        raise InputError(f"suite {path}: {error}") from None


def _name(data: Mapping[str, Any], path: Path) -> str:
    if (name := _text(data, "name")) is None:  # that of the file, as far as it can be one
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", path.stem).lstrip("-._")
        return stem[:64] if stem else DEFAULT_NAME
    if not _NAME.fullmatch(name):
        raise InputError(
            f"name = {name!r} cannot be part of a file name; use up to 64 of A-Z a-z 0-9 _ . -, a letter or digit first"
        )
    return name


def _text(data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{key} = {_shown(value)} is not text; write it in quotes")
    return value


def _switch(data: Mapping[str, Any], key: str) -> bool:
    value = data.get(key, False)
    if not isinstance(value, bool):
        raise InputError(f"{key} = {_shown(value)} is neither true nor false")
    return value


def _time_limit(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _LARGEST:
        raise InputError(f"time_limit_seconds = {_shown(value)} is not a finite number above 0, such as 600")
    return float(value)


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits
        return "a number"
    return text if len(text) <= 80 else text[:77] + "..."


def _list(value: Any, key: str) -> list[Any]:
    """Check that a list is one: a bare string would be read letter by letter."""
    if isinstance(value, str):
        raise InputError(f"{key} = {_shown(value)} is text where a list is due: write {key} = [{json.dumps(value)}]")
    if not isinstance(value, Iterable) or isinstance(value, Mapping | bytes):
        raise InputError(f"{key} = {_shown(value)} is not laid out like one: a list is due")
    return list(value)


def entries(items: Iterable[str | Mapping[str, str]], key: str = "tokenizers") -> tuple[Entry, ...]:
    """Labels and specifications, with ``${VARIABLE}`` filled in from the environment."""
    found = [_entry(item, key) for item in _list(items, key)]
    labels = [entry.label for entry in found]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f'the name {label!r} is used twice; give one of them another name = "..."')
    return tuple(found)


def _entry(item: str | Mapping[str, str], key: str) -> Entry:
    if isinstance(item, str):
        return Entry(item, _fill_in(item))
    if not isinstance(item, Mapping):
        raise InputError(
            f"{_shown(item)} in {key} is not laid out like one: write text, or {{ name = ..., spec = ... }}"
        )
    if set(item) - {"name", "spec"} or "spec" not in item:
        raise InputError(f"{_shown(dict(item))} needs the keys 'spec' and, if you like, 'name'")
    given: Mapping[str, Any] = item
    for name, value in given.items():
        if not isinstance(value, str) or not value:
            raise InputError(f"{name} = {_shown(value)} in {key} is not text; write it in quotes")
    return Entry(item.get("name", item["spec"]), _fill_in(item["spec"]))


def _fill_in(text: str) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise InputError(f"{text!r} needs the environment variable {match[1]}, which is not set")
        return os.environ[match[1]]

    return _VARIABLE.sub(value, text)


def selections(items: Iterable[str | Mapping[str, Any]]) -> tuple[Selection, ...]:
    """Benchmarks by name, or as tables with a name, parameters, and the rows and corpora they are limited to."""
    return tuple(_selection(item) for item in _list(items, "benchmarks"))


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
    if not isinstance(item, Mapping):
        raise InputError(f"{_shown(item)} in benchmarks is not laid out like one: write text, or {{ name = ... }}")
    if not isinstance(item.get("name"), str):
        raise InputError(f"{_shown(dict(item))} in benchmarks lacks the key 'name': the name of a benchmark, in quotes")
    parameters = {key: value for key, value in item.items() if key not in ("name", "tokenizers", "corpora")}
    rows, texts = (_labels(item, key) for key in ("tokenizers", "corpora"))
    return Selection(item["name"], parameters, rows, texts)


def _labels(item: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    if item.get(key) is None:
        return None
    labels = _list(item[key], key)
    for label in labels:
        if not isinstance(label, str):
            raise InputError(f"{_shown(label)} in {key} of benchmark {item['name']!r} is not text; write it in quotes")
    return tuple(labels)


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
    found = Plan(suite, rows, texts, tuple(_distinct(cases)))
    _try_to_record(found)
    return found


def _try_to_record(plan: Plan) -> None:
    """Write what a record will say of the plan, to nowhere: what it cannot hold is found out before measuring."""
    rows = {
        label: [spec.name, spec.source, spec.licence, spec.revision, spec.vocabulary, spec.path]
        for label, spec in plan.tokenizers.items()
    }
    texts = {
        label: [text.name, text.language, text.domain, text.licence, text.smoke_test]
        for label, text in plan.corpora.items()
    }
    cases = [dict(case.parameters) for case in plan.cases]
    try:
        store.dump({"suite": plan.suite.as_json(), "tokenizers": rows, "corpora": texts, "results": cases})
    except InputError as error:
        raise InputError(f"suite {plan.suite.name!r}: {error}") from None


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
    parameters = _parameters(benchmark, selection.parameters, None if suite.oversubscribe else cores())
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


def _parameters(benchmark: Benchmark, given: Mapping[str, Any], most_threads: int | None) -> list[dict[str, Any]]:
    """Check every value against the default that the benchmark declares; a list gives one point per value."""
    axes: dict[str, list[Any]] = {}
    for name, value in {**benchmark.parameters, **given}.items():
        if name == "threads" and value == EVERY_POWER:
            axes[name] = powers_of_two(cores())
            continue
        values = list(value) if isinstance(value, list | tuple) else [value]
        if not values:
            raise InputError(f"benchmark {benchmark.name!r}: {name} = [] has no value; give one or leave it out")
        try:
            most = most_threads if name in given else None
            axes[name] = [_checked(name, one, benchmark.parameters[name], most) for one in values]
        except InputError as error:
            raise InputError(f"benchmark {benchmark.name!r}: {error}") from None
    return [dict(zip(axes, point, strict=True)) for point in product(*axes.values())]


def _checked(name: str, value: Any, default: Any, most_threads: int | None) -> Any:
    if name == "threads":
        return _threads(value, most_threads)
    sample = default[0] if isinstance(default, list | tuple) and default else default
    if isinstance(sample, bool):
        return _of_type(name, value, bool, "true or false")
    if isinstance(sample, int):
        if name == "bytes":
            least, wanted = 1, "a whole number of bytes, or one with kB, MB, GB, KiB, MiB or GiB: 2MB"
            value = size(name, value) if isinstance(value, str) and len(value) <= _LONGEST_SIZE else value
        else:
            least, wanted = 0, "a whole number"
        return _of_range(name, _of_type(name, value, int, wanted), least, wanted)
    if isinstance(sample, float):
        number = float(_of_type(name, value, int | float, "a number"))
        if not math.isfinite(number):
            raise InputError(f"{name} = {_shown(value)} is not finite; write a number")
        return number
    return _of_type(name, value, str, "text") if isinstance(sample, str) else value


def _threads(value: Any, most: int | None) -> int:
    wanted = f"a number of threads from 1, a list of them, or {EVERY_POWER!r}"
    count = _of_range("threads", _of_type("threads", value, int, wanted), 1, wanted)
    if most is not None and count > most:
        raise InputError(
            f"threads = {count} is more than this process has cores ({most}): ask for at most {most}, or let a suite "
            "say oversubscribe = true"
        )
    return count


def _of_type(name: str, value: Any, kind: Any, wanted: str) -> Any:
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise InputError(f"{name} = {_shown(value)} is not {wanted}")
    return value


def _of_range(name: str, value: int, least: int, wanted: str) -> int:
    if not least <= value <= _LARGEST:
        raise InputError(f"{name} = {_shown(value)} is out of range; write {wanted}")
    return value


def powers_of_two(limit: int) -> list[int]:
    """1, 2, 4, ... up to the limit."""
    return [1 << exponent for exponent in range(limit.bit_length())]
