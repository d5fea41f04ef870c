"""The suite file as the base has it: what the head takes out of it is missed, and what it allows itself is not granted.

A suite is read where it lies, which is mostly the head's checkout: what is judged could judge itself. So it could do
other work under an old name, in both arms alike, and call a benchmark of its own a control: what both do is compared.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyharness.features.gate.sources import Revision, Source
from pyharness.features.gate.sources.checkouts import Checkout, GitFailed
from pyharness.features.gate.suites.definitions import Definition, changes, definitions, parsed
from pyharness.features.gate.suites.reading import WORKLOADS, GateSuite, budget_of
from pyharness.store import shape
from pyharness.types import InputError

GONE = "the base has it and the head has not: gone or renamed"
CHANGED = (
    "it does other work than the base's, and both sides would do the head's: {} changed; give it another name, or "
    'declare it in gate.toml (metric = "workload")'
)
Budgets = Mapping[str, float | None]  # by benchmark; None: that of the gate


def against(suite: GateSuite, path: Path, arms: tuple[Source, Source], budget: float) -> GateSuite:
    """Compare a suite with the same file in the base, where that is a revision of the project that the file is of.

    Args:
        suite: as it was read.
        path: where from.
        arms: base and head.
        budget: of benchmarks that name none.

    Returns:
        The suite with what is gone from it, what does other work, the base's budgets where its own are looser, notes.
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
        data = parsed(content)
        entries = {shape.get(entry, "name", str): entry for entry in shape.get(data, "benchmarks", list)}
        budgets = {name: budget_of(entry) for name, entry in entries.items()}
    except InputError as error:
        note = f"suite {suite.name!r} as the base has it cannot be read ({error}): what is gone from it is not missed"
        return dataclasses.replace(suite, notes=(note,))
    return _other_work(_held(suite, budgets, budget), path.resolve(), base, own.top.resolve(), data)


def _other_work(suite: GateSuite, path: Path, base: Revision, top: Path, earlier: Mapping[str, Any]) -> GateSuite:
    """Compare what the benchmarks do that both files have."""
    now = definitions(parsed(path.read_bytes()), suite.workloads.read_bytes())
    try:
        before = definitions(earlier, _workloads(base, top, path, earlier))
    except InputError as error:
        note = f"what the benchmarks of suite {suite.name!r} do in the base is not known: {error}"
        return dataclasses.replace(suite, notes=(*suite.notes, note))
    return dataclasses.replace(suite, changed=_changed(before, now))


def _changed(before: Mapping[str, Definition], now: Mapping[str, Definition]) -> dict[str, str]:
    differ = {name: changes(before[name], one) for name, one in now.items() if name in before}
    return {name: parts for name, parts in differ.items() if parts}


def _workloads(base: Revision, top: Path, path: Path, earlier: Mapping[str, Any]) -> bytes:
    """Source of the workloads as the base has it: of a file that is none of the project's, as it is."""
    own = shape.get(earlier, "workloads", str, default="")
    file = Path(os.path.normpath(path.parent / own)) if own else WORKLOADS.resolve()
    if not file.is_relative_to(top):
        try:
            return file.read_bytes()
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error.strerror or error}") from None
    if (content := _content(base, file.relative_to(top))) is None:
        raise InputError(f"the base has no {str(file.relative_to(top))!r}")
    return content


def _content(base: Revision, place: Path) -> bytes | None:
    """The base's file; None where it has none."""
    try:
        if base.changes is not None:  # the working tree as it is
            return (base.checkout.top / place).read_bytes()
        return base.checkout.content(base.commit, place)
    except (GitFailed, OSError):
        return None


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
