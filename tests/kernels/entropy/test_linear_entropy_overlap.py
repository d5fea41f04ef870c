"""A chunk is read on a second stream while the first computes the next: in every order that the waits allow.

The streams are stand-ins: what they are given is done later, by turns that a seed draws, as a device may do it.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from layout.thoroughness import examples
from pyharness import _core
from pyharness.kernels import arrays, linear_entropy, place
from pyharness.kernels.entropy import OUTPUTS, EntropyOutputs

FIRST, SECOND = 0, 7
OVERLAP = sys.modules["pyharness.kernels.linear_entropy"]  # the package's own name is the function's


@dataclass
class Streams:
    """Queues of work; an event is the number of steps of a stream before it."""

    current: int = FIRST
    queues: defaultdict[int, deque[Any]] = field(default_factory=lambda: defaultdict(deque))
    done: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    given: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    waits: int = 0
    without: int | None = None  # the wait that is left out

    def enqueue(self, stream: int, work: Callable[[], Any]) -> None:
        self.queues[stream].append(work)
        self.given[stream] += 1

    def event(self, stream: int) -> tuple[int, int]:
        return stream, self.given[stream]

    def wait(self, stream: int, event: tuple[int, int]) -> None:
        self.waits += 1
        if self.waits - 1 != self.without:
            self.queues[stream].append(event)

    def run(self, seed: int) -> None:
        generator = random.Random(seed)
        while any(self.queues.values()):
            ready = [stream for stream, queue in self.queues.items() if queue and self.may_start(queue[0])]
            stream = generator.choice(ready)
            step = self.queues[stream].popleft()
            if callable(step):
                step()
                self.done[stream] += 1

    def may_start(self, step: Any) -> bool:
        return callable(step) or self.done[step[0]] >= step[1]


class Overlapping(arrays.Library):
    """NumPy, whose products are done in the order of the current stream."""

    def __init__(self, streams: Streams) -> None:
        self.streams = streams

    def linear(self, hidden: Any, weight: Any, bias: Any, out: Any) -> None:
        real = super().linear
        self.streams.enqueue(self.streams.current, lambda: real(hidden, weight, bias, out))

    @contextmanager
    def on_stream(self, device: arrays.Device, handle: int) -> Iterator[None]:
        before, self.streams.current = self.streams.current, handle
        if handle != before:
            self.streams.wait(handle, self.streams.event(before))
        yield
        self.streams.current = before

    def side_stream(self, device: arrays.Device) -> tuple[None, int]:
        return None, SECOND


def kernels(streams: Streams) -> Any:
    """The core's functions, done in the order of the stream that they are given."""

    def later(name: str) -> Callable[..., None]:
        def call(*given: Any, stream: int | None, allocate: Any, **options: Any) -> None:
            native = getattr(_core, name)
            streams.enqueue(FIRST if stream is None else stream, lambda: native(*given, threads=1, **options))

        return call

    names = ("entropy_states", "entropy_merge", "entropy_finish")
    return SimpleNamespace(
        **{name: later(name) for name in names},
        is_capturing=lambda stream: False,
        entropy_workspace=lambda rows, columns: 0,
        check_targets=lambda targets, vocab_size, **_: None,
    )


@dataclass
class Overlapped:
    """Calls on stand-in streams."""

    patch: pytest.MonkeyPatch
    hidden: Any
    weight: Any
    targets: Any
    max_bytes: int = 9_000

    def results(self, seed: int, without: int | None = None, overlaps: bool = True) -> tuple[EntropyOutputs, int]:
        """What the first stream has after the call, and how many waits there were."""
        streams = Streams(without=without)
        with self.patch.context() as patch:
            patch.setattr(place, "library_of", lambda *_: Overlapping(streams))
            patch.setitem(place.MODULES, "cpu", lambda: kernels(streams))
            patch.setattr(place, "stream_handle", lambda *_: FIRST if overlaps else None)
            found = linear_entropy(
                self.hidden, self.weight, targets=self.targets, outputs=OUTPUTS, max_bytes=self.max_bytes
            )
        seen: dict[str, Any] = {}
        streams.enqueue(FIRST, lambda: seen.update({name: getattr(found, name).copy() for name in OUTPUTS}))
        streams.run(seed)
        return EntropyOutputs(**seen), streams.waits


@pytest.fixture
def overlapped(monkeypatch: pytest.MonkeyPatch) -> Overlapped:
    """Several chunks of rows and of columns."""
    generator = np.random.default_rng(0)
    hidden, weight = (generator.normal(size=shape).astype(np.float32) for shape in ((30, 8), (200, 8)))
    return Overlapped(monkeypatch, hidden, weight, generator.integers(0, 200, 30))


def bits_of(results: EntropyOutputs) -> bytes:
    return b"".join(getattr(results, name).tobytes() for name in OUTPUTS)


def test_results_are_those_of_one_stream(overlapped: Overlapped) -> None:
    """To the last bit, where chunks are the same."""
    one, waits = Overlapped(
        overlapped.patch, overlapped.hidden, overlapped.weight, overlapped.targets, max_bytes=5_600
    ).results(0, overlaps=False)
    assert waits == 0
    for seed in range(examples(40)):
        two, waits = overlapped.results(seed)
        assert waits > 20
        assert bits_of(two) == bits_of(one)


def test_every_kind_of_wait_is_needed(overlapped: Overlapped) -> None:
    """Without one, some order of the streams gives another result."""
    right, waits = overlapped.results(0)
    needless = [
        without
        for without in range(waits)
        if all(bits_of(overlapped.results(seed, without)[0]) == bits_of(right) for seed in range(60))
    ]
    # The second buffer is free at first, and at the end the second stream only stands between two waits of the first.
    assert needless == [1, waits - 2]


def test_one_chunk_needs_no_second_stream(overlapped: Overlapped) -> None:
    overlapped.max_bytes = 1 << 20
    assert overlapped.results(0)[1] == 0


def test_a_second_buffer_is_paid_for() -> None:
    """Within the same bound of memory, chunks are half as large."""
    here = place.Place(kernels(Streams()), arrays.Library(), arrays.Device(False, 0), None, 1)
    for overlaps, buffers in ((False, 1), (True, 2)):
        memory = OVERLAP.ChunkMemory(here, "float32", 8, overlaps=overlaps)
        chunks = OVERLAP.Chunks.within(300, 4096, 1 << 20, memory)
        assert memory.buffers(chunks) == buffers
        assert buffers * 4 * chunks.row_step * chunks.column_step < memory.of(chunks) <= 1 << 20
        whole = OVERLAP.Chunks(300, 4096, 300, 4096)
        assert memory.buffers(whole) == 1
