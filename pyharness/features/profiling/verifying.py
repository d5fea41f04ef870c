"""Nothing is timed before it has given the right result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyharness.features.profiling.measuring import reason_of
from pyharness.features.profiling.plan import human_bytes
from pyharness.features.profiling.record import OURS, Missing
from pyharness.features.profiling.types import Device, Peer, Task
from pyharness.types import Mismatch, Unsupported


def verified(
    task: Task, device: Device, left_out: Sequence[str] = ()
) -> tuple[dict[str, Callable[[], Any]], dict[str, Missing], Any]:
    """Return the calls that gave what they should, the reasons of the others, and our result."""
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
            calls[peer.name] = _verified_peer(peer, ours, device)
        except Unsupported as error:
            missing[peer.name] = Missing("skipped", str(error))
        except Exception as error:  # whatever a peer's library raises
            missing[peer.name] = Missing("failed", reason_of(error))
        device.reclaim()
    return calls, missing, ours


def _verified_peer(peer: Peer, ours: Any, device: Device) -> Callable[[], Any]:
    free = device.free_bytes()
    if free is not None and peer.extra_bytes > free:
        raise Unsupported(f"needs {human_bytes(peer.extra_bytes)} more, {human_bytes(free)} are free")
    call = peer.build()
    if (difference := peer.differs(call(), ours)) is not None:
        raise Mismatch(f"another result: {difference}")
    return call
