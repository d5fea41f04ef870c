"""Whose value or exception it was: names for messages, cut to the length that a table or a log can bear."""

from __future__ import annotations

import math
import traceback
from types import TracebackType

LONGEST_TEXT = 2000  # characters of a reason or a note
LONGEST_TRACEBACK = 20_000


def maker(thing: object) -> str:
    """Say whose a function, class or object is: ``module.name``, and the distribution unless it is ours."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    module = str(getattr(named, "__module__", "?"))
    name = f"{module}.{getattr(named, '__qualname__', '?')}"
    distribution = _distribution(module)
    return f"{name} of package {distribution}" if distribution else name


def _distribution(module: str) -> str | None:
    from importlib.metadata import packages_distributions

    top = module.partition(".")[0]
    owners = packages_distributions().get(top) if top != "pyharness" else None
    return owners[0] if owners else None


def said_by(error: BaseException) -> str:
    """An exception in one line: its type, the start of its message, and the stranger's function that raised it."""
    try:
        message = (str(error)[: 4 * LONGEST_TEXT].strip().splitlines() or [""])[0]
    except Exception:  # a stranger's __str__
        message = "its message cannot be read"
    where = _innermost(error.__traceback__)
    return shortened(f"{type(error).__name__}: {message}") + (f" (raised in {where})" if where else "")


def _innermost(trace: TracebackType | None) -> str | None:
    """The innermost function that is Python and not ours."""
    name = None
    for frame, _ in traceback.walk_tb(trace):
        module = str(frame.f_globals.get("__name__", "?"))
        if module.partition(".")[0] != "pyharness":
            name = f"{module}.{frame.f_code.co_qualname}"
    return name


def trace_of(error: BaseException) -> str:
    """The traceback of an exception, its end if it is long."""
    shown = traceback.TracebackException.from_exception(error, limit=-100, compact=True)
    return "".join(line[:LONGEST_TEXT] for line in shown.format())[-LONGEST_TRACEBACK:]


def shortened(text: str) -> str:
    """Cut a text to the length that a line of a table or a log can bear."""
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def shown(value: object) -> str:
    """Return a value as messages show it, at most 80 characters; a stranger's ``__repr__`` may raise."""
    try:
        text = repr(value) if not isinstance(value, int) or abs(value) < 10**18 else f"a number of {_digits(value)}"
    except Exception:  # a stranger's __repr__
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


def _digits(value: int) -> str:
    return f"about {int(value.bit_length() * math.log10(2)) + 1:,} digits"
