"""The emulator catches planted faults, and lets correct kernels pass whatever the order of threads.

It is compiled here twice, under AddressSanitizer and under ThreadSanitizer, which cannot be loaded into Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests" / "support" / "emulator_program.cpp"
KERNELS = ROOT / "csrc" / "kernels"
SEEDS = (0, 1, 2, 3)
RIGHT, WRONG, REFUSED = 0, 1, 3
FLAGS = (
    "-std=c++20",
    "-g1",
    "-O1",
    "-fno-omit-frame-pointer",
    "-Wno-unknown-pragmas",
    f"-I{ROOT / 'csrc'}",
    "-x",
    "c++",
)

# The scheduler itself must not be watched for races: it belongs to no CUDA thread.
SCHEDULER = tuple(KERNELS / "emulator" / f"{name}.cpp" for name in ("emulator", "fiber", "device", "graph"))
FAULTED = {  # by folder; a folder's first name is the case
    "entropy": KERNELS / "entropy/entropy.cu",
    "pairs/partition": KERNELS / "pairs/partition/by_partition.cu",
}
WATCHED = (PROGRAM, *FAULTED.values(), KERNELS / "pairs/positions.cu")
BUILDS = {
    "address": (("-fsanitize=address",), ("-fsanitize=address",)),
    "race": (("-DPH_RACE_DETECTOR",), ("-fsanitize=thread",)),
    "portable": (("-DPH_PORTABLE_FIBERS",), ()),
}
Run = Callable[[str, str, int], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One line of a kernel changed, in what build that shows and how."""

    header: str  # of a folder of FAULTED, whose name is the case's too
    right: str
    wrong: str
    build: str = "portable"
    shown: str = ""  # a pattern of the errors; "": a wrong result, or none

    @property
    def room(self) -> str:
        """The kernel's folder."""
        return self.header.rpartition("/")[0]

    @property
    def case(self) -> str:
        """The program's case that shows it."""
        return self.header.partition("/")[0]


