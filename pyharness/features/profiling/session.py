"""The loop of a profile: make data, verify, measure, record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pyharness.features.profiling.cpu import Cpu
from pyharness.features.profiling.libraries import device_library
from pyharness.features.profiling.measuring import Samples, interleaved, reason_of
from pyharness.features.profiling.plan import ProfilePlan, check_memory, human_bytes
from pyharness.features.profiling.record import COPY, OURS, READ, Missing, Outcome, ProfileRecord, Roof
from pyharness.features.profiling.types import DeviceKind, Machine, Moving, Peer, Problem, Profile, Task
from pyharness.kernels.devices import cuda_reason, device_info, require_cuda
from pyharness.statistics.samples import StoppingRule
from pyharness.system.environment import fingerprint, version_of
from pyharness.types import InputError, Mismatch, Status, Unsupported


@contextmanager
def opened(kind: DeviceKind, threads: int) -> Iterator[Machine]:
    """Open the device of a profile; raise ``CudaUnavailable`` or ``Unsupported`` with the reason."""
    if kind == "cpu":
        yield Cpu(threads)
        return
    module, info, library = require_cuda(), device_info(), device_library()
    from pyharness.features.profiling.cuda import Cuda, watching

    with watching(info.bus_id) as watch:
        yield Cuda(library, module, info, watch)


def verified(
    task: Task, device: Machine, left_out: Sequence[str] = ()
) -> tuple[dict[str, Callable[[], Any]], dict[str, Missing], Any]:
    """Return the calls with right results, the reasons for the others, and our result.

    Raises:
        Mismatch: our result is wrong.
    """
    ours = task.ours()
    if (difference := task.check(ours)) is not None:
        raise Mismatch(f"nothing was timed: {difference}")
    calls: dict[str, Callable[[], Any]] = {OURS: task.ours}
    missing: dict[str, Missing] = {}
    for peer in task.peers:
        if peer.name in left_out:
            missing[peer.name] = Missing("skipped", "left out: --without")
            continue
        try:
            calls[peer.name] = _verify_peer(peer, ours, device)
        except Unsupported as error:
            missing[peer.name] = Missing("skipped", str(error))
        except Exception as error:  # a peer's library may raise anything
            missing[peer.name] = Missing("failed", reason_of(error))
        device.reclaim()
    return calls, missing, ours


def _verify_peer(peer: Peer, ours: Any, device: Machine) -> Callable[[], Any]:
    free = device.free_bytes()
    if free is not None and peer.extra_bytes > free:
        raise Unsupported(f"needs {human_bytes(peer.extra_bytes)} more, {human_bytes(free)} are free")
    call = peer.build()
    if (difference := peer.differs(call(), ours)) is not None:
        raise Mismatch(f"another result: {difference}")
    return call


LIBRARIES = ("torch", "cupy-cuda13x", "cupy-cuda12x", "polars", "triton", "liger-kernel")
RULES: Mapping[DeviceKind, StoppingRule] = {
    "cpu": StoppingRule(max_seconds=12.0),  # four problems in a minute: a shared processor is rarely quiet
    "cuda": StoppingRule(),
}
MATRIX_SECONDS = 3.0
Say = Callable[[str], None]
Keep = Callable[[ProfileRecord], None]


def default_device() -> DeviceKind:
    """Return CUDA where a device is usable, else the CPU."""
    return "cuda" if cuda_reason() is None else "cpu"


def rule_for(kind: DeviceKind, max_seconds: float | None) -> StoppingRule:
    """Return the rule of a device; ``max_seconds`` replaces its limit for each phase of a problem."""
    if max_seconds is None:
        return RULES[kind]
    if not 0 < max_seconds <= 86_400:
        raise InputError(f"cannot measure for {max_seconds:g} seconds; give --max-seconds above 0, at most 86400")
    return replace(RULES[kind], max_seconds=max_seconds)


def run(plan: ProfilePlan, device: Machine, rule: StoppingRule, say: Say, keep: Keep) -> ProfileRecord:
    """Profile every problem of a plan; a failure costs one problem, not the run.

    Only ``InputError`` ends the run: for text that cannot be read, or memory that does not suffice.

    ``keep`` gets the record after every problem, so an interrupted run keeps its finished problems.
    """
    _check_memory(plan, device)
    moving = _moving(device, plan.profile)
    environment = fingerprint()
    environment["libraries"] |= {name: version_of(name) for name in LIBRARIES}
    record = ProfileRecord(plan.profile.name, environment, _matrix_roofs(plan, device, rule, say), rule)
    if plan.device == "cpu" and (reason := cuda_reason()) is not None:
        record = replace(record, unmeasured=_list_unmeasured(plan), unmeasured_reason=reason)
    for number, problem in enumerate(plan.problems, 1):
        outcome, peers = _profile(plan, problem, device, moving, rule, say)
        record = replace(
            record,
            device=device.describe(),
            outcomes=(*record.outcomes, outcome),
            peers={**record.peers, **peers},
            notes=device.notes,
            finished=number == len(plan.problems),
        )
        keep(record)
    return record


def launch_once(plan: ProfilePlan, device: Machine, say: Say) -> bool:
    """Call our kernel once per problem, for an attached profiler: no timing, no peers, no warm-up.

    Returns whether all calls succeeded.

    Raises:
        InputError: a problem does not fit the memory, or its data cannot be made.
    """
    _check_memory(plan, device)
    succeeded = True
    for problem in plan.problems:
        try:
            task = _prepare(plan.profile, problem, device)
            with device.range("once"):
                task.ours()
            say(f"launched once: {plan.profile.name} {task.problem.label}")
        except InputError:
            raise
        except Exception as error:  # out of device memory, a kernel that does not launch
            succeeded = False
            say(f"failed: {plan.profile.name} {problem.label}: {reason_of(error)}")
    return succeeded


def _check_memory(plan: ProfilePlan, device: Machine) -> None:
    for problem in plan.problems:
        if problem.text is None:  # with text, the size is not known yet
            check_memory(plan.profile, problem, device.free_bytes())


def _moving(device: Machine, profile: Profile) -> dict[str, Moving]:
    """Return the makers of the memory roofs, by name."""
    try:
        reading = device.reading() if profile.only_reads else None
        return {COPY: device.copying()} | ({} if reading is None else {READ: reading})
    except MemoryError as error:  # cupy's error is one, too
        raise InputError(f"no memory on the {device.kind} for the copy that is its roof: {reason_of(error)}") from None


def _prepare(profile: Profile, problem: Problem, device: Machine) -> Task:
    with device.range("data"):
        task = profile.prepare(problem)
    device.reclaim()
    if problem.text is not None:  # its size is only known now
        check_memory(profile, task.problem, device.free_bytes())
    return task


def _profile(
    plan: ProfilePlan,
    problem: Problem,
    device: Machine,
    moving: Mapping[str, Moving],
    rule: StoppingRule,
    say: Say,
) -> tuple[Outcome, dict[str, str]]:
    profile = plan.profile
    name = f"{profile.name} {problem.label}" if problem.shape else profile.name
    say(f"{name}: data")
    try:
        task = _prepare(profile, problem, device)
    except Unsupported as error:
        return Outcome(problem, status="skipped", reason=str(error)), {}
    except InputError:  # the user's text, or its size
        raise
    except Exception as error:
        return _fail(problem, device, error), {}
    say(f"{name}: verifying")
    try:
        with device.range("verify"):
            calls, missing, result = verified(task, device, plan.left_out)
    except Exception as error:  # a wrong result, out of device memory, a kernel that does not launch
        return _fail(task.problem, device, error), {}
    floor = task.floor(result)
    del result
    roofs = {name: of_bytes(floor.bytes) for name, of_bytes in moving.items()}
    calls |= {name: roof for name, (roof, _) in roofs.items()}
    samples = {}
    for phase in device.phases:
        say(f"{name}: {phase}")
        with device.range(phase):
            samples[phase] = interleaved(device, calls, phase, rule, first=(OURS, *roofs))
    reasons = (by_name[OURS].reason for by_name in samples.values())
    reason = next((one for one in reasons if one is not None), None)
    status: Status = "failed" if reason else "ok"
    moved = {name: size for name, (_, size) in roofs.items()}
    outcome = Outcome(task.problem, task.data, floor, moved[COPY], samples, missing, status, reason, moved.get(READ, 0))
    return outcome, {peer.name: peer.about for peer in task.peers}


def _fail(problem: Problem, device: Machine, error: Exception) -> Outcome:
    device.reclaim()
    return Outcome(problem, status="failed", reason=reason_of(error))


def _matrix_roofs(plan: ProfilePlan, device: Machine, rule: StoppingRule, say: Say) -> dict[str, Roof]:
    dtypes = dict.fromkeys(problem.dtype for problem in plan.problems if problem.dtype in ("bf16", "fp16", "fp32"))
    roofs = {}
    short = replace(rule, max_seconds=min(rule.max_seconds, MATRIX_SECONDS))
    for dtype in dtypes:
        say(f"matrix rate: {dtype}")
        try:
            call, flop = device.multiplying(dtype)
            roofs[dtype] = Roof(flop, interleaved(device, {"matrix": call}, "warm", short)["matrix"])
        except Exception as error:
            roofs[dtype] = Roof(0, Samples(reason=reason_of(error)))
        device.reclaim()
    return roofs


def _list_unmeasured(plan: ProfilePlan) -> tuple[Any, ...]:
    problems = [
        Problem(shape, dtype, "cuda", plan.threads)
        for shape in plan.profile.shapes["cuda"]
        for dtype in plan.profile.default_dtypes
    ]
    return tuple((problem, plan.profile.floor(problem)) for problem in problems)
