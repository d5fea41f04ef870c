"""Tests for a device in one process: a plug-in of pytest that writes down each test as it ends, and verdicts on files.

pytest writes its own report when all is over, so that of a process which crashed nothing would be known.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from device.results import FAILED, NOTHING_RAN, PASSED, TIMED_OUT
from device.running import Outcome, last_words

# After these a process can use the device no more (CUDA Runtime API, "cudaError"): every later test would fail.
LOST = re.compile(
    r"cudaError(IllegalAddress|IllegalInstruction|InvalidAddressSpace|InvalidPc|HardwareStackError|LaunchFailure|"
    r"LaunchTimeout|MisalignedAddress|Assert|ECCUncorrectable)\b|illegal memory access|misaligned address|"
    r"device-side assert|unspecified launch failure|illegal instruction was encountered"
)
COMPLETE = range(6)  # statuses that pytest itself ends with


def pytest_addoption(parser: Any) -> None:
    """Take the file to write to."""
    parser.addoption("--journal", type=Path, required=True)


def pytest_configure(config: Any) -> None:
    """Begin to write."""
    config.pluginmanager.register(Writer(config.getoption("journal")))


class Writer:
    """Writes a line of JSON at every step, so that what has ended is known however the process ends."""

    def __init__(self, journal: Path) -> None:
        self.journal = journal
        self.session: Any = None

    def _write(self, **entry: Any) -> None:
        with self.journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def pytest_sessionstart(self, session: Any) -> None:
        self.session = session

    def pytest_collectreport(self, report: Any) -> None:
        if not report.passed and report.nodeid.endswith(".py"):
            self._write(uncollected=report.nodeid, outcome=report.outcome, said=last_words(report.longreprtext))

    def pytest_collection_finish(self, session: Any) -> None:
        self._write(tests=Counter(_file_of(item.nodeid) for item in session.items))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write(begins=nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._write(test=report.nodeid, outcome=report.outcome, seconds=report.duration)
        if report.failed and LOST.search(report.longreprtext):
            self.session.shouldstop = "the device cannot be used any more in this process"

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._write(ends=nodeid)


def _file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


class Journal:
    """What a process has written down."""

    def __init__(self, path: Path) -> None:
        self.expected: dict[str, int] | None = None  # tests by file; None: they were not all collected
        self.uncollected: dict[str, tuple[str, str]] = {}  # files: an error, or all skipped; and why
        self.ended: list[str] = []
        self.running = ""  # the test under way when the process ended
        self._outcomes: dict[str, set[str]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)
        for entry in _entries(path):
            self._take(entry)

    def _take(self, entry: dict[str, Any]) -> None:
        if "uncollected" in entry:
            verdict = FAILED if entry["outcome"] == "failed" else NOTHING_RAN
            self.uncollected[entry["uncollected"]] = verdict, entry["said"]
        elif "tests" in entry:
            self.expected = entry["tests"]
        elif "begins" in entry:
            self.running = entry["begins"]
        elif "ends" in entry:
            self.ended.append(entry["ends"])
            self.running = ""
        else:
            self._outcomes.setdefault(entry["test"], set()).add(entry["outcome"])
            self._seconds[_file_of(entry["test"])] += entry["seconds"]

    def seconds(self, file: str) -> float:
        """Return how long the tests of a file took."""
        return self._seconds[file]

    def verdict(self, file: str, outcome: Outcome, log: str) -> tuple[str, str] | None:
        """Judge a file by its tests; None where nothing can be said because the process ended before it was done."""
        if file in self.uncollected:
            return self.uncollected[file]
        if self.expected is None:
            timed_out = outcome.status is None
            return (TIMED_OUT, "during collection") if timed_out else (FAILED, f"{status(outcome)}: {last_words(log)}")
        if (count := self.expected.get(file, 0)) == 0:
            return PASSED, "has no test for a device"
        ended = [test for test in self.ended if _file_of(test) == file]
        failed = [test for test in ended if "failed" in self._outcomes.get(test, ())]
        skipped = [test for test in ended if self._outcomes.get(test, set()) >= {"skipped"} and test not in failed]
        said = f"{len(ended) - len(skipped)} of {count} ran, {len(failed)} failed, {len(skipped)} skipped"
        if _file_of(self.running) == file:
            told = f"{said}; then {self.running}"
            dead = FAILED, f"{told}, {status(outcome)}: {last_words(log)}"
            return (TIMED_OUT, told) if outcome.status is None else dead
        if failed or self._crashed_after(file, outcome):
            return FAILED, said if failed else f"{said}; then {status(outcome)}: {last_words(log)}"
        if len(ended) < count:
            return None
        return (NOTHING_RAN if len(skipped) == count else PASSED), said

    def _crashed_after(self, file: str, outcome: Outcome) -> bool:
        """Whether this file's test was the last one before an end that is not pytest's."""
        odd = outcome.status is not None and outcome.status not in COMPLETE
        return odd and not self.running and bool(self.ended) and _file_of(self.ended[-1]) == file


def _entries(path: Path) -> list[dict[str, Any]]:
    """Read whole lines: the last one may be cut off."""
    found: list[dict[str, Any]] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            break
    return found


def status(outcome: Outcome) -> str:
    """Name how a process ended."""
    return f"status {outcome.status}"