# What is read too early where a barrier is missing may be an index, and its address one that does not exist.
RACE = "data race|SEGV"
FAULTS = {
    "dropped_fence": Fault(
        "entropy/joining.hpp", "    ph_fence();  // the part is there", "    // the part is there", "race",
        "data race",
    ),
    "dropped_second_fence": Fault(
        "entropy/joining.hpp", "    if (last) ph_fence();", "", "race", "data race",
    ),
    "joined_too_early": Fault(
        "entropy/joining.hpp", "splits.launch + static_cast<unsigned>(splits.count);",
        "splits.launch + static_cast<unsigned>(splits.count) - 1;",
    ),
    "no_barrier_before_parts_are_read": Fault(
        "entropy/joining.hpp", "  ph_cluster_barrier();  // all parts are there", "  // all parts are there", "race",
        "data race",
    ),
    "blocks_that_leave_before_they_are_read": Fault(
        "entropy/joining.hpp", "  ph_cluster_barrier();  // no block leaves", "  // no block leaves",
        shown="after it has left",
    ),
    "parts_of_another_rank": Fault(
        "entropy/joining.hpp", "*ph_shared_of(part, rank)", "*ph_shared_of(part, rank / 2)",
    ),
    "parts_of_a_rank_that_is_not": Fault(
        "entropy/joining.hpp", "*ph_shared_of(part, rank)", "*ph_shared_of(part, rank + 1)",
        shown="which its cluster does not have",
    ),
    "lost_turn": Fault("entropy/row.hpp", "if (turns <= kLoadsInFlight) return 0;", "if (turns <= 5) return 0;"),
    "lost_last_word": Fault("entropy/row.hpp", "last < end ? __ldcs", "last + 1 < end ? __ldcs"),
    "neighbours_before_a_row": Fault("entropy/words.hpp", "if (word == 0 && words.head() != 0)", "if (false)"),
    "neighbours_after_a_row": Fault(
        "entropy/words.hpp", "if (word == words.count - 1 && words.tail()", "if (false && words.tail()",
    ),
    "a_neighbour_after_a_row": Fault(
        "entropy/words.hpp", "masked = ph_ones_from(first - from);", "masked = ph_ones_from(first + 32 - from);",
    ),
    "another_row_s_place": Fault("entropy/entropy.cu", "states[done] = state;", "states[done ^ 1] = state;"),
    "lost_row": Fault("entropy/entropy.cu", "left > 0; left -= groups", "left > groups; left -= groups"),
    "lost_row_at_the_end_of_memory": Fault("entropy/entropy.cu", "if (thread < kWarp && end != rows)", "if (false)"),
    "long_row_read_past_the_memory": Fault(
        "entropy/row.hpp", "whole_words<Logit>(words_of(row, columns), memory)", "words_of(row, columns)", "address",
        "heap-buffer-overflow|use-after-poison",
    ),
    "short_row_read_before_the_memory": Fault(
        "entropy/entropy.cu", "if (!lies_within(words_at(0), call.memory)) begin = 1;", "", "address",
        "use-after-poison",
    ),
    "short_row_read_past_the_memory": Fault(
        "entropy/entropy.cu", "call.memory)) end = rows - 1;", "call.memory)) end = rows;", "address",
        "heap-buffer-overflow",
    ),
    "off_by_one_bucket": Fault(
        "pairs/partition/passes.hpp", "atomicAdd(&plan.ends[first_bucket + bin], count)",
        "atomicAdd(&plan.ends[first_bucket + (bin ^ 1)], count)",
    ),
    "lost_tail_of_a_bin": Fault(
        "pairs/partition/tile.hpp", "at < range.size; at += 32", "at + 1 < range.size; at += 32",
    ),
    "lost_tail_of_a_page": Fault(
        "pairs/partition/passes.hpp", "begin + (pages.bin_and_size[page] & 0xffffu)}",
        "begin + (pages.bin_and_size[page] & 0xffffu) - 1}",
    ),
    "last_page_that_seems_full": Fault("pairs/partition/passes.hpp", "  current.finish(pages);", "  ;"),
    "next_page_at_the_wrong_place": Fault(
        "pairs/partition/passes.hpp", "(page << pages.bits) - room;", "(page << pages.bits) - room + 1;",
    ),
    "pages_of_a_bin_in_another": Fault(
        "pairs/partition/passes.hpp", "atomicAdd(&plan.page_ends[bin], 1u)", "atomicAdd(&plan.page_ends[bin ^ 1], 1u)",
    ),
    "a_part_too_few": Fault(
        "pairs/partition/passes.hpp", "(plan.sizes[bucket] - 1) / plan.part_positions + 1;",
        "(plan.sizes[bucket] - 1) / plan.part_positions;",
    ),
    "a_hot_pair_counted_as_the_other_of_its_set": Fault(
        "pairs/partition/hot.hpp", "counts_.add(set, tags.tag[1] == tag);", "counts_.add(set, false);",
    ),
    "a_hot_pair_that_is_no_pair": Fault(
        "pairs/partition/hot.hpp", "PairCode<std::uint32_t>{first + above,", "PairCode<std::uint32_t>{first,",
    ),
    "hot_pairs_that_are_scattered_too": Fault("pairs/partition/hot.hpp", "    return true;", "    return false;"),
    "a_tag_without_its_hash": Fault(
        "pairs/partition/hot.hpp", "(code.hash & ((1u << kLowBits) - 1)) << kBaseBits<std::uint32_t> | code.base",
        "code.base",
    ),
    "lost_tail_of_a_bucket": Fault(
        "pairs/partition/buckets.hpp", "const bool is_pair = at < part.end;", "const bool is_pair = at + 1 < part.end;",
    ),
    "lost_overflow": Fault("pairs/partition/buckets.hpp", "atomicExch(&block.overflows, 1u);", "share.bits;"),
    "parts_that_are_not_summed": Fault("pairs/partition/buckets.hpp", "&to.taken[part.whole]", "&to.taken[1]"),
    "a_row_too_few": Fault(
        "pairs/partition/buckets.hpp", "rows += table.taken(at);", "rows += at != 0 && table.taken(at);",
    ),
    "no_barrier_before_a_tile_is_written": Fault(
        "pairs/partition/tile.hpp", "  __syncthreads();\n  // A warp writes a bin.", "  // A warp writes a bin.",
        "race", RACE,
    ),
    "no_barrier_before_a_tile_is_sorted": Fault(
        "pairs/partition/tile.hpp", "  __syncthreads();\n#pragma unroll\n  for (int k = 0;",
        "#pragma unroll\n  for (int k = 0;", "race", RACE,
    ),
    "no_barrier_before_sums_are_written_again": Fault(
        "pairs/partition/passes.hpp", "  __syncthreads();  // before sums are written again\n", "", "race", RACE,
    ),
    "no_barrier_before_a_table_is_emptied": Fault(
        "pairs/partition/buckets.hpp", "      __syncthreads();\n      if (block.overflows != 0)",
        "      if (block.overflows != 0)", "race", RACE,
    ),
    "no_barrier_before_rows_are_put": Fault(
        "pairs/partition/buckets.hpp", "  __syncthreads();\n  for (unsigned first = 0;",
        "  for (unsigned first = 0;", "race", RACE,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Compiler:
    """Programs of the emulator, compiled in a folder."""

    program: str
    folder: Path

    def compile(self, name: str, build: str, source: Path, flags: Sequence[str], first: Path | None = None) -> Path:
        """An object file; headers are looked for in ``first`` before the sources."""
        target = self.folder / f"{build}_{name}.o"
        ahead = [] if first is None else [f"-I{first}"]
        subprocess.run([self.program, *ahead, *FLAGS, *flags, "-c", str(source), "-o", str(target)], check=True)
        return target

    def link(self, build: str, objects: Sequence[Path], name: str) -> None:
        flags = BUILDS[build][1]
        subprocess.run([self.program, *flags, *map(str, objects), "-o", str(self.folder / name)], check=True)

    def run(self, name: str, case: str, seed: int) -> subprocess.CompletedProcess[str]:
        command = [str(self.folder / name), case, str(seed)]
        return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    """Compile the programs, one per build."""
    program = shutil.which("g++")
    if program is None:
        pytest.skip("g++ is not on the PATH: the emulator's faults are planted in a program of its own")
    made = Compiler(program, tmp_path_factory.mktemp("emulator"))
    jobs = [
        (source.stem, build, source, flags)
        for build, both in BUILDS.items()
        for sources, flags in zip((SCHEDULER, WATCHED), both, strict=True)
        for source in sources
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda job: made.compile(*job), jobs))
    for build in BUILDS:
        made.link(build, [path for path, job in zip(objects, jobs, strict=True) if job[1] == build], build)
    return made


@pytest.fixture(scope="session")
def run(compiler: Compiler) -> Run:
    """``run(build, case, seed)``."""
    return compiler.run


@pytest.fixture(scope="session", params=FAULTS)
def faulty(request: pytest.FixtureRequest, compiler: Compiler) -> tuple[Fault, str]:
    """The program with a fault in a kernel; returns the fault and the program's name."""
    fault = FAULTS[request.param]
    name, sources = str(request.param), compiler.folder / f"{request.param}_sources"
    folder, source = sources / "kernels" / fault.room, FAULTED[fault.room]
    shutil.copytree(source.parent, folder)
    changed = sources / "kernels" / fault.header
    text = changed.read_text(encoding="utf-8")
    assert text.count(fault.right) == 1, f"{fault.header} has no such line any more: {fault.right}"
    changed.write_text(text.replace(fault.right, fault.wrong), encoding="utf-8")
    flags = (*BUILDS[fault.build][1], "-O0")  # compiled sooner
    kernel = compiler.compile(name, fault.build, folder / source.name, flags, first=sources)
    others = [path.stem for path in (*SCHEDULER, *WATCHED) if path != source]
    compiler.link(fault.build, [kernel, *(compiler.folder / f"{fault.build}_{stem}.o" for stem in others)], name)
    return fault, name


def place(marker: str) -> str:
    """Return ``emulator_program.cpp:LINE`` of the line that ends in a marker."""
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    found = [number for number, line in enumerate(lines, 1) if line.endswith(f"// marker: {marker}")]
    assert len(found) == 1
    return f"{PROGRAM.name}:{found[0]}"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", ["correct", "cluster", "entropy", "pairs"])
@pytest.mark.parametrize("build", BUILDS)
def test_correct_kernels_pass(run: Run, build: str, case: str, seed: int) -> None:
    done = run(build, case, seed)
    assert (done.returncode, done.stderr) == (RIGHT, "")


def test_a_fault_in_a_kernel_is_caught(compiler: Compiler, faulty: tuple[Fault, str]) -> None:
    """By one of the orders at least: in the order of blocks, seed 0, each ends before the next starts."""
    fault, name = faulty
    runs = [compiler.run(name, fault.case, seed) for seed in SEEDS]
    if fault.shown:
        assert any(re.search(fault.shown, done.stderr) and Path(fault.header).name in done.stderr for done in runs)
    else:
        assert all(done.returncode != RIGHT for done in runs[1:]), "orders that no device promises"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_removed_barrier_gives_a_wrong_result(run: Run, seed: int) -> None:
    assert run("address", "removed_barrier", seed).returncode == WRONG


@pytest.mark.parametrize("seed", SEEDS)
def test_a_removed_barrier_is_a_race_with_both_lines(run: Run, seed: int) -> None:
    report = run("race", "removed_barrier", seed).stderr
    assert "data race" in report
    assert place("shared read") in report
    assert place("shared write") in report


@pytest.mark.parametrize("seed", SEEDS)
def test_a_lost_update_is_a_race_with_its_line(run: Run, seed: int) -> None:
    done = run("race", "lost_update", seed)
    # In order, one block ends before the next starts.
    if seed == 0:
        assert done.returncode == RIGHT
    else:
        assert "data race" in done.stderr
        assert place("lost update") in done.stderr


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("case", "marker"), [("past_the_input", "past the input"), ("past_shared_memory", "shared read")]
)
def test_reading_past_an_array_is_reported_with_its_line(run: Run, case: str, marker: str, seed: int) -> None:
    report = run("address", case, seed).stderr
    assert "heap-buffer-overflow" in report
    assert place(marker) in report


