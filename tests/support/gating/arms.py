"""Arms of a gate that are real processes, with text and workloads of the test's own."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyharness.features.gate.builds import names
from pyharness.features.gate.builds.arms import Arm, Arms, prepare
from pyharness.features.gate.builds.workshop import BuildOptions
from pyharness.features.gate.drivers.processes import DriverProcess
from pyharness.features.gate.suites import GateSuite
from pyharness.features.gate.types import GateBenchmark, Side


def here(folder: Path, side: Side = "base", **more: Any) -> Arm:
    """An arm of this interpreter."""
    variables = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "0"}
    known = {"python": Path(sys.executable), "variables": variables, "under_test": "pyharness"}
    return Arm(side=side, source="here", version="1", folder=folder, **{**known, **more})


@contextmanager
def prepared(
    base: str, head: str, *, folder: Path, listener: Callable[[str], object] = str, **options: Any
) -> Iterator[Arms]:
    """Both arms of two names; ``options`` are those of builds."""
    with prepare(names.find(base, head, folder), BuildOptions(**options), listener=listener) as made:
        yield made


def suite_of(workloads: Path, *benchmarks: GateBenchmark) -> GateSuite:
    """A suite of these benchmarks, over workloads of one's own."""
    return GateSuite("own", "", benchmarks, {}, workloads, "")


def made(
    folder: Path,
    arm: Arm,
    source: str,
    *,
    text: str = "",
    tool: Sequence[str] = (),
    time_limit: float = 60.0,
    deadline: float = math.inf,
    memory_limit: int | None = None,
) -> DriverProcess:
    """Start an arm whose workloads file has this source; each function in it is a benchmark of its name."""
    workloads, english = folder / "mine.py", folder / "english.txt"
    workloads.write_text(source, encoding="utf-8")
    english.write_text(text, encoding="utf-8")
    names = [line[4:].partition("(")[0] for line in source.splitlines() if line.startswith("def ")]
    suite = suite_of(workloads, *(GateBenchmark(name, name, "mine", bytes=4) for name in names))
    limits: dict[str, Any] = {"time_limit": time_limit, "deadline": deadline, "memory_limit": memory_limit}
    return DriverProcess(arm, suite, {"english": english}, tool=tool, **limits)
