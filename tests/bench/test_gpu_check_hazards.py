"""The check's sanitizers: which options there are on a machine, and which races are meant."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from device import checking, hazards
from device.check_sass.listing import disassembler
from device.hazards import Lines, body_of, meant_lines
from device.running import Outcome
from device.stages import Part

from backends import module

ROOT = Path(__file__).parents[2]
(BUCKETS,) = (ROOT / "csrc" / "kernels" / "pairs").rglob("buckets.hpp")


def lines_of(file: Path, function: str) -> Lines:
    found = body_of(file, function)
    assert found is not None
    return found


LOOK = lines_of(ROOT / "csrc" / "kernels" / "exec.hpp", "ph_relaxed_load_shared").last - 1
ADD = lines_of(BUCKETS, "BucketTable::add").first + 4
CLEAR = lines_of(BUCKETS, "BucketTable::clear").first + 2

# As compute-sanitizer prints accesses of code with line numbers: the innermost function that was inlined, and its line.
READ = f"Read access at T1 ph_relaxed_load_shared<unsigned int>(const T1 *)+0x7a0 in exec.hpp:{LOOK}"
SWAP = "Write access at atomicCAS(unsigned int *, unsigned int, unsigned int)+0x8b0 in device_atomic_functions.hpp:207"
ADDS = f"Write access at pyharness::kernels::BucketTable<unsigned int>::add(T1)+0x8b0 in /a/csrc/buckets.hpp:{ADD}"
PLAIN = f"Write access at pyharness::kernels::BucketTable<unsigned int>::clear()+0x120 in buckets.hpp:{CLEAR}"
OTHER = "Write access at void pyharness::kernels::entropy_rows<float>(int)+0x230 in entropy.cu:13"
NO_LINE = "Write access at void pyharness::kernels::count_parts<unsigned int>(int)+0x230"


def report(*races: tuple[str, ...], level: str = "Error") -> str:
    lines = []
    for first, *more in races:
        lines += [f"========= {level}: Race reported between {first}"]
        lines += [*(f"=========     and {access} [28 hazards]" for access in more), "========="]
    return "\n".join(("========= COMPUTE-SANITIZER", *lines, f"========= RACECHECK SUMMARY: {len(races)} hazards"))


@pytest.mark.parametrize(
    ("races", "others"),
    [
        ([(READ, SWAP)], 0),
        ([(READ, SWAP, ADDS), (ADDS, SWAP)], 0),
        ([(READ, PLAIN)], 1),  # of the same kernel
        ([(READ, SWAP), (READ, SWAP, PLAIN)], 1),
        ([(PLAIN, SWAP)], 1),
        ([(OTHER, OTHER)], 1),
        ([(READ, NO_LINE)], 1),
        ([(READ,)], 1),  # with whom?
    ],
)
@pytest.mark.parametrize("level", ["Error", "Warning"])
def test_a_race_is_meant_by_the_lines_of_all_its_accesses(
    races: list[tuple[str, ...]], others: int, level: str
) -> None:
    text = report(*races, level=level)
    count, found = hazards.judged(text, ROOT)
    assert (count, len(found)) == (len(races), others)
    part = Part(("racecheck", "entropy"), (), 1)
    verdict, said = checking.judged(part, Outcome(hazards.FOUND, 1.0), text, ROOT)
    assert verdict == ("failed" if others else "passed")
    assert f"{len(races)} races" in said


@pytest.mark.parametrize(
    ("text", "status", "verdict"),
    [
        (report(), 0, "passed"),
        (report((PLAIN, PLAIN), level="Warning"), 0, "failed"),  # a warning does not change the tool's status
        ("something, but no race", hazards.FOUND, "failed"),
        (report((READ, SWAP)), 1, "failed"),  # it broke down besides
        (report((READ, SWAP)) + f"\n========= Warning: {hazards.TOO_MANY}. Environment", hazards.FOUND, "failed"),
    ],
)
def test_what_is_not_known_to_be_meant_fails(text: str, status: int, verdict: str) -> None:
    part = Part(("racecheck", "entropy"), (), 1)
    assert checking.judged(part, Outcome(status, 1.0), text, ROOT)[0] == verdict


def test_meant_lines_are_those_of_looks_and_atomic_operations_alone() -> None:
    """No access of another kind may hide on a line that is allowed."""
    files = [path for pattern in hazards.SOURCES for path in ROOT.glob(pattern)]
    for function in hazards.MEANT:
        (path,) = (path for path in files if body_of(path, function) is not None)
        body = lines_of(path, function)
        assert body in meant_lines(ROOT)
        first, *lines, last = path.read_text(encoding="utf-8").splitlines()[body.first - 1 : body.last]
        assert f" {function.rpartition(':')[2]}(" in first
        assert last.strip() == "}"
        accesses = [line for line in lines if re.search(r"\w+_\[", line)]
        assert all(re.search(r"(ph_relaxed_load_shared|atomic\w+)\(&\w+_\[\w+\]", line) for line in accesses)
        assert accesses or "::" not in function
    assert body_of(BUCKETS, "BucketTable::remove") is None


def test_the_machine_code_names_those_lines(tmp_path: Path) -> None:
    """No report has been seen yet: it can name no other line than its debugging information does."""
    try:
        tool = Path(disassembler())
    except FileNotFoundError as error:
        pytest.skip(str(error))
    library = Path(module("_cuda").__file__)
    subprocess.run([str(tool), "-xelf", "by_partition.", str(library)], cwd=tmp_path, capture_output=True, check=True)
    cubin, *_ = sorted(tmp_path.glob("*.cubin"))
    command = [str(tool.with_name("nvdisasm")), "-c", "-g", str(cubin)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seen = {"LDS": set[tuple[str, int]](), "ATOMS": set[tuple[str, int]]()}
    line = "", 0
    for kernel in re.split(r"^\.text\.", listing, flags=re.MULTILINE):
        if "count_parts" not in kernel.partition(":")[0]:
            continue
        for found in re.finditer(r'File "(.*)", line (\d+)|\*/ .*\b(LDS|ATOMS)\b', kernel):
            if found[3]:
                seen[found[3]].add(line)
            else:
                line = Path(found[1]).name, int(found[2])
    assert seen["ATOMS"]
    assert all(hazards.ATOMIC.fullmatch(file) for file, _ in seen["ATOMS"])
    assert ("exec.hpp", LOOK) in seen["LDS"]
    add = lines_of(BUCKETS, "BucketTable::add")
    assert not [line for file, line in seen["LDS"] if file == add.file and add.first <= line <= add.last]


HELP = "General options:\n  -h [ --help ]   Produce this help message.\n  --print-limit arg (=100)\n"
LIMIT = "--print-limit 10000"


@pytest.mark.parametrize(
    ("known", "options"),
    [
        ("  --kernel-regex arg\n  --kernel-regex-exclude arg", f"--kernel-regex kns=pyharness {LIMIT}"),
        ("  --kernel-name-exclude arg\n  --kernel-name arg", f"--kernel-name kns=pyharness {LIMIT}"),
        ("  --filter arg", f"--filter kns=pyharness {LIMIT}"),
        ("  --kernel-regex-exclude arg", LIMIT),
        ("  --report-api-errors arg (=explicit)", f"--report-api-errors no {LIMIT}"),
    ],
)
def test_the_program_on_the_machine_says_how_its_options_are_spelt(
    known: str, options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / hazards.SANITIZER
    program.write_text(f"#!/bin/sh\ncat <<END\n{HELP}{known}\nEND\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert " ".join(hazards.options()) == options
    program.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hazards.options() == []
