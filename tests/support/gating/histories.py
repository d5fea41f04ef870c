"""Made-up gates of a line of revisions, and git checkouts that have such a line."""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from gating.gates import ABOUT, gate, judgement
from gating.small_project import git
from pyharness.features.gate.records import dump_gate
from pyharness.features.gate.types import BELOW_ALL, Gate, GateRules, GateVerdict, Launch, Rounds, SelfTest, Timing
from pyharness.features.history import collecting
from pyharness.features.history.collecting import KeptRecord
from pyharness.features.history.database import Place, opened
from pyharness.features.history.measuring.gates import BaseUnbuilt
from pyharness.features.history.places import BranchLine, LineRevision

P = TypeVar("P", bound=Place)
ANCHOR, SUBJECT = "a" * 40, "a subject"
FIXED = GateRules(launches=5, screen=BELOW_ALL)
MACHINE = {"machine": "x86_64", "cpu": "a processor", "cores": 2, "memory_bytes": 8 << 30}
OTHER = {**MACHINE, "cpu": "another <processor>"}


def commit(number: int) -> str:
    return hashlib.sha1(str(number).encode(), usedforsecurity=False).hexdigest()


def line_of(count: int, first: int = 0, root: str | None = None) -> BranchLine:
    """Revisions ``first`` to ``count - 1``, newest first, as a clone that knows no more of them."""
    revisions = [
        LineRevision(commit(number), commit(number - 1) if number else root, f"2026-01-{number % 28 + 1:02}", SUBJECT)
        for number in range(first, count)
    ]
    return BranchLine(revisions[-1].id, tuple(revisions[::-1]))


def gate_text(head: str, effects: Mapping[str, float], **fields: Any) -> str:
    """Record of a gate, as ``made_gate`` has it."""
    return dump_gate(made_gate(head, effects, **fields))


def made_gate(
    head: str, effects: Mapping[str, float], *, machine: Mapping[str, Any] = MACHINE, anchor: str = ANCHOR,
    seed: int = 0,
    rules: GateRules = FIXED, created: str = "2026-01-01T00:00:00+00:00", definition: str = "d", memory: float = 0.0,
    **about: Any,
) -> Gate:  # fmt: skip
    """Make up a gate whose launches scatter by 1.3 % around these logarithms of head / anchor."""
    draws, figures, rounds = np.random.default_rng(seed), [], []
    for name, effect in effects.items():
        figures.append(judgement(name, effect=float(np.expm1(effect)), launches=rules.launches))
        if memory:
            values = {"base": 1e8, "head": 1e8 * (1 + memory)}
            figures.append(judgement(name, effect=memory, figure="memory", interval=None, values=values))
        for launch in range(rules.launches + 1):
            head_time = round(1e6 * float(np.exp(effect + draws.normal(0, 0.013))))
            rounds.append(Rounds(name, launch, 1, (Timing(10**6, 10**6),) * 4, (Timing(head_time, head_time),) * 4,
                                 (True, False, True, False)))  # fmt: skip
    facts: dict[str, Any] = {
        **ABOUT, "environment": {**machine, "python": "3.11.7"}, "created": created,
        "commits": {"base": {"commit": anchor, "subject": "anchor"}, "head": {"commit": head, "subject": SUBJECT}},
        "definitions": dict.fromkeys(effects, definition), **about,
    }  # fmt: skip
    launches = tuple(Launch(number, "base") for number in range(rules.launches + 1))
    return gate(*figures, rules=rules, rounds=tuple(rounds), launches=launches, about=facts)


def entry(head: str, effects: Mapping[str, float], **fields: Any) -> KeptRecord:
    data = json.loads(gate_text(head, effects, **fields))
    return collecting.entry_of(data, json.dumps(data, sort_keys=True).encode(), "made up", "")


def entries(levels: Sequence[float], name: str = "encode", **fields: Any) -> list[KeptRecord]:
    """A gate for each level, at revisions 0, 1, 2 and so on, with launches drawn for each."""
    return [entry(commit(number), {name: level}, seed=number, **fields) for number, level in enumerate(levels)]


