"""Load time and memory, each in a fresh process: ``python -m pyharness.benchmarks.load SPEC`` is that process."""

from __future__ import annotations

import importlib
import json
import resource
import subprocess
import sys
import time
from importlib.metadata import packages_distributions
from pathlib import Path

from pyharness import tokenizers
from pyharness.benchmarks import Benchmark, Findings, Work
from pyharness.timing import in_libraries, median
from pyharness.types import InputError, Measurement

REPETITIONS = 3
TEXT = "The quick brown fox, 東京, naïve café, ünïcödé 12345 \n\t    return x[i] += 1;\n"


def peak_memory() -> int:
    """Largest resident set of this process so far, in bytes."""
    try:
        # ru_maxrss would count what the parent held when it forked; the high-water mark is this image's own.
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def probe(specification: str) -> dict[str, float]:
    """Load a tokenizer in this process and use it once: seconds taken, bytes of memory on top of the interpreter."""
    spec = tokenizers.resolve(specification)
    modules = [module for module, owners in packages_distributions().items() if spec.library in owners]
    before = peak_memory()
    start = time.perf_counter()
    for module in modules:
        importlib.import_module(module)
    imported = time.perf_counter()
    tokenizer = spec.load(spec)
    loaded = time.perf_counter()
    tokenizer.encode_batch([TEXT])
    return {
        "load_seconds": imported - start + in_libraries.seconds,
        "load_with_checks_seconds": loaded - start,  # with ours of the file
        "first_call_seconds": time.perf_counter() - loaded,
        "peak_memory_bytes": peak_memory() - before,
    }


def run(work: Work) -> Findings:
    """Start one process per repetition."""
    command = [sys.executable, "-m", "pyharness.benchmarks.load", work.spec.name]
    probes = []
    for _ in range(REPETITIONS):
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            return Findings(status="failed", reason=f"loading ended with status {done.returncode}: {last}")
        probes.append(json.loads(done.stdout.splitlines()[-1]))
    found = []
    for metric in ("load_seconds", "peak_memory_bytes"):
        samples = tuple(float(one[metric]) for one in probes)
        found.append(Measurement(metric, median(samples), samples=samples))
    return Findings(tuple(found), {"probes": probes})


BENCHMARKS = (
    Benchmark(
        "load",
        "seconds and memory to load a tokenizer in a fresh process",
        run,
        corpus="none",
        metrics=("load_seconds", "peak_memory_bytes"),
        timed=True,
    ),
)

if __name__ == "__main__":
    try:
        print(json.dumps(probe(sys.argv[1])))  # noqa: T201
    except InputError as error:
        sys.exit(str(error))
