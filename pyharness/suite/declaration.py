"""A suite as declared: tokenizers, corpora and benchmarks by name, whether from a file or from arguments."""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyharness import tokenizers
from pyharness.benchmarks import benchmarks as benchmarks_by_name
from pyharness.corpora import capped, families
from pyharness.plugins.specification import BENCHMARK, CORPUS, TOKENIZER, escaped
from pyharness.store import first_twice
from pyharness.types import InputError

# A specification has no "=" before its first ":" or "?"; one in a path follows a "/" or its family's colon.
_NAMED = re.compile(r"([^:?=/]+)=(.+)", re.DOTALL)
_BREAKS = ("Cc", "Zl", "Zp")  # categories of Unicode: controls, and ends of lines and paragraphs


def named(text: str) -> tuple[str | None, str]:
    """Split ``NAME=SPEC``; a specification alone has no name. Raise ``InputError`` for an invalid name.

    >>> named("o200k=file:/x/o200k_base.tiktoken?pattern=o200k_base")
    ('o200k', 'file:/x/o200k_base.tiktoken?pattern=o200k_base')
    >>> named("file:/x/a=b.json"), named("sample?max_bytes=2kB")
    ((None, 'file:/x/a=b.json'), (None, 'sample?max_bytes=2kB'))
    """
    if (match := _NAMED.fullmatch(text)) is None:
        return None, text
    check_name(match[1])
    if "," in match[1]:
        raise InputError(f"the name {match[1]!r} has a comma, which separates names in a list: leave it out")
    return match[1], match[2]


def check_name(name: str) -> None:
    """Refuse a name that does not fit one line of a table, or that could be read as something else."""
    if name != name.strip():
        raise InputError(f"the name {name!r} is blank, or begins or ends with white space: write it without")
    if any(unicodedata.category(character) in _BREAKS for character in name):
        raise InputError(f"the name {name!r} has a line end or a control character: leave it out")


DEVICES = ("cpu", "cuda")
TIME_LIMIT_SECONDS = 600.0
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")  # as in the shell: ${NAME} or ${NAME:-otherwise}


@dataclass(frozen=True, slots=True)
class Entry:
    """A tokenizer or corpus of a suite: a short label for tables, and its specification."""

    label: str
    spec: str
    named: bool = field(default=False, compare=False)  # whether the user gave the label


@dataclass(frozen=True, slots=True)
class Selection:
    """A benchmark of a suite, with its parameters, on all of the suite's rows or on some."""

    benchmark: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tokenizers: tuple[str, ...] | None = None  # labels; None: all
    corpora: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite as declared: tokenizers, corpora, benchmarks and limits."""

    name: str
    tokenizers: tuple[Entry, ...]
    corpora: tuple[Entry, ...]
    selections: tuple[Selection, ...]
    summary: str = ""
    reference: str | None = None  # label of the tokenizer for relative sequence lengths
    time_limit_seconds: float = TIME_LIMIT_SECONDS
    oversubscribe: bool = False  # whether more threads than cores are allowed
    device: str = DEVICES[0]  # where pairs are counted and language models run
    memory_limit: int | None = None  # bytes of a case; None: 3/4 of what is free at its start, shared by the workers
    workers: int = 1  # rows that are measured (except timed work) and trained in parallel

    def as_json(self) -> dict[str, Any]:
        """Return the declaration as JSON values; keys that older journals lack only if they are not the default."""
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
        } | self._where()

    def _where(self) -> dict[str, Any]:
        limit = {} if self.memory_limit is None else {"memory_limit": self.memory_limit}
        limit |= {} if self.workers == 1 else {"workers": self.workers}
        return limit | ({} if self.device == DEVICES[0] else {"device": self.device})

    @property
    def digest(self) -> str:
        """SHA-256 of the declaration: a run is resumed only under the same one."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()


def entries(
    items: Iterable[str | Mapping[str, str]], key: str = "tokenizers", variables: Mapping[str, str] | None = None
) -> tuple[Entry, ...]:
    """Return labels and specifications, with ``${VARIABLE}`` and ``${VARIABLE:-otherwise}`` filled in.

    Text is ``SPEC`` or ``NAME=SPEC``; a table has ``name`` and ``spec``. The label is the name, or else the
    specification as written. Values come from ``variables``, those of the suite, or else from the environment.

    Within the options of a tokenizer a variable is a value, so its ``%`` or ``&`` becomes ``%25`` or ``%26``. Paths of
    files may lack ``file:`` or ``path:``.

    Raises:
        InputError: an entry is no such text or table, a label or a file is given twice, or a variable is not set.
    """
    grammar, names = (TOKENIZER, tokenizers.bare_names) if key == "tokenizers" else (CORPUS, families)
    written = [_entry(item, key, variables or {}) for item in _list(items, key)]
    declared = [replace(entry, spec=grammar.of_path(entry.spec, names)) for entry in written]
    if (label := first_twice(entry.label for entry in declared)) is not None:
        raise InputError(f'the name {label!r} is used twice; rename one: NAME=SPEC, or name = "..." in a suite')
    _refuse_spellings(declared, key)
    return tuple(declared)


