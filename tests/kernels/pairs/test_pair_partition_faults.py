"""Faults planted in the kernels of the partition are caught by the emulator's own program.

A copy of a header with one line changed comes first on the path of the compiler; everything else is as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(900)  # compiles twenty sources, on a machine that may have other work

ROOT = Path(__file__).parents[3]
KERNELS = ROOT / "csrc" / "kernels"
PROGRAM = ROOT / "tests" / "support" / "emulator_program.cpp"
SCHEDULER = (KERNELS / "emulator/emulator.cpp", KERNELS / "emulator/fiber.cpp", KERNELS / "emulator/device.cpp")
OTHERS = (PROGRAM, KERNELS / "entropy/entropy.cu", KERNELS / "pairs/positions.cu")
COUNTER = KERNELS / "pairs/by_partition.cu"
FLAGS = ("-std=c++20", "-g1", "-O0", "-Wno-unknown-pragmas", "-x", "c++")
RACES = ("-fsanitize=thread",)
SEEDS = (0, 1, 2)
RACE_SEED = 1  # test_emulator.py runs the program without a fault under all seeds


@dataclass(frozen=True, slots=True)
class Fault:
    """One line of a file of csrc/kernels/pairs, and what it becomes."""

    name: str
    file: str
    line: str
    becomes: str


NONE = Fault("none", "codes.hpp", "#pragma once\n", "#pragma once\n")
WRONG = (
    Fault(
        "off-by-one bucket",
        "partition.hpp",
        "&cursors[first_bin + bin], count)",
        "&cursors[first_bin + (bin ^ 1)], count)",
    ),
    Fault("lost tail of a tile", "partition.hpp", "at < bins.total; at +=", "at + 1 < bins.total; at +="),
    Fault(
        "lost tail of a bucket",
        "buckets.hpp",
        "const bool is_pair = at < part.end;",
        "const bool is_pair = at + 1 < part.end;",
    ),
    Fault("lost overflow", "buckets.hpp", "atomicExch(&block.overflows, 1u);", "share.bits;"),
    Fault("crowd of one", "codes.hpp", "return has_me ? static_cast<unsigned>(__popc(lanes)) : 1;", "return 1;"),
    Fault("parts that are not summed", "buckets.hpp", "&totals[part.whole]", "&totals[1]"),
)
RACING = (
    Fault(
        "no barrier before a tile is written",
        "partition.hpp",
        "    __syncthreads();\n    for (unsigned at = threadIdx.x; at < bins.total;",
        "    for (unsigned at = threadIdx.x; at < bins.total;",
    ),
    Fault(
        "no barrier before a table is emptied",
        "buckets.hpp",
        "    __syncthreads();\n    if (block.overflows != 0)",
        "    if (block.overflows != 0)",
    ),
)


class Programs:
    """The emulator's program, with a fault in the counter or without."""

    def __init__(self, folder: Path, compiler: str) -> None:
        self.folder, self.compiler = folder, compiler
        self.jobs = [(NONE, ()), *((fault, ()) for fault in WRONG), *((fault, RACES) for fault in RACING)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = [(source, NONE, flags) for flags in ((), RACES) for source in (*SCHEDULER, *OTHERS)]
            objects = list(pool.map(lambda job: self.compiled(*job), jobs))
            self.shared = {(): objects[: len(objects) // 2], RACES: objects[len(objects) // 2 :]}
            list(pool.map(lambda job: self.link(*job), self.jobs))

    def target(self, fault: Fault, flags: tuple[str, ...], stem: str) -> Path:
        return self.folder / f"{fault.name.replace(' ', '_')}{'_race' if flags else ''}_{stem}"

    def compiled(self, source: Path, fault: Fault, flags: tuple[str, ...]) -> str:
        include = self.target(fault, flags, "include")
        changed = include / "kernels/pairs" / fault.file
        changed.parent.mkdir(parents=True, exist_ok=True)
        text = (KERNELS / "pairs" / fault.file).read_text(encoding="utf-8")
        assert text.count(fault.line) == 1, f"{fault.file} has no such line any more: {fault.line}"
        changed.write_text(text.replace(fault.line, fault.becomes), encoding="utf-8")
        target = self.target(fault, flags, source.stem).with_suffix(".o")
        watched = ("-DPH_RACE_DETECTOR",) if flags and source in SCHEDULER else flags
        command = [self.compiler, *FLAGS, *watched, f"-I{include}", f"-I{ROOT / 'csrc'}", "-c", str(source)]
        subprocess.run([*command, "-o", str(target)], check=True)
        return str(target)

    def link(self, fault: Fault, flags: tuple[str, ...]) -> None:
        counter = self.compiled(COUNTER, fault, flags)
        target = str(self.target(fault, flags, "program"))
        subprocess.run([self.compiler, *flags, *self.shared[flags], counter, "-o", target], check=True)

    def run(self, fault: Fault, flags: tuple[str, ...], seed: int) -> subprocess.CompletedProcess[str]:
        command = [str(self.target(fault, flags, "program")), "pairs", str(seed)]
        return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not on the PATH: the faults are planted in a program of its own")
    return Programs(tmp_path_factory.mktemp("partition"), compiler)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_a_fault_the_counts_are_right(programs: Programs, seed: int) -> None:
    done = programs.run(NONE, (), seed)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", WRONG, ids=lambda fault: fault.name)
def test_a_fault_gives_a_wrong_result_or_none(programs: Programs, fault: Fault, seed: int) -> None:
    """Some write where nothing is, and end there."""
    assert programs.run(fault, (), seed).returncode != 0


@pytest.mark.parametrize("fault", RACING, ids=lambda fault: fault.name)
def test_a_dropped_barrier_is_found_with_its_file(programs: Programs, fault: Fault) -> None:
    """As a race; or, where what is read too early is an index, as an address that does not exist."""
    done = programs.run(fault, RACES, RACE_SEED)
    assert done.returncode != 0
    assert "data race" in done.stderr or "SEGV" in done.stderr
    assert fault.file in done.stderr
