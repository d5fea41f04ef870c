"""Types of a profile: problems, their least cost, contenders, and machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from pyharness.plugins import registry

Shape: TypeAlias = tuple[int, ...]
DeviceKind: TypeAlias = Literal["cpu", "cuda"]
Phase: TypeAlias = Literal["cold", "warm"]
# From bytes to a call that moves them within the device, and the bytes that it moves: about as many as requested, at
# most those of its buffer. A small call includes the cost of its launch, like a small kernel.
Moving: TypeAlias = Callable[[int], tuple[Callable[[], Any], int]]

# Roofs of a known device, for machines without one. Not a measurement of a run.
REFERENCE = "an H200 (copies 4.3 TB/s, multiplies 790 TFLOP/s in bf16: measured elsewhere)"
_COPY_RATE, _MATRIX_RATE = 4.3e12, {"bf16": 790e12}  # bytes read and written, and FLOP, per second

BYTES_OF: Mapping[str, int] = {"bf16": 2, "fp16": 2, "fp32": 4, "uint32": 4}


@dataclass(frozen=True, slots=True)
class Axis:
    """One number of a shape, with its range."""

    name: str
    least: int = 1
    most: int = 1 << 62


@dataclass(frozen=True, slots=True)
class TextSource:
    """Real text to encode: specifications of a corpus and a tokenizer."""

    corpus: str
    tokenizer: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One size of a kernel's work."""

    shape: Shape
    dtype: str
    device: DeviceKind
    threads: int
    text: TextSource | None = None  # source of tokens; None: generated
    variant: str = ""  # of the input or of the contenders; a profile names its own

    @property
    def label(self) -> str:
        """Shape, dtype and variant, such as ``128x50257 fp32``."""
        return f"{'x'.join(map(str, self.shape))} {self.dtype}{self.variant and f', {self.variant}'}"


@dataclass(frozen=True, slots=True)
class Floor:
    """The least cost of a problem: every input read once, every output written once, and the arithmetic.

    ``flop`` follows from the formula and is not measured; ``matrix_flop`` is its part that a matrix product can do.
    ``tokens`` is the numerator of rates in tokens per second.
    """

    bytes: int
    flop: int
    matrix_flop: int
    tokens: int

    def reference_seconds(self, dtype: str) -> float | None:
        """Return the time at the limiting roof of ``REFERENCE``; None where the product's rate is unknown."""
        copying = self.bytes / _COPY_RATE
        if self.matrix_flop == 0:
            return copying
        return max(copying, self.matrix_flop / _MATRIX_RATE[dtype]) if dtype in _MATRIX_RATE else None


@dataclass(frozen=True, slots=True)
class Peer:
    """Another implementation of the same or of similar work.

    ``build`` imports and compiles it, and returns the call to time. ``differs(result, ours)`` says where a result
    differs from our kernel's, or None. ``extra_bytes`` is its peak memory beyond the input. It is checked before the
    call, because a CPU has no out-of-memory error to catch.
    """

    name: str
    about: str
    build: Callable[[], Callable[[], Any]]
    extra_bytes: int
    differs: Callable[[Any, Any], str | None]


@dataclass(frozen=True, slots=True)
class Task:
    """A problem with its data in place.

    ``check(result)`` compares an excerpt of our result with a slow reference, and says where they differ.
    ``floor(result)`` uses facts that only the result has, such as the size of a histogram.
    """

    problem: Problem
    data: str  # description of the data
    ours: Callable[[], Any]
    check: Callable[[Any], str | None]
    peers: tuple[Peer, ...]
    floor: Callable[[Any], Floor]


class CallTime(NamedTuple):
    """Time of one call."""

    seconds: float  # of the device
    host_seconds: float | None = None  # until the call returned in Python; None where the clock is the host's


class Machine(Protocol):
    """Machine of a problem: its clock, its memory and its measurable roofs."""

    kind: DeviceKind
    phases: tuple[Phase, ...]
    check_seconds: float  # between two checks for throttling

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes for the reader on the timings here, and on missing measurements."""

    def time(self, call: Callable[[], Any], phase: Phase) -> CallTime:
        """Time one call."""

    def throttled(self) -> bool:
        """Whether the clock of the device was low since the last call; False where that is unknown."""

    def free_bytes(self) -> int | None:
        """Return the memory available now, or None where it is unknown."""

    def reclaim(self) -> None:
        """Free memory that libraries keep for later."""

    def range(self, name: str) -> AbstractContextManager[object]:
        """Mark a phase for an attached profiler; work that the phase starts ends within it."""

    def copying(self) -> Moving:
        """Return the maker of the copies for the memory roof; its buffers serve all of them."""

    def reading(self) -> Moving | None:
        """Return the maker of the reads for the roof of kernels that only read, or None without such a roof."""

    def multiplying(self, dtype: str) -> tuple[Callable[[], Any], int]:
        """Return a call that multiplies large matrices, and its FLOP; raise ``Unsupported`` with a reason."""

    def describe(self) -> dict[str, Any]:
        """Return name, driver, runtime and clocks as JSON values."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How to profile a kernel: data, so that adding one is one module."""

    name: str
    summary: str
    axes: tuple[Axis, ...]  # meaning of the numbers of a shape
    dtypes: tuple[str, ...]
    default_dtypes: tuple[str, ...]
    shapes: Mapping[DeviceKind, tuple[Shape, ...]]  # profiled by default
    floor: Callable[[Problem], Floor]
    needs: Callable[[Problem], int]  # bytes for the data and our own call
    prepare: Callable[[Problem], Task]
    peers: tuple[str, ...]  # all names; a problem's device and dtype decide which apply
    reads_text: bool = False  # whether tokens of real text can replace generated ones
    only_reads: bool = False  # it writes next to nothing: its roof is a read, not a copy
    variants: tuple[str, ...] = ()  # of a problem, profiled on request


def profiles() -> Mapping[str, Profile]:
    """Return every profile by the name of its kernel."""
    by_name: Mapping[str, Profile] = registry.offered("pyharness.profiling", "PROFILES")
    return by_name
