"""The loop of the check: what is not done yet, within the seconds of this call, each part judged and kept at once."""

from __future__ import annotations

import filecmp
import hashlib
import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

from device import hazards, machine, results, running, summary
from device.results import FAILED, NOTHING_RAN, PASSED, RUNNING, STANDING, TIMED_OUT, Store
from device.running import Outcome, last_words
from device.stages import BUILD, Part, Place
from device.testing import Journal

LEAST_SECONDS = 30  # with less left nothing is started that has begun nowhere yet
KEPT = ("part", "verdict", "detail", "started", "seconds", "driver")  # of a result, in the summary
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
    logs: set[Path] = field(default_factory=set)  # written to in this call
    forced: set[Part] = field(default_factory=set)  # asked for again

    def __post_init__(self) -> None:
        device, driver = ("none", "") if self.device is None else (self.device.model, self.device.driver)
        self.store = Store(self.place, device, driver)

    def run(self, wanted: Sequence[Part], again: bool) -> int:
        """Run what is not done; returns the exit status."""
        self._bury()
        self.forced = set(wanted) if again else set()
        wanted = self._with_build(wanted)
        fresh = {part for part in wanted if part in self.forced or not self._done(part)}
        queue = sorted(fresh, key=lambda part: (part.stage != BUILD, self._tried(part), wanted.index(part)))
        try:
            with running.told_to_end():
                while queue:
                    batch = together(queue)
                    undone = self._run(batch)
                    if undone is None:
                        break
                    queue = undone + queue[len(batch) :]
        except running.Ended:
            say("told to end")
        self.deliver()
        return self._status(wanted)

    def builds(self, wanted: Sequence[Part], again: bool) -> bool:
        """Whether a run of these parts begins with a build, rather than with the wheel of one."""
        build = self._with_build(wanted)[0]
        return (again and build in wanted) or not (self._done(build) or self._wheel() is not None)

    def _with_build(self, wanted: Sequence[Part]) -> list[Part]:
        build = next(part for part in self.parts if part.stage == BUILD)
        return [build, *(part for part in wanted if part is not build)]

    def _done(self, part: Part) -> bool:
        if part.stage == BUILD and not (self.place.site / "pyharness").is_dir():
            return False
        return self._verdict(part) in STANDING

    def _tried(self, part: Part) -> bool:
        return self._verdict(part) is not None

    def _verdict(self, part: Part) -> str | None:
        result = self.store.read(part)
        return None if result is None else str(result["verdict"])

    def _bury(self) -> None:
        """Say of parts that were under way when an earlier call was killed that they are timed out."""
        if count := running.end_remains(self.place.work):
            say(f"ended {count} processes that an earlier call had left")
        for part in self.parts:
            result = self.store.read(part)
            if result is not None and result["verdict"] == RUNNING:
                killed = TIMED_OUT, "the check was killed meanwhile"
                journal = Journal(self.place.journal)
                verdict = journal.verdict(part.file, Outcome(None, 0), "") if part.file else killed
                self._keep(part, verdict, started=result["started"], seconds=journal.seconds(part.file))

    def _run(self, batch: Sequence[Part]) -> list[Part] | None:
        """Run parts that share a process; returns those of them that it did not come to, None if nothing can follow."""
        first, left = batch[0], self.until - time.monotonic()
        if left < LEAST_SECONDS:
            return None
        if missing := self._missing(first):
            for part in batch:
                show(part, missing, None)
            return None if first.stage == BUILD else []
        started = datetime.now(UTC).isoformat(timespec="seconds")
        self.place.journal.unlink(missing_ok=True)
        for part in batch:
            self._clear(part)
            self.store.write(part, RUNNING, started=started)
        self.deliver()
        outcome = running.run(
            (*first.command, *(part.file for part in batch if part.file)),
            self.place.root,
            machine.environment(self.place, self.device),
            self.store.log(first),
            min(first.limit, left),
        )
        undone = self._judge(batch, outcome, started)
        self.deliver()
        return None if outcome.told or (first.stage == BUILD and self._verdict(first) != PASSED) else undone

    def _judge(self, batch: Sequence[Part], outcome: Outcome, started: str) -> list[Part]:
        """Keep the verdicts on parts that shared a process; returns those without one."""
        log = self.store.log(batch[0]).read_text(encoding="utf-8", errors="replace")
        journal = Journal(self.place.journal)
        verdicts: dict[Part, tuple[str, str] | None] = {
            part: journal.verdict(part.file, outcome, log) if part.file else judged(part, outcome, log, self.place.root)
            for part in batch
        }
        if not any(verdicts.values()):  # else the same would be run for ever
            verdicts = dict.fromkeys(batch, judged(batch[0], outcome, log, self.place.root))
        for part, verdict in verdicts.items():
            seconds = round(journal.seconds(part.file) if part.file else outcome.seconds, 1)
            built = self._name_wheel() if part.stage == BUILD else {}
            self._keep(part, verdict, started=started, seconds=seconds, **built)
            if verdict is not None:
                show(part, verdict[0], seconds, verdict[1])
        return [part for part, verdict in verdicts.items() if verdict is None]

    def _keep(self, part: Part, verdict: tuple[str, str] | None, **more: Any) -> None:
        if verdict is None:
            self.store.forget(part)
        else:
            self.store.write(part, *verdict, **more)

    def _name_wheel(self) -> dict[str, Any]:
        """Name what a build has left, by its content."""
        found = next(self.place.wheels.glob("*.whl"), None)
        if found is None:
            return {}
        return {"wheel": {"name": found.name, "sha256": hashlib.sha256(found.read_bytes()).hexdigest()}}

    def _wheel(self) -> Path | None:
        """Return the wheel of a build of these sources that has passed."""
        passed = self._verdict(self._with_build(())[0]) == PASSED
        return next(self.place.wheels.glob("*.whl"), None) if passed else None

    def _missing(self, part: Part) -> str:
        if part.on_device and self.device is None:
            return "no device"
        lacks = machine.lacking(part, self.place)
        return f"lacks {', '.join(lacks)}" if lacks else ""

    def _clear(self, part: Part) -> None:
        """Drop what an earlier call has left, but for the wheel of these sources and the shapes that a profile had."""
        if (log := self.store.log(part)) not in self.logs:
            log.unlink(missing_ok=True)
            self.logs.add(log)
        if part.stage == BUILD and (part in self.forced or self._wheel() is None):
            shutil.rmtree(self.place.wheels, ignore_errors=True)
        if part.leaves is None:
            return
        if part.leaves.exists():
            part.leaves.replace(earlier_of(part.leaves))
        if not self._tried(part):
            earlier_of(part.leaves).unlink(missing_ok=True)

    def _status(self, wanted: Sequence[Part]) -> int:
        verdicts = [self._verdict(part) for part in wanted]
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
            "host": machine.host(),
            "sources": self.store.digest(self.parts[0].reads),
            "parts": [{name: result.get(name) for name in KEPT} for result in kept],
            "measured": summary.measured(path for record in records for path in (earlier_of(record), record)),
        }
        results.write_whole(self.out / "summary.json", (json.dumps(data, indent=1) + "\n").encode())
        results.write_whole(self.out / "summary.md", summary.markdown(data).encode())
        results.archive(self.place.results, self.out / results.ARCHIVE)
        wheel = self._wheel()
        if wheel is not None and not ((copy := self.out / wheel.name).exists() and filecmp.cmp(wheel, copy)):
            shutil.copy2(wheel, copy)