def _refuse_spellings(given: Iterable[Entry], key: str) -> None:
    """Refuse one file under two spellings of its path, unless one of them is named: then it is intended."""
    met: dict[Any, Entry] = {}
    for entry in given:
        if entry.named or (same := _identity(entry.spec, key)) is None:
            continue
        if (other := met.setdefault(same, entry)) is not entry:
            raise InputError(
                f"{other.label!r} and {entry.label!r} are one file; leave one out, or name one: NAME=SPEC, or "
                f'name = "..."'
            )


def _identity(spec: str, key: str) -> Any:
    """Return the identity of a file's specification, for any spelling of its path; None for no existing file."""
    try:
        parsed = (TOKENIZER if key == "tokenizers" else CORPUS).parse(spec)
    except InputError:  # resolving reports it
        return None
    if parsed.argument is None or not os.path.exists(parsed.argument):  # noqa: PTH110 -- Path raises for long names
        return None
    path = os.path.realpath(parsed.argument)
    return parsed.engine, parsed.name, path, tuple(sorted(parsed.options.items()))


def _entry(item: str | Mapping[str, str], key: str, variables: Mapping[str, str]) -> Entry:
    if isinstance(item, str):
        name, spec = named(item)
        return Entry(name or spec, _fill_in(spec, key == "tokenizers", variables), named=name is not None)
    if not isinstance(item, Mapping):
        raise InputError(f"{shown(item)} in {key} is not an entry: write text, or {{ name = ..., spec = ... }}")
    if set(item) - {"name", "spec"} or "spec" not in item:
        raise InputError(f"{shown(dict(item))} needs the key 'spec' and may have 'name'")
    table: Mapping[str, Any] = item
    for name, value in table.items():
        if not isinstance(value, str) or not value:
            raise InputError(f"{name} = {shown(value)} in {key} is not text; write it in quotes")
    if "name" in item:
        check_name(item["name"])
    spec = _fill_in(item["spec"], key == "tokenizers", variables)
    return Entry(item.get("name", item["spec"]), spec, named="name" in item)


def variables(given: Any) -> dict[str, str]:
    """Return variables of a suite by name: text, or the first of a list that the environment can fill, or its last."""
    if not isinstance(given, Mapping):
        raise InputError(f'variables = {shown(given)} is not a table, such as variables = {{ TEXT = "sample" }}')
    return {name: _first_that_is_set(name, value) for name, value in given.items()}


def _first_that_is_set(name: str, value: Any) -> str:
    choices = value if isinstance(value, list) else [value]
    if not choices or not all(isinstance(choice, str) and choice for choice in choices):
        raise InputError(f"variable {name} = {shown(value)} is neither text nor a list of texts; write it in quotes")
    for choice in choices[:-1]:
        if all(os.environ.get(match[1]) or match[2] is not None for match in _VARIABLE.finditer(choice)):
            return _fill_in(choice, False, {})
    return _fill_in(choices[-1], False, {})


