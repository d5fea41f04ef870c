"""The loop: verify, measure, record. Rows run in worker processes; a timed case has a fresh one to itself."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyharness import store
from pyharness.running import run_record
from pyharness.running.progress import Deadline, Listener, TimeLeft, TimeLimitReached
from pyharness.running.run_record import Recording, TextsRead
from pyharness.running.schedule import Rotation, Schedule, Turn, Verification, rotations
from pyharness.running.workers import messages
from pyharness.running.workers.messages import Request
from pyharness.running.workers.process import WorkerDied, Workers, threads_of
from pyharness.store.json_values import get
from pyharness.suite import Plan
from pyharness.system import folders, threads
from pyharness.system.environment import cores
from pyharness.types import Case, CaseResult, Failure, InputError


@dataclass(frozen=True, slots=True)
class PartsRead:
    """Cases whose text was read in parts before the run, by key."""

    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # passes of all parts, in order; "": left out
    unread: Mapping[str, CaseResult] = field(default_factory=dict)  # results of cases of which a part has no pass
    share: store.PartsShare | None = None  # None: no part is left out


@dataclass
class Run:
    """A run in progress."""

    plan: Plan
    schedule: Schedule
    listener: Listener
    workdir: Path
    journal: store.Journal
    tracebacks: bool = False  # whether failures by an unexpected exception keep theirs
    deadline: Deadline | None = None
    parts: PartsRead = field(default_factory=PartsRead)
    results: dict[str, CaseResult] = field(default_factory=dict)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    turns: dict[tuple[str, int], Turn] = field(default_factory=dict)  # by key and round, of an interrupted run
    texts: TextsRead = field(default_factory=TextsRead)
    verification: Verification = field(init=False)
    workers: Sequence[Workers] = ()  # the first one measures what is timed; (): as many as the suite says
    _lock: threading.RLock = field(init=False, default_factory=threading.RLock)  # of what lanes share

    def __post_init__(self) -> None:
        """Create the checks and the workers of this run."""
        self.verification = Verification(self.schedule, self.workdir, self.results)
        number = min(self.plan.suite.workers, cores())
        rows, folder = self.schedule.rows, self.workdir / "worker"
        self.workers = self.workers or [Workers(self.plan.suite, rows, folder, number) for _ in range(number)]

    def take_over(self, finished: list[dict[str, Any]]) -> None:
        """Take the results of an interrupted run from the journal, except those whose state is gone or changed.

        Raises:
            InputError: an entry is not a result.
        """
        for entry in finished:
            try:
                result = store.result_from_json(entry["result"])
            except (KeyError, TypeError, AttributeError) as error:
                raise InputError(f"cannot resume: the journal has an entry that is not a result ({error!r})") from None
            if "round" in entry:
                turn = Turn(self.texts.checked(result), get(entry, "fingerprint", str))
                self.turns[result.case.key, get(entry, "round", int)] = turn
                continue
            if not self.journal.states.resume(result.case.key, entry.get("state")):
                continue  # what its numbers are computed from is gone: it is measured again
            self.results[result.case.key] = self.texts.checked(result)
            if entry.get("facts"):
                self.facts[result.case.tokenizer] = entry["facts"]

    def measure_all(self) -> None:
        """Run cases without a result until the time is over: untimed rows side by side, then timed cases one by one.

        A check also runs again if its saved ids are gone and a row without a result needs them.
        """
        try:
            for rows in self.schedule.untimed:
                threads.share_out(rows, self.workers, self._measure_row, Workers.stop, Workers.leave)
            self.workers[0].leave()
            self._measure_row(self.schedule.timed, self.workers[0])
            with contextlib.suppress(TimeLimitReached):
                for rotation in rotations(case for case in self.schedule.in_turns if case.key not in self.results):
                    self._rotate(rotation)
        finally:
            self.workers[0].leave()

    def _measure_row(self, cases: Sequence[Case], workers: Workers) -> None:
        for case in cases:
            with self._lock:
                again = self.schedule.ids_needed(case, self.results) and not self.verification.ids_of(case).exists()
                if case.key in self.results and not again:
                    continue
                if self.deadline is not None and self.deadline.over:
                    return
                self.listener.started(case)
                blocked = self.verification.blocked(case) or self.parts.unread.get(case.key)
            self._keep(blocked or self._measure(case, workers).result)

    def _rotate(self, rotation: Rotation) -> None:
        blocked = {case.key: self.verification.blocked(case) for case in rotation.cases}
        allowed = Rotation([case for case in rotation.cases if blocked[case.key] is None], rotation.rounds)
        for result in (*filter(None, blocked.values()), *allowed.run(self._take_turn, self.turns)):
            self._keep(result)

    def _take_turn(self, case: Case, number: int) -> Turn:
        if self.deadline is not None and self.deadline.over:
            raise TimeLimitReached
        self.listener.started(case)
        turn = self._measure(case, self.workers[0])
        text = self.journal.text_of(turn.result)
        self.journal.add({"round": number, "result": text, "fingerprint": turn.fingerprint})
        return turn

    def _keep(self, result: CaseResult) -> None:
        state = None
        if result.status == "ok":
            try:
                state = self.journal.states.take(result.case.key)
            except (store.NoState, OSError) as error:
                reason = f"the process left a state that cannot be used: {error}"
                result = CaseResult(result.case, "failed", reason, failure=Failure.CRASH)
        with self._lock:
            self.results[result.case.key] = result
            facts = self.facts.get(result.case.tokenizer)
            self.journal.add({"result": self.journal.text_of(result), "facts": facts, "state": state})
            self.listener.finished(result)

    def _measure(self, case: Case, workers: Workers) -> Turn:
        self.journal.states.discard(case.key)
        try:
            answer = workers.measure(self.request(case), lambda done: self._progress(case, done))
            result, text = messages.result_of(case, answer)
            facts, fingerprint = messages.facts_of(answer), messages.fingerprint_of(answer)
        except WorkerDied as death:
            return Turn(CaseResult(case, "failed", str(death), failure=death.failure))
        except store.Misshapen as error:
            workers.leave()
            return Turn(CaseResult(case, "failed", f"the process gave no result: {error}", failure=Failure.CRASH))
        with self._lock:
            if facts is not None:
                self.facts[case.tokenizer] = facts
            self.journal.text_of(result, text)
            return Turn(self.texts.checked(result), fingerprint)

    def _progress(self, case: Case, done: int) -> None:
        with self._lock:
            self.listener.progress(case, done)

    def recorded(self, recording: Recording) -> store.Record:
        """Write the record of a run that was not interrupted; it is complete unless the time limit left out cases.

        Raises:
            InputError: no case has a result.
        """
        if self.deadline is None or all(case.key in self.results for case in self.schedule.cases):
            return recording.write(self.results, self.facts, self.texts, complete=True)
        reason = f"the time limit of {self.deadline.limit} was reached before"
        if not self.results:
            raise InputError(f"{reason} any case was finished: give the run more time")
        return recording.write(self.results, self.facts, self.texts, complete=False, missing=f"{reason} this case")

    def request(self, case: Case) -> Request:
        """Return the message that asks a worker for a case."""
        expected, kept = self.verification.expected(case), self.verification.kept(case)
        state = self.journal.states.path_of(case.key)
        return Request(
            case,
            tokenizer=self.schedule.rows[case.tokenizer].name,
            corpus=None if case.corpus is None else self.plan.corpora[case.corpus].name,
            threads=threads_of(case, len(self.workers)),
            device=self.plan.suite.device,
            expected=None if expected is None else str(expected),
            keep_ids=None if kept is None else str(kept),
            keep_state=None if state is None else str(state.absolute()),
            parts=self.parts.files.get(case.key, ()),
            traceback=self.tracebacks,
        )


def run(
    plan: Plan, journal: store.Journal, listener: Listener, resume: bool = False, tracebacks: bool = False,
    deadline: Deadline | None = None, parts: PartsRead | None = None, workers: Sequence[Workers] = (),
) -> store.Record:  # fmt: skip
    """Run a plan, and write the record under the name that the journal has claimed.

    ``tracebacks`` adds tracebacks of unexpected exceptions to the details of failures. No case begins after
    ``deadline``; if that leaves out cases, the record is incomplete, and the journal stays to resume from. Texts that
    were read in ``parts`` are not read again, but for their fronts. ``workers`` that have read them may go on.

    ``KeyboardInterrupt`` and ``SystemExit`` (from a signal) during measurement also leave the journal, and a valid
    record of the finished cases, if there are any and no other file has the name of the record.

    Raises:
        InputError: the time was over before any case had a result, the run cannot be resumed, or the record cannot be
            written.
    """
    started, schedule = time.time(), Schedule.of(plan)
    try:
        parts = parts or PartsRead()
        recording = Recording(plan, schedule, journal, run_record.header(plan, schedule), started, parts.share)
        finished = journal.start(recording.header, resume)
        with folders.scratch() as workdir:
            going = Run(plan, schedule, listener, workdir, journal, tracebacks, deadline, parts, workers=workers)
            going.take_over(finished)
            if finished:
                run_record.check_texts(plan, going.texts)
            todo = schedule.left(going.results)  # no ids are saved yet
            going.listener = TimeLeft(listener, todo, len(going.workers))
            listener.begin(len(todo))
            try:
                going.measure_all()
            except (KeyboardInterrupt, SystemExit):
                if going.results:
                    recording.write(going.results, going.facts, going.texts, complete=False)
                raise
            record = going.recorded(recording)
        if record.data["complete"]:
            journal.remove()
        return record
    finally:
        journal.close()
