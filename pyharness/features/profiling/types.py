"""The nouns of a profile: problems, what they cost at the least, who does the work, and what it runs on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from pyharness.plugins import registry

Shape: TypeAlias = tuple[int, ...]
DeviceKind: TypeAlias = Literal["cpu", "cuda"]
Phase: TypeAlias = Literal["cold", "warm"]
# From bytes to a call that copies within the device, and the bytes it reads and writes: about as many, and for large
# problems as many as there are. A small copy pays for its launch as a small kernel does.
Copying: TypeAlias = Callable[[int], tuple[Callable[[], Any], int]]

BYTES_OF: Mapping[str, int] = {"bf16": 2, "fp16": 2, "fp32": 4, "uint32": 4}


@dataclass(frozen=True, slots=True)
class Axis:
    """One number of a shape, and what it may be."""

    name: str
    least: int = 1
    most: int = 1 << 62


@dataclass(frozen=True, slots=True)
class TextSource:
    """Real text to encode, as specifications of a corpus and a tokenizer."""

    corpus: str
    tokenizer: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One size of a kernel's work."""

    shape: Shape
    dtype: str
    device: DeviceKind
    threads: int
    text: TextSource | None = None  # where tokens come from; None: generated

    @property
    def label(self) -> str:
        """Shape and dtype, such as ``128x50257 fp32``."""
        return f"{'x'.join(map(str, self.shape))} {self.dtype}"


@dataclass(frozen=True, slots=True)
class Floor:
    """The least a problem can cost: every input read once, every output written once, and the arithmetic in between.

    ``flop`` is counted from the formula, not measured; ``matrix_flop`` is the part of it that a matrix product can do.
    ``tokens`` is what a rate in tokens per second divides.
    """

    bytes: int
    flop: int
    matrix_flop: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Peer:
    """Another way to do the same work. ``build`` imports and compiles what it needs, and returns the call to time.

    ``differs(result, ours)`` says where a result departs from our kernel's, or None. ``extra_bytes`` is its peak
    beyond the input: it is checked before the call, because a CPU has no out-of-memory error to catch.
    """

    name: str
    about: str
    build: Callable[[], Callable[[], Any]]
    extra_bytes: int
    differs: Callable[[Any, Any], str | None]


@dataclass(frozen=True, slots=True)
class Task:
    """A problem with its data in place.

    ``check(result)`` compares an excerpt of what ``ours`` returned with a slow reference, and says where they differ.
    ``floor(result)`` knows what only the result tells, such as the size of a histogram.
    """

    problem: Problem
    data: str  # what the data is, for people
    ours: Callable[[], Any]
    check: Callable[[Any], str | None]
    peers: tuple[Peer, ...]
    floor: Callable[[Any], Floor]


class Machine(Protocol):
    """Where a problem runs: its clock, its memory and the two roofs that can be measured on it."""

    kind: DeviceKind
    phases: tuple[Phase, ...]
    check_seconds: float  # between two questions whether it is throttled

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know about the timings here, and what is not measured."""
        ...

    def seconds(self, call: Callable[[], Any], phase: Phase) -> float:
        """Time one call."""
        ...

    def throttled(self) -> bool:
        """Say whether the device has run below its nominal clock since the last question."""
        ...

    def free_bytes(self) -> int | None:
        """Memory that can be had now, or None where nobody says."""
        ...

    def reclaim(self) -> None:
        """Give back memory that libraries keep for later."""
        ...

    def range(self, name: str) -> AbstractContextManager[object]:
        """Mark a phase for a profiler that is watching; what the phase started has ended with it."""
        ...

    def copying(self) -> Copying:
        """Return what makes the copies that are the memory roof; its buffers are there for all of them."""
        ...

    def multiplying(self, dtype: str) -> tuple[Callable[[], Any], int]:
        """Return a call that multiplies large matrices, and its FLOP; raises ``Unsupported`` with a reason."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return name, driver, runtime and clocks as JSON values."""
        ...


@dataclass(frozen=True, slots=True)
class Profile:
    """How to profile a kernel: data, so that adding one is one module."""

    name: str
    summary: str
    axes: tuple[Axis, ...]  # what the numbers of a shape mean
    dtypes: tuple[str, ...]
    default_dtypes: tuple[str, ...]
    shapes: Mapping[DeviceKind, tuple[Shape, ...]]  # profiled by default
    floor: Callable[[Problem], Floor]
    needs: Callable[[Problem], int]  # bytes for the data and our own call
    prepare: Callable[[Problem], Task]
    peers: tuple[str, ...]  # names of all of them; which ones a problem has, its device and dtype decide
    reads_text: bool = False  # whether tokens of real text can stand in for generated ones


def profiles() -> Mapping[str, Profile]:
    """Every profile by the name of its kernel."""
    by_name: Mapping[str, Profile] = registry.offered("pyharness.profiling", "PROFILES")
    return by_name
