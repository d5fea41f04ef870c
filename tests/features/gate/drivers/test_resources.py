"""What the process of an arm says besides time: memory that a benchmark adds, and pages that its calls waited for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from platform import libc_ver

import pytest

from gating.arms import here, made
from pyharness.features.gate.drivers.processes import DriverProcess
from pyharness.features.gate.types import CallBatch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the driver's facts are read from /proc")

OWN = """
import mmap, os

class Made:
    def __init__(self, call=str.upper, held=None):
        self.call, self.digestible, self.held = call, str.encode, held

def echo(setting):
    return Made()

def hollow(setting):
    return Made(held=bytearray(os.urandom(1 << 20) * 48))

PINS = []

def passing(setting):  # takes 64 MiB in small blocks and gives them back, but for the last one
    blocks = [b"x" * (1000 + number % 7) for number in range(1 << 16)]
    PINS.append(blocks.pop())
    return Made()

def holding(setting):
    return Made(held=[b"x" * (1000 + number % 7) for number in range(1 << 15)])

def waiting(setting):
    file = os.open("pages", os.O_RDWR | os.O_CREAT)
    os.write(file, os.urandom(1 << 20))
    os.fsync(file)
    def call(text):
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        with mmap.mmap(file, 0, prot=mmap.PROT_READ) as pages:
            return str(pages[::4096].count(1))
    return Made(call)
"""
ONE = CallBatch(1, ((0, 4),))


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[DriverProcess]:
    process = made(tmp_path, here(tmp_path), OWN, text="abcdefgh")
    yield process
    process.close()


def test_memory_is_what_a_benchmark_adds(worker: DriverProcess) -> None:
    worker.prepare("echo")
    small = worker.finish("echo")
    if "memory" not in small:
        pytest.skip("the system does not let a process forget its highest resident set")
    worker.prepare("hollow")
    assert 48 << 20 <= worker.finish("hollow")["memory"] < 200 << 20
    worker.prepare("echo")
    assert worker.finish("echo")["memory"] < small["memory"] + (8 << 20)


def test_memory_that_one_benchmark_gave_back_is_growth_when_the_next_takes_it(worker: DriverProcess) -> None:
    worker.prepare("passing")
    passed = worker.finish("passing")
    if "memory" not in passed or libc_ver()[0] != "glibc":
        pytest.skip("the system does not say, or it has another C library than glibc")
    assert passed["memory"] > 60 << 20
    worker.prepare("holding")
    assert 30 << 20 <= worker.finish("holding")["memory"] < 60 << 20


def test_pages_that_are_read_in_timed_calls_are_counted(worker: DriverProcess) -> None:
    worker.prepare("echo")
    worker.time("echo", ONE)
    assert worker.time("echo", ONE).faults == 0
    worker.prepare("waiting")
    if not worker.time("waiting", ONE).faults:
        pytest.skip("the folder for temporary files is on no disk")
    assert worker.time("waiting", ONE).faults > 0
