"""Trials of the gate: ``python bench/studies/gate_trials.py --base PYTHON --head PYTHON``, resumed where it stopped.

Sixty gates of ten benchmarks of short calls, on two separate builds of one revision in two folders: nothing differs.
Half of them run on an idle machine, half with one core loaded by something else. In half of each, three of the ten
benchmarks do 3, 5 and 10 % more work in the head: real calls on more text. Counted is how often an unchanged benchmark
is called a regression, and how often a slowed one is found. Raw samples of every gate are kept in ``bench/results``,
and all tables are computed from them: docs/gate.md "How often the gate errs, by trial".

Two builds: ``pyharness gate --base HEAD --head HEAD`` makes such arms; here they are two environments that each had a
wheel of its own build installed (``pip wheel`` in two clones).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyharness.commands import gating
from pyharness.gate.judging import verdicts as judging
from pyharness.gate.measuring import Silent
from pyharness.statistics.hypotheses import rate_bound
from pyharness.store.gate_records import gate_as_json, gate_from_json
from pyharness.types import Gate, GateRules, GateVerdict

RESULTS = Path(__file__).parents[1] / "results" / "gate_trials.jsonl.gz"
SUITE = Path(__file__).parents[1] / "suites" / "gate" / "trials.toml"
GATES = 60
LEVELS = (0.03, 0.05, 0.10)
RULES = GateRules(budget=0.02)
IDLE, PATIENCE = 0.15, 120.0  # an idle gate waits, so many seconds, until others take less than this share of all cores
# What loads a core: compression of changing data, which takes caches and memory as builds and tests do.
LOAD = """
import os, zlib
block = os.urandom(1 << 20)
while True:
    block = (zlib.compress(block, 1) + block)[: 1 << 20]
