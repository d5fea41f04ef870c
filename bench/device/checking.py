"""The loop of the check: what is not done yet, within the seconds of this call, each part judged and kept at once."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from device import machine, results, running, summary
from device.results import FAILED, NOTHING_RAN, PASSED, RUNNING, STANDING, TIMED_OUT, Store
from device.stages import BUILD, HAZARDS, INTENDED_RACES, Part, Place

LEAST_SECONDS = 30  # with less left nothing is started that has begun nowhere yet
LAST_WORDS = 300  # characters of a log
RACE = re.compile(r"^.*Race reported between.*$", re.MULTILINE)  # the kernel stands in this line
NONE_MARKED = 5  # pytest's status when the mark leaves no test
NOT_PROFILED = "No kernels were profiled"  # what ncu says, with status 0


@dataclass
class Check:
    """One call."""

    place: Place
    parts: Sequence[Part]  # all there are
    out: Path
    device: machine.Device | None
    until: float  # on the monotonic clock
    store: Store = field(init=False)

    def __post_init__(self) -> None:
        self.store = Store(self.place, "none" if self.device is None else str(self.device))

    def run(self, wanted: Sequence[Part], again: bool) -> int:
        """Run what is not done; returns the exit status."""
        self._bury()
        wanted = self._with_build(wanted)
        fresh = {part for part in wanted if again or not self._done(part)}
        try:
            with running.told_to_end():
                for part in sorted(
                    fresh, key=lambda part: (part.stage != BUILD, self._tried(part), wanted.index(part))
                ):
                    if not self._one(part):
                        break
        except running.Ended:
            say("told to end")
        self.deliver()
        return self._status(wanted)

    def _with_build(self, wanted: Sequence[Part]) -> list[Part]:
        build = next(part for part in self.parts if part.stage == BUILD)
        return [build, *(part for part in wanted if part is not build)]

    def _done(self, part: Part) -> bool:
        result = self.store.read(part)
        if part.stage == BUILD and not (self.place.site / "pyharness").is_dir():
            return False
        return result is not None and result["verdict"] in STANDING

    def _tried(self, part: Part) -> bool:
        return self.store.read(part) is not None

    def _bury(self) -> None:
        """Say of parts that were under way when an earlier call was killed that they are timed out."""
        if count := running.end_remains(self.place.work):
            say(f"ended {count} processes that an earlier call had left")
        for part in self.parts:
            result = self.store.read(part)
            if result is not None and result["verdict"] == RUNNING:
                self.store.write(part, TIMED_OUT, "the check was killed meanwhile", started=result["started"])

    def _one(self, part: Part) -> bool:
        """Run a part; whether others can follow."""
        left = self.until - time.monotonic()
        if left < LEAST_SECONDS:
            return False
        if missing := self._missing(part):
            show(part, missing, None)
            return part.stage != BUILD
        self._clear(part)
        started = datetime.now(UTC).isoformat(timespec="seconds")
        self.store.write(part, RUNNING, started=started)
        self.deliver()
        outcome = running.run(
            part.command,
            self.place.root,
            machine.environment(self.place, self.device),
            self.store.log(part),
            min(part.limit, left),
        )
        verdict, detail = judged(part, outcome, self.store.log(part))
        self.store.write(part, verdict, detail, started=started, seconds=round(outcome.seconds, 1))
        self.deliver()
        show(part, verdict, outcome.seconds, detail)
        return not outcome.told and not (part.stage == BUILD and verdict != PASSED)

    def _missing(self, part: Part) -> str:
        if part.on_device and self.device is None:
            return "no device"
        lacks = machine.lacking(part, self.place)
        return f"lacks {', '.join(lacks)}" if lacks else ""

    def _clear(self, part: Part) -> None:
        """Keep the shapes that a profile had finished when it was cut off; drop what is of other sources."""
        if part.leaves is None:
            return
        if part.leaves.exists():
            part.leaves.replace(earlier_of(part.leaves))
        if not self._tried(part):
            earlier_of(part.leaves).unlink(missing_ok=True)

    def _status(self, wanted: Sequence[Part]) -> int:
        verdicts = [result["verdict"] if (result := self.store.read(part)) else None for part in wanted]
        remaining = sum(verdict not in STANDING for verdict in verdicts)
        if remaining:
            say(f"{remaining} of {len(wanted)} parts are not done: the same call goes on with them")
        if any(verdict in (FAILED, NOTHING_RAN) for verdict in verdicts):
            return 1
        return 3 if remaining else 0

    def deliver(self) -> None:
        """Write the summary of all that is here, and pack it."""
        kept = [result for part in self.parts if (result := self.store.read(part)) is not None]
        records = [part.leaves for part in self.parts if part.stage == "profile" and part.leaves and self._tried(part)]
        data: dict[str, Any] = {
            "device": None if self.device is None else str(self.device),
            "date": datetime.now(UTC).date().isoformat(),
            "versions": machine.versions(),
            "sources": self.store.digest(self.parts[0].reads),
            "parts": [{name: result.get(name) for name in ("part", "verdict", "detail", "started", "seconds")}
                      for result in kept],
            "measured": summary.measured(path for record in records for path in (earlier_of(record), record)),
        }  # fmt: skip
        results.write_whole(self.out / "summary.json", (json.dumps(data, indent=1) + "\n").encode())
        results.write_whole(self.out / "summary.md", summary.markdown(data).encode())
        results.archive(self.place.results, self.out / "results.zip")


def earlier_of(record: Path) -> Path:
    """Return where what was cut off is kept when a part is run again."""
    return record.with_name(f"earlier-{record.name}")


def judged(part: Part, outcome: running.Outcome, log: Path) -> tuple[str, str]:
    """Return the verdict on a part that has ended, and what is to be said of it."""
    text = log.read_text(encoding="utf-8", errors="replace")
    if outcome.status is None:
        return TIMED_OUT, f"after {outcome.seconds:.0f} s"
    if part.stage == "test":
        return _counted(part, outcome.status, text)
    if part.stage == "racecheck" and outcome.status == HAZARDS and (races := RACE.findall(text)):
        others = [race for race in races if not any(kernel in race for kernel in INTENDED_RACES)]
        said = f"{len(races)} races, {len(races) - len(others)} of them intended"
        return (FAILED, f"{said}: {last_words(others[0])}") if others else (PASSED, said)
    if outcome.status != 0 or NOT_PROFILED in text:
        return FAILED, f"status {outcome.status}: {last_words(text)}"
    return PASSED, ""


def _counted(part: Part, status: int, text: str) -> tuple[str, str]:
    """Judge by the tests that ran: pytest counts a file in which all were skipped as passed."""
    if part.leaves is None or not part.leaves.exists():
        return FAILED, f"status {status}: {last_words(text)}"
    suite = next(ET.parse(part.leaves).getroot().iter("testsuite"))  # noqa: S314 -- pytest's own
    count, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    said = f"{count - skipped} ran, {failed} failed, {skipped} skipped"
    if status == NONE_MARKED:
        return PASSED, "has no test for a device"
    if status == 0 and count == skipped:
        return NOTHING_RAN, said
    return (PASSED, said) if status == 0 else (FAILED, said)


def last_words(text: str) -> str:
    """Return the end of an output in one line."""
    return " ".join(text.split())[-LAST_WORDS:]


def show(part: Part, verdict: str, seconds: float | None, detail: str = "") -> None:
    """Print the line of a part."""
    say(f"{' '.join(part.words):60} {verdict:12} {'' if seconds is None else f'{seconds:5.0f} s'}  {detail}".rstrip())


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201
