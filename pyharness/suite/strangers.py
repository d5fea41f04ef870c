"""Checks values that plug-ins give to a plan, before anything runs: none of them ends in a traceback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, get_args

from pyharness.suite.declaration import shown
from pyharness.system import ending
from pyharness.system.threads import Stopped
from pyharness.types import Corpus, Direction, InputError, Metric, TokenizerSpec

_TEXT, _TEXT_OR_NONE = (str,), (str, type(None))
_ROW: Mapping[str, tuple[type, ...]] = {
    "name": _TEXT, "library": _TEXT, "source": _TEXT, "licence": _TEXT, "path": _TEXT_OR_NONE,
    "revision": _TEXT_OR_NONE, "vocabulary": _TEXT_OR_NONE, "reference": (bool,),
}  # fmt: skip
_TEXT_SOURCE: Mapping[str, tuple[type, ...]] = {
    "name": _TEXT, "language": _TEXT, "domain": _TEXT, "licence": _TEXT, "smoke_test": (bool,),
}  # fmt: skip
_METRIC: Mapping[str, tuple[type, ...]] = {
    "name": _TEXT, "unit": _TEXT, "direction": _TEXT, "summary": _TEXT, "deterministic": (bool,),
    "tolerance": (int, float),
}  # fmt: skip
_WORDS = {str: "text", type(None): "None", bool: "true or false", int: "a whole number", float: "a number"}
_DIRECTIONS = get_args(Direction)


@contextmanager
def blamed(what: str) -> Iterator[None]:
    """Turn any exception of a plug-in into an ``InputError`` that names ``what`` was asked for."""
    try:
        yield
    except (InputError, MemoryError, KeyboardInterrupt, ending.Ended, Stopped):
        raise
    except BaseException as error:  # SystemExit and panics of Rust, too
        lines = str(error).strip().splitlines() or [""]
        raise InputError(f"{what} cannot be used: {type(error).__name__}: {lines[0][:300]}") from error


def checked_row(label: str, row: Any) -> TokenizerSpec:
    """Return what a tokenizer's specification stands for, if a record can hold it."""
    if not isinstance(row, TokenizerSpec):
        raise InputError(f"tokenizer {label!r} is {shown(row)}, not a TokenizerSpec: mend its plug-in")
    _check(f"tokenizer {label!r}", row, _ROW)
    return row


def checked_corpus(label: str, corpus: Any) -> Corpus:
    """Return what a corpus's specification stands for, if it is one and a record can hold it."""
    if not isinstance(corpus, Corpus):
        raise InputError(f"corpus {label!r} is {shown(corpus)}, which has not what a Corpus has: mend its plug-in")
    _check(f"corpus {label!r}", corpus, _TEXT_SOURCE)
    return corpus


def check_metrics(metrics: Mapping[str, Any]) -> None:
    """Refuse metrics that are described in a way no record can hold."""
    for name, metric in metrics.items():
        if not isinstance(metric, Metric):
            raise InputError(f"metric {name!r} is {shown(metric)}, not a Metric: mend its plug-in")
        _check(f"metric {name!r}", metric, _METRIC)
        if metric.direction not in _DIRECTIONS or not 0 <= metric.tolerance < 1:
            raise InputError(
                f"metric {name!r} has direction {shown(metric.direction)} and tolerance {shown(metric.tolerance)}; "
                f"known directions: {', '.join(_DIRECTIONS)}; tolerances are from 0 to below 1: mend its plug-in"
            )


def _check(what: str, thing: object, kinds: Mapping[str, tuple[type, ...]]) -> None:
    for name, allowed in kinds.items():
        value = getattr(thing, name)
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            wanted = " or ".join(_WORDS[kind] for kind in allowed)
            raise InputError(f"{name} of {what} is {shown(value)}; it must be {wanted}: mend its plug-in")
