"""What the machine code of kernels is held to: instructions per element, registers, shared memory, local memory."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from device import check_sass
from device.pair_kernels import pair_kernels

from backends import module

ROOT = Path(__file__).parents[2]


def listing(loads: int, arithmetic: int, early: int, registers: int = 32) -> str:
    """Disassemble an imaginary kernel: a loop of ``loads`` loads, ``early`` of them before the first exponential."""
    loop = ["LDG.E.EF.128 R4, desc[UR8][R4.64]"] * early + ["MUFU.EX2 R1, R2"]
    loop += ["LDG.E.EF.128 R4, desc[UR8][R4.64]"] * (loads - early) + ["FADD R1, R1, R2"] * (arithmetic - 1)
    body = ["MOV R1, R2", *loop, "@P0 BRA 0x10", "EXIT"]
    name = "_ZN12_GLOBAL__N_112entropy_rowsI13__nv_bfloat16Lb0EEEvi"
    lines = [f"        /*{16 * index:04x}*/                   {text} ;" for index, text in enumerate(body)]
    resources = [f" Function {name}:", f"  REG:{registers} STACK:0 SHARED:1280 LOCAL:0 CONSTANT[0]:704"]
    return "\n".join(["\tcode for sm_90", f"\t\tFunction : {name}", *lines, *resources])


def test_instructions_are_counted_from_the_loop_only() -> None:
    (loop,) = check_sass.entropy_loops(listing(loads=4, arithmetic=283, early=4))
    assert (loop.architecture, loop.element, loop.outputs) == ("sm_90", "bfloat16", "entropy")
    assert (loop.instructions, loop.elements, loop.per_element) == (288, 32, 9.0)
    assert (loop.registers, loop.shared, loop.threads) == (32, 1280, 2048)
    assert check_sass.complaint(loop) is None


def test_loads_of_states_are_no_loads_of_logits() -> None:
    """Joining parts reads 16 bytes at a time in a loop, too, and a shorter one."""
    joining = ["LDG.E.128 R4, desc[UR8][R4.64]"] * 4 + ["@P0 BRA 0x2000"]
    lines = [f"        /*{0x2000 + 16 * index:04x}*/                   {text} ;" for index, text in enumerate(joining)]
    text = listing(loads=4, arithmetic=283, early=4).replace("\n Function", "\n" + "\n".join(lines) + "\n Function")
    (loop,) = check_sass.entropy_loops(text)
    assert (loop.instructions, loop.in_flight) == (288, 4)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (listing(4, 284, 4), "over 9"),
        (listing(4, 283, 2), "loads in flight"),
        (listing(4, 283, 4).replace("MOV R1, R2", "STL [R1], R2"), "local memory"),
        (listing(4, 283, 4, registers=33), "fewer than 2048 threads"),
        (listing(4, 284, 4).replace("13__nv_bfloat16", "6__half"), "over 9"),
    ],
)
def test_a_slow_loop_is_a_complaint(text: str, word: str) -> None:
    (loop,) = check_sass.entropy_loops(text)
    assert word in (check_sass.complaint(loop) or "")


def test_the_built_kernels_are_within_their_budget(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = module("_cuda").__file__
    try:
        check_sass.disassembler()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(sys, "argv", ["check_check_sass.py", str(path)])
    assert check_sass.main() == 0, capsys.readouterr()


def resources(name: str, registers: int, architecture: str = "sm_90", local: int = 0) -> str:
    """Of one kernel, as cuobjdump lists them, its name demangled."""
    shared = (0 if architecture == "sm_80" else 1024) + (0 if name.startswith("scatter") else 16)
    function = f" Function void pyharness::kernels::{name}(pyharness::kernels::BucketPart const*):"
    figures = f"  REG:{registers} STACK:0 SHARED:{shared} LOCAL:{local} CONSTANT[0]:624 TEXTURE:0"
    return f"Fatbin elf code:\n====\narch = {architecture}\nResource usage:\n{function}\n{figures}\n"


NARROW, WIDE = "count_parts<unsigned int, false, unsigned int>", "count_parts<unsigned long long, false, unsigned int>"
WEIGHTED = "count_parts<unsigned int, true, unsigned long long>"
FIRST = "scatter_to_pages<pyharness::kernels::{}, unsigned {}, {}>"
PLAIN = "ChunkPairs<false, false>"
SECOND = "scatter_by_bucket<unsigned {}, {}>"
BINS, PAGES, SIZES = 128 * 18, 128 * 6, 2 << 14


@pytest.mark.parametrize(
    ("name", "architecture", "table", "needed"),
    [
        (NARROW, "sm_80", 8192 * 8, 2),
        (WIDE, "sm_90", 8192 * 12, 2),
        (WIDE, "sm_80", 8192 * 12, 1),  # two such tables are more than its 164 KiB
        (WEIGHTED, "sm_90", 8192 * 12, 2),
        ("count_parts<unsigned long long, true, unsigned long long>", "sm_80", 4096 * 16, 2),
        (FIRST.format(PLAIN, "int", "true"), "sm_90", BINS + PAGES + SIZES + 8192 * 4 + 13_653 * 12, 1),
        (FIRST.format(PLAIN, "int", "true"), "sm_80", BINS + PAGES + SIZES + 8192 * 4 + 8021 * 12, 1),
        (FIRST.format("ChunkPairs<true, true>", "int", "false"), "sm_90", BINS + PAGES + SIZES + 4096 * 12, 1),
        (FIRST.format("RowPairs", "long long", "false"), "sm_90", BINS + PAGES + SIZES + 4096 * 16, 1),
        (SECOND.format("int", "false"), "sm_90", BINS + 4096 * 4, 2),
        (SECOND.format("long long", "true"), "sm_80", BINS + 4096 * 16, 1),
    ],
)
def test_what_a_kernel_of_the_partition_needs(name: str, architecture: str, table: int, needed: int) -> None:
    (kernel,) = pair_kernels(resources(name, 40, architecture))
    assert (kernel.architecture, kernel.table, kernel.needed_blocks) == (architecture, table, needed)
    assert kernel.complaint is None
    assert str(kernel).endswith("ok")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (resources(NARROW, 65), "fewer than 2 blocks"),
        (resources(NARROW, 40, local=8), "local memory"),
        (resources(FIRST.format(PLAIN, "int", "true"), 65), "fewer than 1 blocks"),
        (resources(SECOND.format("int", "false"), 65), "fewer than 2 blocks"),
    ],
)
def test_a_kernel_that_takes_too_much_is_a_complaint(text: str, word: str) -> None:
    (kernel,) = pair_kernels(text)
    assert word in (kernel.complaint or "")


def test_tables_are_those_of_the_sources() -> None:
    """What a launch asks for is not in the machine code; the sources say it."""
    sources = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "csrc/kernels/pairs").rglob("*.*")}
    assert "slot_bytes > 12 ? 4096 : 8192" in sources["by_partition.cu"]
    assert "kMostPartitionThreads = 512" in sources["passes.hpp"]
    assert "kMostBucketBits = 14" in sources["pair_histogram.hpp"]
    assert "kPositionsPerThread = 8" in sources["positions.hpp"]
