"""The processor: wall clock, available memory, a copy by several threads, a product by the installed BLAS."""

from __future__ import annotations

import operator
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from pyharness.features.profiling.arrays import copied_bytes, normal, torch_for
from pyharness.features.profiling.types import CallTime, DeviceKind, Moving, Phase
from pyharness.system.environment import available_memory_bytes, cores, cpu_model
from pyharness.types import Unsupported

COPY_BYTES = 1 << 28  # beyond second-level caches; a last-level cache may be shared and of unknown size
MATRIX_SIZES = (256, 512, 1024, 2048)
LONG_SECONDS = 0.1


class Cpu:
    """Threads of this process. Copies, and products of torch, use as many as our kernels."""

    kind: DeviceKind = "cpu"
    phases: tuple[Phase, ...] = ("warm",)
    check_seconds = 0.0
    notes = (
        "cold is left out on a CPU: its last-level cache cannot be emptied, only overrun by large inputs.",
        "inputs that fit into that cache can pass 100 % of the copy rate.",
        "clocks of a CPU are not watched: no sample is dropped for a low one.",
    )

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._lasted: WeakKeyDictionary[Callable[[], Any], float] = WeakKeyDictionary()  # a call holds its data
        # Polars takes this number, and idle threads of OpenMP do not spin on the next contender's core. Libraries read
        # the variables when they are loaded, so this precedes that. The user's own settings stay.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        os.environ.setdefault("KMP_BLOCKTIME", "0")
        os.environ.setdefault("POLARS_MAX_THREADS", str(threads))

    def time(self, call: Callable[[], Any], phase: Phase) -> CallTime:
        """Return the wall time of one call; its result is freed after the clock stops.

        An untimed call goes first, because the round's other contenders have replaced the caches. A call that was long
        in an earlier timing needs none: it goes through all caches itself.
        """
        if self._lasted.get(call, 0.0) < LONG_SECONDS:
            call()
        start = time.perf_counter()
        result = call()
        taken = time.perf_counter() - start
        del result
        self._lasted[call] = taken
        return CallTime(taken)

    def throttled(self) -> bool:
        """Return False: it is never known."""
        return False

    def free_bytes(self) -> int | None:
        """Return the memory that is available without swapping."""
        return available_memory_bytes()

    def reclaim(self) -> None:
        """Do nothing: no memory is kept."""

    def range(self, name: str) -> AbstractContextManager[object]:
        """Return an empty context: no profiler listens."""
        return nullcontext()

    def copying(self) -> Moving:
        """Copy up to 256 MiB, each thread its own part; numpy releases the GIL during the copy."""
        source, target = np.ones(COPY_BYTES, np.uint8), np.zeros(COPY_BYTES, np.uint8)
        pool = ThreadPoolExecutor(self.threads)

        def of_bytes(wanted: int) -> tuple[Callable[[], Any], int]:
            size = copied_bytes(wanted, COPY_BYTES)
            halves = (np.array_split(array[:size], self.threads) for array in (target, source))
            parts = list(zip(*halves, strict=True))

            def copy() -> None:
                for _ in pool.map(lambda part: np.copyto(*part), parts):
                    pass

            return copy, 2 * size

        return of_bytes

    def reading(self) -> None:
        """Return None: our kernels are held against a copy here."""

    def multiplying(self, dtype: str) -> tuple[Callable[[], Any], int]:
        """Multiply two square matrices by torch, or else numpy (whose BLAS chooses its threads).

        Their size doubles until a product takes 0.1 s: without instructions for bf16, one of 2,048 rows takes minutes.
        """
        if (torch := torch_for("cpu")) is not None:
            torch.set_num_threads(self.threads)
        elif dtype == "fp16":
            raise Unsupported("numpy multiplies fp16 element by element, which is no roof; install torch")
        for size in MATRIX_SIZES:
            matrix = normal("cpu", dtype, (size, size), 1.0)
            call = partial(operator.matmul, matrix, matrix)
            if min(self.time(call, "warm").seconds for _ in range(2)) > LONG_SECONDS:  # one may be disturbed
                break
        return call, 2 * size**3

    def describe(self) -> dict[str, Any]:
        """Return name, cores, threads and free memory; the fingerprint of the machine has the rest."""
        return {"name": cpu_model(), "cores": cores(), "threads": self.threads, "free_bytes": self.free_bytes()}
