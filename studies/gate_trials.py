"""Trials of the gate: ``python studies/gate_trials.py --base PYTHON --head PYTHON``, resumed where it stopped.

Sixty gates of ten benchmarks of short calls, on two separate builds of one revision in two folders: no code differs.
Half of them run on an idle machine, half with one core loaded by something else. In half of each, three of the ten
benchmarks do 3, 5 and 10 % more work in the head: real calls on more text. Which build is the base and which the head
changes from gate to gate. Counted is how often an unchanged benchmark is called a regression, and how often a slowed
one is found. Raw samples of every gate are kept in ``studies/results``, with the commit of the code that measured and
the digests of what was measured; all tables are computed from them: docs/gate.md "How often the gate errs, by trial".

The builds are two environments with a wheel each. Builds alike come out as the same machine code; with other alignment
or order of linking they do not, and the trials say what layout does. Nobody may change this checkout meanwhile.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyharness.features.gate.builds.workshop import BuildOptions
from pyharness.features.gate.measurement.plan import GateListener
from pyharness.features.gate.records import gate_as_json, gate_from_json
from pyharness.features.gate.session import GateRequest, judged, ready, resolved
from pyharness.features.gate.types import Gate, GateRules, GateVerdict, Side
from pyharness.features.gate.verdicts import judgements as judging
from pyharness.features.gate.verdicts.hypotheses import rate_bound

RESULTS = Path(__file__).parent / "results" / "gate_trials.jsonl.gz"
CHECKOUT = Path(__file__).parents[1]
SUITE = CHECKOUT / "bench" / "suites" / "gate" / "trials.toml"
GATES = 60
LEVELS = (0.03, 0.05, 0.10)
RULES = GateRules(budget=0.02)
IDLE = 0.15  # share of all cores: an idle gate waits until others take less
PATIENCE = 120.0  # seconds of such a wait; then a loaded gate goes first, and where none is left it begins all the same
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
    swapped: bool = False  # whether the build that is the base otherwise was the head
    commit: str = ""  # of the code that measured
    modules: Mapping[Side, Mapping[str, str]] = field(default_factory=dict)  # digests of extension modules
    others: float = 0.0  # share of all cores that others took during the gate


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


def is_swapped(number: int) -> bool:
    """Half of the idle and of the loaded gates, of the slowed and of the others; of a pair that is slowed alike, one.

    >>> [is_swapped(number) for number in range(8)]
    [False, True, False, True, True, False, True, False]
    """
    return (number // 4 + number) % 2 == 1


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


class Others:
    """What others take of the machine from here on, without this process and its children that have ended."""

    def __init__(self) -> None:
        self._begun = self._seconds()

    @staticmethod
    def _seconds() -> tuple[float, float]:
        """All there was to have, and what others had of it, of all cores: /proc/stat (proc(5))."""
        stat = Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:9]
        ticks, idle = sum(map(int, stat)), int(stat[3]) + int(stat[4])
        second = os.sysconf("SC_CLK_TCK")
        return ticks / second, (ticks - idle) / second - sum(os.times()[:4])

    def share(self) -> float:
        """Their share of all cores, 0 to 1."""
        total, taken = (new - old for old, new in zip(self._begun, self._seconds(), strict=True))
        return min(max(taken / max(total, 1e-9), 0.0), 1.0)


def others_share(seconds: float = 2.0) -> float:
    """What others take now."""
    others = Others()
    time.sleep(seconds)
    return others.share()


def idle(patience: float) -> bool:
    """Wait for an idle machine, so many seconds; whether it came."""
    until = time.monotonic() + patience
    while others_share() > IDLE:
        if time.monotonic() > until:
            return False
    return True


def in_turn(numbers: Sequence[int], patience: float = PATIENCE) -> Iterator[int]:
    """Gates in their order; while the machine is not idle, loaded ones go first."""
    left = list(numbers)
    while left:
        chosen = left[0]
        if not is_loaded(chosen) and not idle(patience):
            chosen = next(filter(is_loaded, left), chosen)
        left.remove(chosen)
        yield chosen


def commit() -> str:
    """Commit of this checkout; what is not committed is said."""
    git = ["git", "-C", str(CHECKOUT)]
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    changed = [*git, "status", "--porcelain", "--untracked-files=no", "--", "pyharness", "bench", "studies"]
    changes = subprocess.run(changed, check=True, capture_output=True, text=True).stdout.strip()
    return f"{head} and changes" if changes else head


def modules(environment: str) -> dict[str, str]:
    """Digests of the extension modules of an environment, by name."""
    found = sorted(Path(environment).glob("lib/python*/site-packages/pyharness/*.so"))
    if not found:
        raise SystemExit(f"{environment} has no pyharness of its own: install a wheel there")
    return {file.name.partition(".")[0]: hashlib.sha256(file.read_bytes()).hexdigest() for file in found}


def run_one(number: int, base: str, head: str, rules: GateRules, *, is_busy: bool) -> dict[str, Any]:
    """Run one gate; its record, with what was planted. ``is_busy``: something else loads a core already."""
    if is_swapped(number):
        base, head = head, base
    build = BuildOptions(library="pyharness")
    asked = GateRequest(base=base, head=head, suite=str(SUITE), rules=rules, force=True, build=build)
    begun = time.time()
    with ready(resolved(asked), GateListener()) as both:
        names = [one.name for one in both.suite.benchmarks if one.library == both.under_test]
        slowed = planted(number, names)
        both.plan.extra = slowed
        others = Others()
        with load() if is_loaded(number) and not is_busy else nullcontext():
            gate = judged(both, rules)
        share = others.share()
    return {
        "number": number,
        "loaded": is_loaded(number),
        "swapped": is_swapped(number),
        "planted": slowed,
        "seconds": round(time.time() - begun, 1),
        "others": round(share, 3),
        "modules": {"base": modules(base), "head": modules(head)},
        "gate": gate_as_json(replace(gate, about={**gate.about, "begun": begun})),
    }


def whole(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Members of a gzip file, each with the place where it ends, up to one that was cut off."""
    place = 0
    while place < len(data):
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            text = member.decompress(data[place:])
        except zlib.error:
            return
        if not member.eof:
            return
        place = len(data) - len(member.unused_data)
        yield text, place


