"""Load time and memory, both in each of a few fresh processes: ``python -m pyharness.benchmarks.load SPEC``."""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import time
from pathlib import Path

from pyharness import tokenizers
from pyharness.benchmarks import Benchmark, Findings, Pace, Role, Work
from pyharness.plugins import libraries
from pyharness.statistics.samples import median
from pyharness.system import lifeline
from pyharness.system.child_process import ChildDied, said_by
from pyharness.system.process_tree import peak_memory
from pyharness.tokenizers.source import in_libraries
from pyharness.types import Column, InputError, Measurement, Plot, Table

REPETITIONS = 3
TEXT = "The quick brown fox, 東京, naïve café, ünïcödé 12345 \n\t    return x[i] += 1;\n"


class MemoryMeter:
    """Adds up the largest growth of the resident set inside ``with`` blocks, in bytes.

    Garbage from before a block is returned to the system first: a library that reused it would look smaller. Where
    the mark cannot be reset (without Linux or without glibc), the growth of the process's own peak counts.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._before = 0

    def __enter__(self) -> None:
        gc.collect()
        try:
            ctypes.CDLL(None).malloc_trim(0)
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the high-water mark
        except (AttributeError, OSError):
            pass
        self._before = peak_memory()

    def __exit__(self, *_: object) -> None:
        self.bytes += max(0, peak_memory() - self._before)


def probe(specification: str) -> dict[str, float]:
    """Load a tokenizer in this process and use it once.

    Seconds and memory are the library's: importing it, building the tokenizer, the first call. They exclude our own
    checks of the file. ``load_with_checks_seconds`` alone includes these checks, and excludes the import.

    Raises:
        InputError: there is no such tokenizer, or it cannot be loaded.
    """
    spec = tokenizers.resolve(specification)
    in_libraries.beside = meter = MemoryMeter()
    with in_libraries:
        libraries.import_all(spec.library)
    start = time.perf_counter()
    tokenizer = spec.load(spec)
    with_checks = time.perf_counter() - start
    load_seconds = in_libraries.seconds
    with in_libraries:
        tokenizer.encode_batch([TEXT])
    return {
        "load_seconds": load_seconds, "load_with_checks_seconds": with_checks,
        "first_call_seconds": in_libraries.seconds - load_seconds, "peak_memory_bytes": meter.bytes,
    }  # fmt: skip


def run(work: Work) -> Findings:
    """Start one process per repetition."""
    if work.spec.instead is not None:
        work.load()  # raises, if there is nothing to load
    probes = []
    for _ in range(REPETITIONS):
        try:
            *_, last = said_by(["pyharness.benchmarks.load", work.spec.name])
        except ChildDied as death:
            return Findings(status="failed", reason=f"loading {death}")
        probes.append(json.loads(last))
    measurements = []
    for metric in ("load_seconds", "peak_memory_bytes"):
        samples = tuple(float(one[metric]) for one in probes)
        measurements.append(Measurement(metric, median(samples), samples=samples))
    return Findings(tuple(measurements), {"probes": probes})


TABLE = Table(
    "Load, in a fresh process", columns=(Column("load_seconds", "seconds"), Column("peak_memory_bytes", "memory MB"))
)

PLOTS = (
    Plot(
        Table("Seconds to load", columns=(Column("load_seconds", "seconds", interval=True),)),
        "A stroke is a load in a fresh process, a dot their median.",
        axis="time to load",
        log=True,
    ),
    Plot(
        Table("Memory to load", columns=(Column("peak_memory_bytes", "MB", interval=True),)),
        "Memory that the library takes. A stroke is a fresh process, a dot their median.",
        axis="memory",
        log=True,
    ),
)

BENCHMARKS = (
    Benchmark(
        "load",
        "seconds and memory to load a tokenizer in a fresh process",
        run,
        corpus="none",
        place=3,
        metrics=("load_seconds", "peak_memory_bytes"),
        role=Role.TIMES,
        pace=Pace(5.9),
        tables=(TABLE,),
        plots=PLOTS,
        own_process=True,
    ),
)

if __name__ == "__main__":
    lifeline.begin()
    try:
        print(json.dumps(probe(sys.argv[1])))  # noqa: T201
    except InputError as error:
        sys.exit(str(error))