def earlier_of(record: Path) -> Path:
    """Return where what was cut off is kept when a part is run again."""
    return record.with_name(f"earlier-{record.name}")


def together(queue: Sequence[Part]) -> list[Part]:
    """Return the parts at the head of a queue that run in one process: tests of several files."""
    first = queue[0]
    return [first, *takewhile(lambda part: part.file and part.command == first.command, queue[1:])]


def judged(part: Part, outcome: Outcome, log: str, root: Path) -> tuple[str, str]:
    """Return the verdict on a part that has ended, and what is to be said of it."""
    if outcome.status is None:
        return TIMED_OUT, f"after {outcome.seconds:.0f} s"
    if part.stage == "racecheck" and outcome.status in (0, hazards.FOUND):
        count, others = hazards.judged(log, root)
        if others:
            return FAILED, f"{count} races, {len(others)} not meant: {last_words(others[0])}"
        if count:
            return PASSED, f"{count} races, all meant"
    if outcome.status != 0 or NOT_PROFILED in log:
        return FAILED, f"status {outcome.status}: {last_words(log)}"
    return PASSED, ""


def show(part: Part, verdict: str, seconds: float | None, detail: str = "") -> None:
    """Print the line of a part."""
    say(f"{' '.join(part.words):60} {verdict:12} {'' if seconds is None else f'{seconds:5.0f} s'}  {detail}".rstrip())


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201