def kept(path: Path) -> list[Trial]:
    """Gates that were measured already; one that was cut off is measured again."""
    trials: dict[int, Trial] = {}
    for line, _ in whole(path.read_bytes() if path.exists() else b""):
        data = json.loads(line)
        trials[data["number"]] = Trial(gate=gate_from_json(data.pop("gate"), path.name), **data)
    return list(trials.values())


def keep(path: Path, record: Mapping[str, Any]) -> None:
    """Add a record, in place of one that was cut off: nothing behind that could be read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        file.seek(0)
        file.truncate(max((end for _, end in whole(file.read())), default=0))
        file.write(gzip.compress(json.dumps(record, allow_nan=False).encode() + b"\n"))
        os.fsync(file.fileno())


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
        + " | incomparable | seconds (median) | others took (median, most) |"
    )
    yield "| :-- |" + " --: |" * (7 + len(LEVELS))
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
        took = [trial.others for trial in part]
        others = f"{statistics.median(took):.0%}, {max(took):.0%}" if part else "-"
        cells = [name, len(part), len(unchanged), bound, unsure, *power, broken, seconds, others]
        yield f"| {' | '.join(map(str, cells))} |"
    yield ""
    yield f"Measured by {', '.join(sorted({trial.commit for trial in trials})) or 'nobody'}."
    alike = sum(trial.modules.get("base") == trial.modules.get("head") for trial in trials)
    yield f"Gates with the same machine code on both sides: {alike} of {len(trials)}."


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
    done, measuring, until = (
        {one.number for one in kept(given.results)},
        commit(),
        time.monotonic() + 60 * given.minutes,
    )
    wanted = [number for number in range(0 if given.tables else given.gates) if number not in done]
    for number in in_turn([one for one in wanted if given.only in (None, "loaded" if is_loaded(one) else "idle")]):
        if time.monotonic() > until:
            break
        record = run_one(number, given.base, given.head, RULES, is_busy=given.busy)
        keep(given.results, {**record, "commit": measuring})
        print(f"gate {number} of {given.gates}: {record['seconds']} s", file=sys.stderr, flush=True)  # noqa: T201
    print("\n".join(tables(kept(given.results), RULES)))  # noqa: T201


if __name__ == "__main__":
    main()