@pytest.mark.parametrize("seed", SEEDS)
def test_a_divergent_barrier_names_both_places(run: Run, seed: int) -> None:
    done = run("address", "divergent_barrier", seed)
    assert done.returncode == REFUSED
    assert "different barriers" in done.stderr
    assert f"1 thread at __syncthreads ({place('other barrier')})" in done.stderr
    assert f"95 threads at __syncthreads ({place('barrier')})" in done.stderr


@pytest.mark.parametrize("seed", SEEDS)
def test_a_barrier_that_some_threads_never_reach_is_named(run: Run, seed: int) -> None:
    done = run("address", "exited_thread", seed)
    assert done.returncode == REFUSED
    assert f"64 threads at __syncthreads ({place('barrier')}), 32 threads exited" in done.stderr


def test_a_removed_barrier_of_a_cluster_is_a_race_with_both_lines(run: Run) -> None:
    """In some orders a block has not begun when it is read, which no device allows either."""
    reports = [run("race", "removed_cluster_barrier", seed).stderr for seed in range(8)]
    races = [report for report in reports if f"({place('part read')}) before it has begun" not in report]
    assert 0 < len(races) < len(reports)
    for report in races:
        assert "data race" in report
        assert place("part read") in report
        assert place("part written") in report


@pytest.mark.parametrize("seed", SEEDS)
def test_a_divergent_barrier_of_a_cluster_names_the_places(run: Run, seed: int) -> None:
    done = run("address", "divergent_cluster_barrier", seed)
    assert done.returncode == REFUSED
    assert "different barriers of the cluster" in done.stderr


