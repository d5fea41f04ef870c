"""Instructions of a batch: counted alike in every process, and in proportion to the work."""

from __future__ import annotations

import platform
import shutil
import zlib
from pathlib import Path

import pytest

from gating.arms import here, suite_of
from pyharness.features.gate.drivers import processes
from pyharness.features.gate.drivers.driver import digest
from pyharness.features.gate.drivers.processes import CountingProcess
from pyharness.features.gate.types import CallBatch, GateBenchmark, Side
from pyharness.types import InputError

OWN = """
import zlib
class Made:
    def __init__(self, call):
        self.call, self.digestible = call, lambda number: str(number).encode()

def summed(setting):
    data = bytes(200_000)  # made once: whether new memory has to be cleared depends on what was there before

    def call(text):
        value = 1
        for _ in text:
            value = zlib.adler32(data, value)
        return value

    return Made(call)
"""
NEEDS_VALGRIND = pytest.mark.skipif(
    shutil.which("valgrind") is None or platform.machine() != "x86_64", reason="needs valgrind on x86-64"
)


def counted(folder: Path, side: Side, *lengths: int) -> dict[int, int]:
    """Instructions of a batch of one call on so many bytes."""
    (folder / "mine.py").write_text(OWN, encoding="utf-8")
    (folder / "text.txt").write_text("x" * 1000, encoding="utf-8")
    suite = suite_of(folder / "mine.py", GateBenchmark("summed", "summed", "mine", bytes=1))
    worker = CountingProcess(here(folder, side), suite, {"english": folder / "text.txt"}, folder)
    found = {}
    try:
        for length in lengths:
            worker.prepare("summed")
            for _ in range(2):
                timed = worker.time("summed", CallBatch(1, ((0, length),)))
            assert timed.digest == digest([str(zlib.adler32(bytes(length * 200_000))).encode()])
            figures = worker.finish("summed")
            assert figures.keys() == {"instructions"}
            found[length] = figures["instructions"]
    finally:
        worker.close()
    return found


@NEEDS_VALGRIND
def test_twice_the_work_takes_twice_the_instructions_in_any_process(tmp_path: Path) -> None:
    base, head = counted(tmp_path, "base", 10, 20, 10), counted(tmp_path, "head", 20)
    assert 1.95 < base[20] / base[10] < 2.05
    assert head[20] == pytest.approx(base[20], rel=5e-3)
    assert base[10] > 1_000_000  # beside which what an interpreter does once is little
    assert list(tmp_path.glob("counts-base.*")) == []


def test_it_is_said_where_there_is_no_valgrind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="needs valgrind"):
        processes.valgrind()
