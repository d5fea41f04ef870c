"""The suite file as the base has it: what the head takes out of it is missed, and what it allows itself is not granted.

A suite is read where it lies, which is mostly the head's checkout: what is judged could judge itself.
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyharness.gate.sources import Revision, Source
from pyharness.gate.sources.checkouts import Checkout, GitFailed
from pyharness.gate.suites.reading import GateSuite, budget_of
from pyharness.store import shape
from pyharness.types import InputError

GONE = "the base has it and the head has not: gone or renamed"
Budgets = Mapping[str, float | None]  # by benchmark; None: that of the gate


def against(suite: GateSuite, path: Path, arms: tuple[Source, Source], budget: float) -> GateSuite:
    """Compare a suite with the same file in the base, where that is a revision of the project that the file is of.

    Args:
        suite: as it was read.
        path: where from.
        arms: base and head.
        budget: of benchmarks that name none.

    Returns:
        The suite with what is gone from it, with the base's budgets where its own are looser, and notes.
    """
    base, head = arms
    own = Checkout.around(path.resolve().parent) if isinstance(base, Revision) else None
    tops = {source.checkout.top.resolve() for source in (base, head) if isinstance(source, Revision)}
    if own is None or not isinstance(base, Revision) or own.top.resolve() not in tops:
        return suite
    content = _content(base, path.resolve().relative_to(own.top.resolve()))
    if content is None:
        return suite
    try:
        earlier = _budgets(content)
    except InputError as error:
        note = f"suite {suite.name!r} as the base has it cannot be read ({error}): what is gone from it is not missed"
        return dataclasses.replace(suite, notes=(note,))
    return _held(suite, earlier, budget)


def _content(base: Revision, place: Path) -> bytes | None:
    """The base's file; None where it has none."""
    try:
        if base.changes is not None:  # the working tree as it is
            return (base.checkout.top / place).read_bytes()
        return base.checkout.content(base.commit, place)
    except (GitFailed, OSError):
        return None


def _budgets(content: bytes) -> Budgets:
    """Names and budgets, and nothing else: an older file may have what is refused today."""
    try:
        data: Mapping[str, Any] = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(str(error)) from None
    entries = shape.get(data, "benchmarks", list)
    return {shape.get(entry, "name", str): budget_of(entry) for entry in entries}


def _held(suite: GateSuite, earlier: Budgets, budget: float) -> GateSuite:
    notes, tighter = [], {}
    for one in suite.benchmarks:
        now, before = one.budget or budget, earlier.get(one.name, math.inf) or budget
        if now > before:
            tighter[one.name] = dataclasses.replace(one, budget=earlier[one.name])
            notes.append(f"{one.name}: the suite allows {now:.3g}, and as the base has it {before:.3g}, which holds")
    benchmarks = tuple(tighter.get(one.name, one) for one in suite.benchmarks)
    gone = tuple(name for name in earlier if name not in {one.name for one in benchmarks})
    return dataclasses.replace(suite, benchmarks=benchmarks, gone=gone, notes=tuple(notes))