def _fill_in(text: str, is_tokenizer: bool, variables: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        filled, otherwise = variables.get(match[1]) or os.environ.get(match[1]), match[2]
        if not filled and otherwise is not None:
            filled = otherwise
        if filled is None:
            raise InputError(f"{text!r} needs the environment variable {match[1]}, which is not set")
        within_options = is_tokenizer and "?" in text[: match.start()]
        return escaped(filled) if within_options else filled

    return _VARIABLE.sub(value, text)


def selections(items: Iterable[str | Mapping[str, Any]]) -> tuple[Selection, ...]:
    """Return benchmarks from texts, or from tables with a name, parameters, and their rows and corpora."""
    return tuple(_selection(item) for item in _list(items, "benchmarks"))


def _selection(item: str | Mapping[str, Any]) -> Selection:
    if isinstance(item, str):
        item = benchmark(item)
    if not isinstance(item, Mapping):
        raise InputError(f"{shown(item)} in benchmarks is not an entry: write text, or {{ name = ... }}")
    if not isinstance(item.get("name"), str):
        raise InputError(f"{shown(dict(item))} in benchmarks lacks the key 'name': the name of a benchmark, in quotes")
    parameters = {key: value for key, value in item.items() if key not in ("name", "tokenizers", "corpora")}
    rows, texts = (_labels(item, key) for key in ("tokenizers", "corpora"))
    return Selection(item["name"], parameters, rows, texts)


def benchmark(text: str) -> dict[str, Any]:
    """Read a benchmark in one text: ``NAME?KEY=VALUE&KEY=VALUE,VALUE``.

    >>> benchmark("throughput?threads=1,2&tokenizers=a")
    {'name': 'throughput', 'threads': [1, 2], 'tokenizers': ['a']}
    """
    wanted = BENCHMARK.parse(text)
    if "name" in wanted.options:
        raise InputError(f"benchmark {text!r}: write the name before the question mark, not as name=")
    defaults = getattr(benchmarks_by_name().get(wanted.head), "parameters", {})
    return {"name": wanted.head} | {key: _value(key, value, defaults.get(key)) for key, value in wanted.options.items()}


def _value(key: str, value: str, default: Any) -> Any:
    if key == "reference":  # the label of one row, which may contain a comma
        return value
    of_labels = key in ("tokenizers", "corpora")
    of_words = isinstance(default, str) and key != "threads"  # those are numbers or words
    literal = str if of_labels or of_words else _literal
    return [literal(one) for one in value.split(",")] if of_labels or "," in value else literal(value)


def _literal(value: str) -> Any:
    if value in ("true", "false"):
        return value == "true"
    number = re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,9})?", value)
    return value if number is None else float(value) if number[1] else int(value)


def _labels(item: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    if item.get(key) is None:
        return None
    labels = _list(item[key], key)
    for label in labels:
        if not isinstance(label, str):
            raise InputError(f"{shown(label)} in {key} of benchmark {item['name']!r} is not text; write it in quotes")
    if not labels:
        raise InputError(f"{key} = [] of benchmark {item['name']!r} leaves nothing to measure; leave it out for all")
    return tuple(labels)


def _list(value: Any, key: str) -> list[Any]:
    """Check that a value is a list: a bare string would be read letter by letter."""
    if isinstance(value, str):
        raise InputError(f"{key} = {shown(value)} is text, not a list: write {key} = [{json.dumps(value)}]")
    if not isinstance(value, Iterable) or isinstance(value, Mapping | bytes):
        raise InputError(f"{key} = {shown(value)} is not a list")
    return list(value)


def shown(value: object) -> str:
    """Return a value for a message: at most 80 characters."""
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        return "a number"
    return text if len(text) <= 80 else text[:77] + "..."


# ------------------------------------------------------------------------------------------ replacing parts of a suite


def override(base: Suite, rows: tuple[Entry, ...], texts: tuple[Entry, ...], chosen: tuple[Selection, ...]) -> Suite:
    """Return the suite with the given parts in place of its own; drop limits to replaced rows or corpora.

    Labels that the suite never had stay: planning reports them as unknown.
    """
    gone_rows = _gone(base.tokenizers, rows)
    gone_texts = _gone(base.corpora, texts)
    narrowed = (
        replace(
            selection,
            parameters=_with_references(selection.parameters, gone_rows),
            tokenizers=_without(selection.tokenizers, gone_rows),
            corpora=_without(selection.corpora, gone_texts),
        )
        for selection in chosen or base.selections
    )
    return replace(
        base,
        tokenizers=rows or base.tokenizers,
        corpora=texts or base.corpora,
        selections=tuple(narrowed),
        reference=None if base.reference in gone_rows else base.reference,
    )


def cut(base: Suite, max_bytes: str) -> Suite:
    """Return the suite with at most ``max_bytes`` read of each text, such as ``20MB``; labels stay.

    Raises:
        InputError: it is not a size, or a corpus cannot be cut.
    """
    return replace(base, corpora=tuple(replace(entry, spec=capped(entry.spec, max_bytes)) for entry in base.corpora))


def _gone(before: Iterable[Entry], given: Iterable[Entry]) -> set[str]:
    """Return the labels that the given entries, if any, replace."""
    now = {entry.label for entry in given}
    return {entry.label for entry in before} - now if now else set()


def _with_references(parameters: Mapping[str, Any], gone: set[str]) -> dict[str, Any]:
    """Return parameters without a ``reference`` (one label or a list) to replaced rows."""
    reference = parameters.get("reference")
    names = reference if isinstance(reference, list) else [reference]
    kept = [name for name in names if not (isinstance(name, str) and name in gone)]
    if len(kept) == len(names):
        return dict(parameters)
    others = {name: value for name, value in parameters.items() if name != "reference"}
    return {**others, "reference": kept} if kept else others


def _without(labels: tuple[str, ...] | None, gone: set[str]) -> tuple[str, ...] | None:
    if labels is None or not gone.intersection(labels):
        return labels
    return tuple(label for label in labels if label not in gone) or None