def filled(place: P, records: Sequence[KeptRecord], line: BranchLine | None) -> P:
    """Add records to a history, which is made if need be."""
    with opened(place, create=True) as database:
        database.add(records, line)
    return place


def tables(place: Place) -> dict[str, list[tuple[object, ...]]]:
    """All that a history holds, in an order of its own."""
    names = ("about", "gaps", "points", "records", "revisions")
    with opened(place) as database:
        return {name: sorted(database.rows(f"SELECT * FROM {name}"), key=repr) for name in names}  # noqa: S608 -- ours


def write_at_once(place: Place, count: int) -> list[BaseException]:
    """Add so many records, two by each thread; return what went wrong."""
    faults, records = list[BaseException](), entries([0.0] * count)

    def write(part: Sequence[KeptRecord]) -> None:
        try:
            for one in part:
                filled(place, [one], None)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=write, args=(records[number : number + 2],)) for number in range(0, count, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return faults


def run_of_pytest(path: Path, *, revision: str | None, seconds: float = 0.5, dirty: bool = False) -> Path:
    """Write a file as pytest-benchmark does."""
    stats = {"median": seconds, "data": [seconds] * 8, "rounds": 8, "iterations": 1, "total": 8 * seconds}
    data = {
        "machine_info": {"machine": "x86_64", "cpu": {"brand_raw": "a processor", "count": 2}},
        "commit_info": {} if revision is None else {"id": revision, "dirty": dirty},
        "benchmarks": [{"fullname": "tests/test_a.py::test_x", "group": None, "stats": stats}],
        "datetime": "2026-01-01T00:00:00", "version": "5.0",
    }  # fmt: skip
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def checkout(folder: Path, commits: int) -> list[str]:
    """Make a repository with so many commits; return their ids, oldest first."""
    folder.mkdir()
    git(folder, "init", "--quiet", "-b", "main")
    for number in range(commits):
        git(folder, "commit", "--quiet", "--allow-empty", "-m", f"change {number}")
    return commits_of(folder)


def commits_of(folder: Path) -> list[str]:
    """Return the commits of a checkout, oldest first."""
    return git(folder, "log", "--format=%H", "--reverse").split()


@dataclass
class MadeGates:
    """Stands in for ``HistoryGates``: its gates are made up of levels, and added."""

    place: Place
    levels: Mapping[str, float]  # commit -> logarithm of the time of "encode"
    line: BranchLine | None = None
    unbuilt: Mapping[str, str] = field(default_factory=dict)  # commit -> why
    verdict: str = ""  # of every figure; "": a regression above 3 %
    suite: str = "gate"
    deadline: float = math.inf
    asked: list[tuple[str, str, int]] = field(default_factory=list)  # base, head, launches
    paused: int = 0
    scatter: int = 0  # first seed
    adds: bool = True

    def pause(self, seconds: float) -> None:
        self.paused += 1

    def measured(
        self, base: str, head: str, launches: int, *, only: tuple[str, ...] = (), instructions: bool = False,
        anchor: Mapping[str, str] | None = None,
    ) -> Gate:  # fmt: skip
        self.asked.append((base, head, launches))
        if base in self.unbuilt:
            raise BaseUnbuilt(self.unbuilt[base])
        commit = base if anchor is None else anchor["commit"]
        number = self.scatter + len(self.asked)
        effect = self.levels[head] - self.levels[commit]
        created = f"2026-02-{number // 1440 + 1:02}T{number // 60 % 24:02}:{number % 60:02}:00+00:00"
        rules = replace(FIXED, launches=launches)
        about: dict[str, Any] = {collecting.ASKS: list(only)} if only else {}
        gate = made_gate(head, {"encode": effect}, anchor=commit, seed=number, rules=rules, created=created, **about)
        if head in self.unbuilt:
            gate = replace(gate, rounds=(), judgements=(), self_test=SelfTest((self.unbuilt[head],)))
        verdict = GateVerdict(self.verdict or ("regression" if effect > 0.03 else "pass"))
        gate = replace(gate, judgements=tuple(replace(one, verdict=verdict) for one in gate.judgements))
        if not self.adds:
            return gate
        with opened(self.place, create=True) as database:
            database.add([collecting.entry_of_gate(gate)], self.line)
        return gate