@pytest.mark.parametrize("seed", SEEDS)
def test_barriers_of_a_block_and_of_its_cluster_are_not_the_same(run: Run, seed: int) -> None:
    done = run("address", "mixed_barriers", seed)
    assert done.returncode == REFUSED
    assert "no thread can go on" in done.stderr
    assert "at the cluster's barrier (" in done.stderr


def test_a_block_that_has_left_its_cluster_cannot_be_read(run: Run) -> None:
    """Some orders let it be read before; where it is not, that is an error, whatever the result."""
    runs = [run("address", "block_that_leaves_early", seed) for seed in range(8)]
    assert all(done.returncode == RIGHT or f"({place('part read')}) after it has left" in done.stderr for done in runs)
    assert any(done.returncode == REFUSED for done in runs)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("wrong_rank", "reads rank 5 "),
        ("half_a_cluster", "no device takes"),
        ("missing_lane", "lane 31 "),
        ("foreign_lane", "not in the mask"),
        ("too_many_threads", "no device takes"),
    ],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_misuse_is_refused(run: Run, case: str, message: str, seed: int) -> None:
    done = run("address", case, seed)
    assert done.returncode == REFUSED
    assert message in done.stderr


def test_a_stack_that_is_too_small_is_an_error(run: Run) -> None:
    done = run("portable", "deep_stack", 0)
    assert done.returncode == REFUSED
    assert "more stack" in done.stderr
