"""What the machine code of kernels is held to: instructions per element, registers, shared memory, local memory."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from device.check_sass.__main__ import main
from device.check_sass.entropy import entropy_loops
from device.check_sass.listing import disassembler
from device.check_sass.pairs import pair_kernels, pair_loops

from backends import module

ROOT = Path(__file__).parents[2]


def listed(code: list[str], registers: int = 32, start: int = 0) -> str:
    """Disassemble an imaginary kernel; ``>NAME`` in a branch stands for the address of ``NAME:`` in front of a line."""
    labels = {line.split(": ")[0]: 16 * at + start for at, line in enumerate(code) if ": " in line}
    lines = []
    for at, line in enumerate(code):
        text = line.split(": ")[-1]
        for label, address in labels.items():
            text = text.replace(f">{label}", hex(address))
        lines.append(f"        /*{16 * at + start:04x}*/                   {text} ;")
    name = "_ZN12_GLOBAL__N_112entropy_rowsI13__nv_bfloat16Lb0EEEvi"
    resources = [f" Function {name}:", f"  REG:{registers} STACK:0 SHARED:1280 LOCAL:0 CONSTANT[0]:704"]
    return "\n".join(["\tcode for sm_90", f"\t\tFunction : {name}", *lines, *resources])


LOAD, EXPONENTIAL, SUM = "LDG.E.EF.128 R4, desc[UR8][R4.64]", "MUFU.EX2 R1, R2", "FADD R1, R1, R2"


def listing(loads: int, arithmetic: int, early: int, registers: int = 32) -> str:
    """Disassemble a loop of ``loads`` loads, ``early`` of them before the first of 33 exponentials."""
    body = [LOAD] * early + [EXPONENTIAL] + [LOAD] * (loads - early) + [EXPONENTIAL] * 32 + [SUM] * (arithmetic - 33)
    body[0] = f"LOOP: {body[0]}"
    return listed(["MOV R1, R2", *body, "@P0 BRA >LOOP", "EXIT"], registers)


def test_instructions_are_counted_from_the_loop_only() -> None:
    (loop,) = entropy_loops(listing(loads=4, arithmetic=251, early=4))
    assert (loop.architecture, loop.element, loop.outputs) == ("sm_90", "bfloat16", "entropy")
    assert (loop.instructions, loop.elements, loop.per_element) == (256, 32, 8.0)
    assert (loop.registers, loop.shared, loop.threads) == (32, 1280, 2048)
    assert loop.complaint is None


def test_loads_of_states_are_no_loads_of_logits() -> None:
    """Joining parts reads 16 bytes at a time in a loop, too, and a shorter one."""
    joining = ["LDG.E.128 R4, desc[UR8][R4.64]"] * 4 + ["@P0 BRA 0x2000"]
    lines = [f"        /*{0x2000 + 16 * index:04x}*/                   {text} ;" for index, text in enumerate(joining)]
    text = listing(loads=4, arithmetic=251, early=4).replace("\n Function", "\n" + "\n".join(lines) + "\n Function")
    (loop,) = entropy_loops(text)
    assert (loop.instructions, loop.in_flight) == (256, 4)


def test_rare_branches_are_not_counted_and_others_are() -> None:
    """Extreme logits have a product for each exponential; single logits come through the read-only cache."""
    usual = [*[EXPONENTIAL] * 33, *[SUM] * 60, "BRA >END"]
    extreme = ["EXTREME: FMUL R1, R1, R2", *["FMUL R1, R1, R2"] * 33, *[EXPONENTIAL] * 33, *[SUM] * 99]
    single = ["@P0 BRA >END", "LDG.E.U16.CONSTANT R1, [R2.64]", *[SUM] * 99]
    either = ["END: @P2 BRA >LEFT", *[SUM] * 5, "BRA >LAST", "LEFT: FADD R1, R1, R2", *[SUM] * 8]
    loop = [f"LOOP: {LOAD}", *[LOAD] * 3, "@P1 BRA >EXTREME", *usual, *extreme, *single, *either, "LAST: @P0 BRA >LOOP"]
    (found,) = entropy_loops(listed(["MOV R1, R2", *loop, "EXIT"]))
    assert found.instructions == 5 + len(usual) + 1 + 9 + 1  # what lies in both: the longer side


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (listing(4, 252, 4), "over 8"),
        (listing(4, 251, 2), "loads in flight"),
        (listing(4, 251, 4).replace("MOV R1, R2", "STL [R1], R2"), "local memory"),
        (listing(4, 251, 4, registers=41), "fewer than 1536 threads"),
        (listing(4, 252, 4).replace("13__nv_bfloat16", "6__half"), "over 8"),
    ],
)
def test_a_slow_loop_is_a_complaint(text: str, word: str) -> None:
    (loop,) = entropy_loops(text)
    assert word in (loop.complaint or "")


def test_a_short_row_is_all_that_its_lanes_execute() -> None:
    """The begin and the last step, shared by four rows; a batch of four loads and the last five; the merge."""
    batch = [f"BATCH: {LOAD}", *[LOAD] * 3, *[EXPONENTIAL] * 33, "@P0 BRA >BATCH"]
    last = ["@P1 BRA >FOUR", *[LOAD] * 5, *[EXPONENTIAL] * 41, *[SUM] * 10, "BRA >MERGE"]
    four = [f"FOUR: {LOAD}", *[LOAD] * 3, *[EXPONENTIAL] * 33, *[SUM] * 90]
    merge = ["MERGE: SHFL.BFLY PT, R1, R1, 0x1, 0x1f", EXPONENTIAL, "@P2 BRA >ROW"]
    finish = [*[SUM] * 20, "@P3 EXIT", "STG.E [R2.64], R1", "@P4 EXIT", *[SUM] * 50, "STG.E [R2.64], R1", "EXIT"]
    code = listed([*[SUM] * 40, "ROW: MOV R1, R2", *batch, *last, *four, *merge, *finish])
    code = code.replace("12entropy_rowsI13__nv_bfloat16Lb0E", "18entropy_short_rowsI13__nv_bfloat16Lb0ELi4E")
    (loop,) = entropy_loops(code)
    row = 1 + len(batch) + len(last) + len(merge)
    assert loop.short_row == (row + (40 + 23) / 4) * 4 / 260


def test_the_built_kernels_are_within_their_budget(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = module("_cuda").__file__
    try:
        disassembler()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(sys, "argv", ["check_sass", str(path)])
    assert main() == 0, capsys.readouterr()


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


def tiles(name: str, instructions: int, inside: str) -> str:
    """Disassemble an imaginary kernel: a loop of so many instructions, four of each kind that it must have."""
    loop = [line for line in inside.split("; ") for _ in range(4)]
    body = [*loop, *["IADD3 R1, R1, R2"] * (instructions - len(loop) - 1), "@P0 BRA 0x0", "EXIT"]
    lines = [f"        /*{16 * index:04x}*/                   {text} ;" for index, text in enumerate(body)]
    return "\n".join(["\tcode for sm_90", f"\t\tFunction : {name}", *lines])


TILE, BUCKET = "BAR.SYNC.DEFER_BLOCKING 0x0", "LDG.E R1, desc[UR8][R4.64]; ATOMS.ADD R1, [R2], R3"


@pytest.mark.parametrize(
    ("name", "inside", "instructions", "each", "complaint"),
    [
        (FIRST.format(PLAIN, "int", "true"), TILE, 1160, 145.0, None),
        (FIRST.format(PLAIN, "int", "true"), TILE, 1161, 145.125, "is over 145"),
        (FIRST.format("ChunkPairs<true, false>", "int", "true"), TILE, 1480, 185.0, None),
        (SECOND.format("int", "false"), TILE, 568, 71.0, "is over 70"),
        (NARROW, BUCKET, 200, 50.0, None),
        (NARROW, TILE, 200, 0.0, "has no such loop"),
    ],
)
def test_instructions_of_a_position(
    name: str, inside: str, instructions: int, each: float, complaint: str | None
) -> None:
    (loop,) = pair_loops(tiles(name, instructions, inside), str)
    assert (loop.each, loop.complaint) == (each, complaint)


def test_other_kernels_have_no_limit_of_instructions() -> None:
    names = (FIRST.format("RowPairs", "int", "false"), SECOND.format("long long", "false"), WEIGHTED, WIDE)
    assert [pair_loops(tiles(name, 9999, TILE), str) for name in names] == [[]] * 4