"""


@dataclass(frozen=True)
class Trial:
    """One gate: whether a core was loaded, and what was slowed by how much."""

    number: int
    loaded: bool
    planted: dict[str, float]
    seconds: float
    gate: Gate


def planted(number: int, names: Sequence[str]) -> dict[str, float]:
    """Slow three of the benchmarks in every second pair of gates; which ones and how much goes round.

    >>> planted(2, list("abcdefghij")), planted(0, list("abcdefghij"))
    ({'b': 0.03, 'e': 0.05, 'h': 0.1}, {})
    """
    if number // 2 % 2 == 0:
        return {}
    turn = number // 4 + number // 2 % 2
    return {names[(turn + 3 * place) % len(names)]: level for place, level in enumerate(LEVELS)}


def is_loaded(number: int) -> bool:
    """Every second gate, so that neither half has the better part of the day."""
    return number % 2 == 1


@contextmanager
def load() -> Iterator[None]:
    """Keep one core busy."""
    busy = subprocess.Popen([sys.executable, "-c", LOAD])
    try:
        time.sleep(0.5)
        yield
    finally:
        busy.kill()
        busy.wait()


def others_share(seconds: float = 2.0) -> float:
    """Share of all cores that is busy, from /proc/stat (proc(5))."""

    def ticks() -> tuple[int, int]:
        fields = [int(field) for field in Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:9]]
        return sum(fields), fields[3] + fields[4]

    before = ticks()
    time.sleep(seconds)
    after = ticks()
    total, idle = (new - old for old, new in zip(before, after, strict=True))
    return 1 - idle / max(total, 1)


def waited() -> float:
    """Wait for an idle machine, as long as that may take; what others take in the end."""
    until = time.monotonic() + PATIENCE
    while (share := others_share()) > IDLE and time.monotonic() < until:
        pass
    return share


def run_one(number: int, base: str, head: str, rules: GateRules, *, is_busy: bool) -> dict[str, Any]:
    """Run one gate; its record, with what was planted. ``is_busy``: something else loads a core already."""
    asked = gating.GateRequest(base=base, head=head, suite=str(SUITE), rules=rules, library="pyharness", force=True)
    busy = others_share() if is_loaded(number) else waited()
    begun = time.time()
    with gating.session(asked, Silent()) as ready:
        names = [one.name for one in ready.benchmarks if one.library == ready.under_test]
        slowed = planted(number, names)
        ready.course.extra = slowed
        with load() if is_loaded(number) and not is_busy else nullcontext():
            gate = gating.judged(ready, rules)
    about = {**gate.about, "others_share": round(busy, 3), "begun": begun}
    return {
        "number": number,
        "loaded": is_loaded(number),
        "planted": slowed,
        "seconds": round(time.time() - begun, 1),
        "gate": gate_as_json(replace(gate, about=about)),
    }


def kept(path: Path) -> list[Trial]:
    """Gates that were measured already; a line that was cut off is measured again."""
    trials: dict[int, Trial] = {}
    if not path.exists():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        try:
            for line in lines:
                data = json.loads(line)
                number, gate = data["number"], gate_from_json(data["gate"], path.name)
                trials[number] = Trial(number, data["loaded"], data["planted"], data["seconds"], gate)
        except (EOFError, ValueError):
            pass
    return list(trials.values())


def judged_again(trial: Trial, rules: GateRules) -> dict[str, list[GateVerdict]]:
    """Verdicts by benchmark, of all its figures, from the raw samples."""
    verdicts: dict[str, list[GateVerdict]] = {}
    for judgement in judging.judge(trial.gate.benchmarks, trial.gate.rounds, rules):
        verdicts.setdefault(judgement.benchmark, []).append(judgement.verdict)
    return verdicts


def tables(trials: Sequence[Trial], rules: GateRules) -> Iterator[str]:
    """Lines of Markdown."""
    parts = {"idle": [t for t in trials if not t.loaded], "one core loaded": [t for t in trials if t.loaded]}
    yield (
        "| machine | gates | unchanged | false alarms | inconclusive | "
        + " | ".join(f"{level:.0%} found" for level in LEVELS)
        + " | incomparable | seconds (median) |"
    )
    yield "| :-- |" + " --: |" * (6 + len(LEVELS))
    for name, part in {**parts, "both": list(trials)}.items():
        verdicts = [(trial, judged_again(trial, rules)) for trial in part]
        unchanged = [found for t, by_name in verdicts for name, found in by_name.items() if name not in t.planted]
        alarms = sum(GateVerdict.REGRESSION in found for found in unchanged)
        unsure = sum(GateVerdict.INCONCLUSIVE in found for found in unchanged)
        power = []
        for level in LEVELS:
            slowed = [by_name[one] for t, by_name in verdicts for one, much in t.planted.items() if much == level]
            power.append(f"{sum(GateVerdict.REGRESSION in found for found in slowed)} of {len(slowed)}")
        bound = f"{alarms} (<= {rate_bound(alarms, len(unchanged)):.1%})" if unchanged else "-"
        broken = sum(trial.gate.verdict is GateVerdict.INCOMPARABLE for trial in part)
        seconds = f"{statistics.median(t.seconds for t in part):.0f}" if part else "-"
        cells = [name, len(part), len(unchanged), bound, unsure, *power, broken, seconds]
        yield f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Measure what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="environment with one build")
    parser.add_argument("--head", help="environment with the other build")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--gates", type=int, default=GATES)
    parser.add_argument("--only", choices=["idle", "loaded"], help="measure only this half now")
    parser.add_argument("--busy", action="store_true", help="a core is loaded by something else already: add no load")
    parser.add_argument("--tables", action="store_true", help="measure nothing")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no gate after this long")
    given = parser.parse_args()
    done, until = {trial.number for trial in kept(given.results)}, time.monotonic() + 60 * given.minutes
    for number in range(0 if given.tables else given.gates):
        if number in done or (given.only and (given.only == "loaded") != is_loaded(number)):
            continue
        if time.monotonic() > until:
            break
        line = json.dumps(run_one(number, given.base, given.head, RULES, is_busy=given.busy), allow_nan=False)
        given.results.parent.mkdir(parents=True, exist_ok=True)
        with given.results.open("ab") as file:  # members of gzip stand one behind another
            file.write(gzip.compress(line.encode() + b"\n"))
            os.fsync(file.fileno())
        print(f"gate {number} of {given.gates}: {json.loads(line)['seconds']} s", file=sys.stderr, flush=True)  # noqa: T201
    print("\n".join(tables(kept(given.results), RULES)))  # noqa: T201


if __name__ == "__main__":
    main()
