"""Entry points of ``pyharness gate``: a gate, and a calibration, which runs gates of one version against itself."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pyharness.features.gate import calibration, suites
from pyharness.features.gate.builds import names
from pyharness.features.gate.builds.workshop import NotBuilt
from pyharness.features.gate.measurement.plan import GateListener
from pyharness.features.gate.session import GateRequest, ResolvedRequest, checked, judged, ready, resolved
from pyharness.features.gate.types import ArmFailed, Calibration, Gate, GateBenchmark, GateVerdict, SelfTest, Side
from pyharness.system import atomic_file, program
from pyharness.system.environment import fingerprint
from pyharness.types import InputError

GATES = 16  # suite "gate": 8 x 16 comparisons, and 8 x 13 next to planted ones, bound false alarms by 1.3 %
FEWEST = 2
LEVELS = (0.03, 0.05, 0.10)
LOCK = "pyharness-gate.lock"
SHARED = Path("/tmp")  # noqa: S108 -- of the machine: TMPDIR may be each job's own
LONGEST = 200  # bytes of the holder's signature


class MachineBusy(InputError):
    """Another gate runs on this machine."""


def gate(asked: GateRequest, listener: GateListener) -> Gate:
    """Measure and judge. Arms that cannot be compared get a verdict as well, with its reason.

    Raises:
        InputError: the request is invalid or another gate runs (``MachineBusy``), before any build. Later problems
            become a verdict, and so does a commit that is not in the clone.
        OSError: the system refuses before any build, or the reader of a pipe has ended (``BrokenPipeError``).
    """
    begun, minutes = time.time(), asked.rules.minutes
    deadline = math.inf if minutes is None else time.monotonic() + 60 * minutes
    shared: tuple[str, ...] = ()
    commits: Mapping[Side, Mapping[str, str]] = {}
    try:
        with program.until(deadline):  # already the first check runs git
            request = checked(asked)
            commits = names.commits(request.sources)
            with alone(force=asked.force) as shared:
                done = _compare(request, listener, deadline)
    except program.OutOfTime as ended:
        limit = f"--max-minutes {minutes:g}: " if time.monotonic() >= deadline else ""
        done = _incomparable(asked, f"{limit}{ended}")
    except names.NotFetched as lacking:  # the job has not fetched it: its outputs must not report another gate
        done = _incomparable(asked, str(lacking))
    except (InputError, OSError):
        raise
    except Exception as fault:  # a bug of ours: a traceback exits with 1, which means a regression
        traceback.print_exc()
        message = " ".join(str(fault).split())[:300]
        done = _incomparable(asked, f"a bug of pyharness, please report it: {type(fault).__name__}: {message}")
    created = datetime.fromtimestamp(begun, UTC).isoformat(timespec="seconds")
    seconds = time.time() - begun
    about = {**done.about, "commits": commits, "environment": fingerprint(), "created": created, "seconds": seconds}
    passed = ", ".join(asked.build.passed)
    let_through = [f"builds of both sides got {passed}, which the code that is built can read"] if passed else ()
    return replace(done, notes=(*shared, *let_through, *done.notes), about=about)


def _compare(request: ResolvedRequest, listener: GateListener, deadline: float) -> Gate:
    asked = request.asked
    try:
        with ready(request, listener, deadline) as both:
            return judged(both, asked.rules, request.declared)
    except NotBuilt as failure:
        return replace(_incomparable(asked, str(failure)), about={"unbuilt": failure.side})
    except (ArmFailed, InputError) as failure:
        return _incomparable(asked, str(failure))
    except OSError as refusal:  # a full disk, mostly
        if isinstance(refusal, BrokenPipeError):  # the reader has closed the pipe
            raise
        return replace(_incomparable(asked, f"the system refuses: {refusal}"), about={"refused": True})


def _incomparable(asked: GateRequest, reason: str) -> Gate:
    what = asked.tests or asked.suite or suites.DEFAULT
    return Gate(what, asked.rules, {}, (), (), (), (), SelfTest((reason,)), GateVerdict.INCOMPARABLE)


def calibrate(asked: GateRequest, listener: GateListener, gates: int = GATES) -> Calibration:
    """Make two arms of ``asked.base``, gate one against the other, and keep the calibration.

    A revision is built twice, in two folders. In every second gate three of the benchmarks do 3, 5 and 10 % more work
    in the head. It is an error if ``asked.rules.minutes`` end during the builds. If they end later, only the first two
    gates still begin.

    Raises:
        InputError: another gate runs, the base is unknown or does not build in time, an arm fails, nothing was
            comparable, or the result cannot be kept.
    """
    begun, made = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    minutes, rules = asked.rules.minutes, replace(asked.rules, minutes=None)
    deadline = math.inf if minutes is None else begun + 60 * minutes
    options = replace(asked.build, separate=True, cache=False)
    twice = replace(asked, head=asked.base, rules=rules, build=options)
    identical: list[Gate] = []
    slowed: list[tuple[Gate, dict[str, float]]] = []
    with alone(force=asked.force):
        try:
            with program.until(deadline), ready(resolved(twice), listener) as both:
                under_test = both.under_test
                for number in range(gates):
                    if number >= FEWEST and time.monotonic() > deadline:
                        break
                    listener.stage(f"gate {number + 1} of {gates}")
                    own = [one for one in both.suite.benchmarks if not one.is_control(under_test)]
                    planted = slowdowns_of(number, own)
                    done = judged(replace(both, plan=replace(both.plan, extra=planted)), rules)
                    if planted:
                        slowed.append((done, planted))
                    else:
                        identical.append(done)
        except (NotBuilt, ArmFailed, program.OutOfTime) as failure:
            limit = f"--max-minutes {minutes:g}: " if time.monotonic() >= deadline else ""
            raise InputError(f"{limit}there is no calibration: {failure}") from None
    seconds = time.monotonic() - begun
    result = calibration.calibrated(
        calibration.machine(), identical, slowed, under_test=under_test, seconds=seconds, made=made
    )
    calibration.keep(result)
    return result


def slowdowns_of(number: int, benchmarks: Sequence[GateBenchmark]) -> dict[str, float]:
    """Return the slowdowns of gate ``number``: of three benchmarks in rotation; every second gate has none.

    >>> names = [GateBenchmark(name, "encode", "pyharness", "code", 64) for name in "abcd"]
    >>> slowdowns_of(0, names), slowdowns_of(1, names), slowdowns_of(3, names)
    ({}, {'a': 0.03, 'b': 0.05, 'c': 0.1}, {'b': 0.03, 'c': 0.05, 'd': 0.1})
    """
    # A slowed control would make the gate report that its arms differ. A call without text cannot do a share more.
    able = [one.name for one in benchmarks if one.text and one.library == benchmarks[0].library]
    if number % 2 == 0:
        return {}
    return {able[(number // 2 + place) % len(able)]: level for place, level in enumerate(LEVELS[: len(able)])}


def lock_place() -> Path:
    """Return the lock file of all gates of this machine; of one temporary folder, if ``SHARED`` is closed."""
    return (SHARED if os.access(SHARED, os.W_OK) else Path(tempfile.gettempdir())) / LOCK


@contextmanager
def alone(*, force: bool = False, path: Path | None = None) -> Iterator[tuple[str, ...]]:
    """Hold the machine's lock for a gate; yield notes: with ``force``, that another gate ran.

    Raises:
        MachineBusy: another gate runs and ``force`` is not set.
        InputError: the lock file cannot be opened.
    """
    handle = _open(path or lock_place())
    try:
        if atomic_file.lock(handle):
            _sign(handle)
            yield ()
        else:
            who = os.pread(handle, LONGEST, 0).decode("ascii", "replace").strip() or "an unknown process"
            if not force:
                raise MachineBusy(
                    f"another gate runs on this machine ({who}), and both would disturb each other: wait for it, "
                    "or measure anyway with --force"
                )
            yield (f"another gate ran on this machine ({who})",)
    finally:
        os.close(handle)  # releases the lock; so does the death of the process


def _open(path: Path) -> int:
    careful = os.O_NOFOLLOW | os.O_NONBLOCK  # follow no link, and do not wait for the writer of a FIFO
    try:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | careful, 0o644)
        except PermissionError:  # another user's file: we can lock it, but not sign it
            handle = os.open(path, os.O_RDONLY | careful)
    except OSError as error:
        raise InputError(
            f"{str(path)!r}, which gates of this machine lock, cannot be opened ({error.strerror}): remove it"
        ) from None
    with contextlib.suppress(OSError):  # regardless of the umask: other users lock this file, too
        os.fchmod(handle, 0o644)
    return handle


def _sign(handle: int) -> None:
    since = time.strftime("%Y-%m-%d %H:%M:%S %z")
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()}, since {since}\n".encode("ascii"), 0)
    except OSError:  # opened only for reading
        return
