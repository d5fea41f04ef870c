"""A comparison of two tokenizers as tables for people, and as JSON."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

from pyharness.features.audit.differences.changes import MOST_LISTED, Change
from pyharness.features.audit.differences.comparison import TextCount, TokenizerComparison
from pyharness.features.audit.differences.texts_of_changes import OF_ADDED
from pyharness.features.audit.differences.versions import VersionComparison
from pyharness.features.audit.differences.witnesses import Cause, Witness
from pyharness.report.sheet import Cell, Heading, Sheet, text_row
from pyharness.report.sheet.strings import shorten, visible, writable
from pyharness.system.environment import version_of
from pyharness.types import Format

_EXAMPLES = 3  # of a kind in a table
_IN_FULL = ("normaliser", "split pattern", "post-processor", "decoder", "model option", "truncation", "padding",
            "kind of file", *OF_ADDED)  # fmt: skip
_MOST_IN_FULL = 12
_LONG, _BRIEF = 300, 40
_TOKENS_SHOWN = 8
_COUNT, _RATIO = Format("{:,.0f}"), Format("{:.4f}")


def verdict(compared: TokenizerComparison) -> str:
    """Return the verdict in a few words."""
    if not compared.equal:
        return "ids differ"
    return "equal: both define the same" if compared.same_definition else "equal on all that was tried: no proof"


def sheets(compared: TokenizerComparison) -> list[Sheet]:
    """Return the comparison for people."""
    parts = [_answer(compared)]
    if compared.changes:
        parts.append(_changes(compared))
    if in_full := [change for change in compared.changes if change.kind in _IN_FULL]:
        parts.append(_in_full(in_full))
    if compared.witnesses:
        parts.append(_witnesses(compared))
    if compared.texts:
        parts.append(_texts(compared.texts))
    return parts


def _answer(compared: TokenizerComparison) -> Sheet:
    ids, both, documents = compared.ids, compared.ids.overlap, sum(count.documents for count in compared.texts)
    lines = [
        ("verdict", verdict(compared)),
        ("documents", f"{sum(count.differing for count in compared.texts):,} of {documents:,} have different ids"),
        ("synthetic", f"{compared.tried:,} texts were tried, read as {', '.join(compared.readings)}"),
        ("tokens", f"{both.both:,} in common, of {both.first:,} and of {both.second:,}; Jaccard {both.jaccard:.4f}"),
        ("", f"{both.both / max(both.first, 1):.1%} of the first, {both.both / max(both.second, 1):.1%} of the second"),
        ("embedding", f"{ids.moved:,} ids move, {ids.gone:,} are gone, {both.second - both.both:,} are new"),
    ]
    if compared.used is not None:
        lines.insert(-1, ("", f"{compared.used[0]:.1%} and {compared.used[1]:.1%} if weighted by use in these texts"))
    lines[1:1] = [
        ("", f"two added tokens of {name} are the same text once normalised, and the library picks by chance")
        for name in dict.fromkeys(side.spec for side in (compared.first, compared.second) if not side.is_settled)
    ]
    title = f"{compared.first.spec} and {compared.second.spec}"
    return Sheet(title, _headings("", ""), tuple(text_row(*line) for line in lines))


def _changes(compared: TokenizerComparison) -> Sheet:
    rows = []
    for kind, count in compared.counts.items():
        names = (change.name for change in compared.changes if change.kind == kind)
        some = map(_quoted, itertools.islice(names, _EXAMPLES))
        rows.append((Cell(_kind(kind)), Cell(count, _COUNT), Cell(", ".join(some) + ", ..." * (count > _EXAMPLES))))
    headings = (Heading("kind", "word"), Heading("number"), Heading("examples", "prose"))
    return Sheet("What changed", headings, tuple(rows))


def _in_full(listed: Sequence[Change]) -> Sheet:
    rows = [
        text_row(f"{_kind(one.kind)}: {_brief(one.name)}", _value(one, one.before), _value(one, one.after))
        for one in listed[:_MOST_IN_FULL]
    ]
    more = len(listed) - len(rows)
    notes = (f"{more:,} more; --format json has up to {MOST_LISTED:,} of a kind",) if more else ()
    return Sheet("Settings and added tokens", _headings("what", "first", "second"), tuple(rows), notes)


def _witnesses(compared: TokenizerComparison) -> Sheet:
    rows = [
        text_row(_in_words(one.cause), _quoted(one.text), _tokens(one.first), _tokens(one.second))
        for one in compared.witnesses
    ]
    causes = [f"{_in_words(cause)} {count:,}" for cause, count in compared.causes.items()]
    notes = (f"Of the first documents that differ, by cause: {'; '.join(causes)}.",) if causes else ()
    return Sheet("The shortest text of each cause", _headings("cause", "text", "first", "second"), tuple(rows), notes)


def _texts(texts: Sequence[TextCount]) -> Sheet:
    headings = (Heading("text", "name"), *map(Heading, ("documents", "differ", "first", "second", "second/first")))
    rows = tuple(
        (Cell(one.text), *(Cell(count, _COUNT) for count in (one.documents, one.differing, one.first, one.second)),
         Cell(one.second / one.first if one.first else None, _RATIO))
        for one in sorted(texts, key=lambda one: -one.second / max(one.first, 1))
    )  # fmt: skip
    return Sheet("Tokens by text, the largest growth first", headings, rows)


def _in_words(cause: Cause) -> str:
    name = f" {_quoted(cause.name)}" if cause.name else ""
    return f"{_kind(cause.stage)}{name}" + ("" if cause.reading == "plain" else f" ({cause.reading})")


def _kind(kind: str) -> str:
    """Return a kind of change for people: an entry of ``added_tokens`` that comes or goes is no new token."""
    return "added_tokens entry" if kind == "added token" else kind


def _tokens(tokens: Sequence[tuple[int, str]]) -> str:
    some = " ".join(f"{token}:{_quoted(text)}" for token, text in tokens[:_TOKENS_SHOWN])
    return (some + " ..." * (len(tokens) > _TOKENS_SHOWN)) or "no ids"


def _value(change: Change, value: Any) -> str:
    if value is None:
        return "-"
    if change.kind == "added token":  # the flags that are set
        return ", ".join([f"id {value['id']}", *(name for name, flag in value.items() if flag is True)])
    return shorten(json.dumps(value, ensure_ascii=False), _LONG)


def _quoted(text: str) -> str:
    return f"'{_brief(text)}'"


def _brief(text: str) -> str:
    return shorten(visible(text), _BRIEF)


def _headings(*names: str) -> tuple[Heading, ...]:
    return tuple(Heading(name, "prose") for name in names)


# ---------------------------------------------------------------------------------------------- JSON


def as_json(compared: TokenizerComparison) -> dict[str, Any]:
    """Return the comparison as JSON values. ``changes`` has at most 1,000 of a kind, ``counts`` counts all."""
    listed = {kind: [one for one in compared.changes if one.kind == kind] for kind in compared.counts}
    ids, both = compared.ids, compared.ids.overlap
    return {
        "pyharness": version_of("pyharness"),
        "sides": [
            {"tokenizer": side.spec, "library": side.library, "version": version_of(side.library),
             "file": side.definition.kind}
            for side in (compared.first, compared.second)
        ],
        "verdict": verdict(compared), "equal": compared.equal, "same_definition": compared.same_definition,
        "counts": compared.counts,
        "changes": [
            {"kind": one.kind, "name": writable(one.name), "before": _clean(one.before), "after": _clean(one.after)}
            for some in listed.values() for one in some[:MOST_LISTED]
        ],
        "witnesses": [_witness(one) for one in compared.witnesses],
        "causes": [{**_cause(cause), "documents": count} for cause, count in compared.causes.items()],
        "texts": _texts_as_json(compared.texts),
        "made_texts": compared.tried, "readings": list(compared.readings),
        "ids": {"moved": ids.moved, "gone": ids.gone, "new": both.second - both.both, "size": ids.size},
        "overlap": {"both": both.both, "first": both.first, "second": both.second, "jaccard": both.jaccard,
                    "by_use": None if compared.used is None else list(compared.used)},
    }  # fmt: skip


def _clean(value: Any) -> Any:
    """Escape lone surrogates, which no UTF-8 file can hold, in a JSON value."""
    return json.loads(json.dumps(value)) if not isinstance(value, str) else writable(value)


def _witness(one: Witness) -> dict[str, Any]:
    first, second = ([[token, writable(text)] for token, text in side] for side in (one.first, one.second))
    return {**_cause(one.cause), "text": one.text, "first": first, "second": second}


def _cause(cause: Cause) -> dict[str, str]:
    return {"cause": cause.stage, "reading": cause.reading, "name": cause.name}


# ---------------------------------------------------------------------------------------------- versions of a library


def version_sheets(compared: VersionComparison) -> list[Sheet]:
    """Return the comparison of two versions of a library for people."""
    documents, differing = (sum(getattr(one, name) for one in compared.texts) for name in ("documents", "differing"))
    lines = (
        ("verdict", "equal on all that was tried: no proof" if compared.equal else "ids differ"),
        ("documents", f"{differing:,} of {documents:,} have different ids"),
        ("synthetic", f"{compared.tried:,} texts were tried"),
    )
    title = " and ".join(map("{} in {}".format, compared.specs, compared.versions))
    parts = [Sheet(title, _headings("", ""), tuple(text_row(*line) for line in lines))]
    if compared.witnesses:
        rows = tuple(text_row(_quoted(text), _ids(one), _ids(other)) for text, one, other in compared.witnesses)
        notes = ("Each is shrunk until no character can go. Texts that hold one of these are not shown.",)
        parts.append(Sheet("The shortest texts with different ids", _headings("text", "first", "second"), rows, notes))
    return [*parts, _texts(compared.texts)]


def _ids(ids: Sequence[int]) -> str:
    return (", ".join(map(str, ids[:_TOKENS_SHOWN])) + ", ..." * (len(ids) > _TOKENS_SHOWN)) or "no ids"


def versions_as_json(compared: VersionComparison) -> dict[str, Any]:
    """Return the comparison of two versions as JSON values."""
    return {
        "pyharness": version_of("pyharness"),
        "sides": [
            {"tokenizer": spec, "library": version.library, "version": version.version}
            for spec, version in zip(compared.specs, compared.versions, strict=True)
        ],
        "equal": compared.equal, "made_texts": compared.tried, "texts": _texts_as_json(compared.texts),
        "witnesses": [
            {"text": text, "first": list(one), "second": list(other)} for text, one, other in compared.witnesses
        ],
    }  # fmt: skip


def _texts_as_json(texts: Sequence[TextCount]) -> list[dict[str, Any]]:
    return [
        {"text": one.text, "documents": one.documents, "differing": one.differing, "bytes": one.bytes,
         "tokens": [one.first, one.second]} for one in texts
    ]  # fmt: skip
