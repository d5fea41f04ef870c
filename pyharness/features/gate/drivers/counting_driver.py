"""The driver under valgrind: it also counts the instructions of a batch.

A standalone file next to ``driver.py``, run as ``valgrind --tool=callgrind --instr-atstart=no python -P -s
counting_driver.py WORKLOADS COUNTS``. Client requests (the instruction sequences in valgrind.h) tell Callgrind when
the calls begin and end: it counts nothing else. It writes its counts to ``COUNTS.1`` and so on.
"""

from __future__ import annotations

import ctypes
import importlib.util
import mmap
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

START, STOP, DUMP, ZERO = (0x43540000 + number for number in (4, 5, 0, 1))  # callgrind.h
# mov rax, rdi; mov rdx, 0; four rotations of rdi that cancel out; xchg rbx, rbx; mov rax, rdx; ret (valgrind.h)
X86_64 = bytes.fromhex("4889f8 48c7c200000000 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")
TOTALS = b"totals: "


def requests() -> Callable[[int], int]:
    """Return a function that makes a client request; it returns 0 outside of valgrind.

    Raises:
        OSError: the processor is not of x86-64.
    """
    if platform.machine() not in ("x86_64", "AMD64"):
        raise OSError(f"instructions are counted on x86-64, and this is {platform.machine()}")
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(X86_64)
    place = ctypes.addressof(ctypes.c_char.from_buffer(page))
    call = ctypes.CFUNCTYPE(ctypes.c_ulong, ctypes.c_void_p)(place)
    kept = (page, (ctypes.c_ulong * 6)())

    def request(code: int) -> int:
        kept[1][0] = code
        return int(call(ctypes.addressof(kept[1])))

    return request


def driver() -> Any:
    """Return the module of the driver, next to this file."""
    path = Path(__file__).with_name("driver.py")
    spec = importlib.util.spec_from_file_location("driver", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["driver"] = module
    spec.loader.exec_module(module)
    return module


class InstructionCounter:
    """A counter of instructions between start and stop, for several batches."""

    def __init__(self, files: str) -> None:
        self.request = requests()
        self.files = files
        self.number = 0

    def instructions(self) -> int:
        """Return the instructions counted since the last call of this method, and restart from 0."""
        self.request(DUMP)
        self.number += 1
        path = Path(f"{self.files}.{self.number}")
        lines = path.read_bytes().splitlines()
        path.unlink()
        self.request(ZERO)
        return next(int(line[len(TOTALS) :]) for line in lines if line.startswith(TOTALS))


def main() -> None:
    """Answer messages as the driver does."""
    shared = driver()
    counted = InstructionCounter(sys.argv[2])

    class CountingDriver(shared.Driver):  # type: ignore[name-defined, misc]
        """A driver that counts each batch; a benchmark's figure is the mean of the batches after the first."""

        counts: list[int]

        def prepare(self, message: dict[str, Any]) -> dict[str, Any]:
            """Restart the counts."""
            self.counts = []
            answer: dict[str, Any] = super().prepare(message)
            return answer

        def calls(self, call: Callable[[Any], Any], items: list[Any]) -> list[Any]:
            """Do the calls and count them."""
            counted.request(START)
            results: list[Any] = super().calls(call, items)
            counted.request(STOP)
            self.counts.append(counted.instructions())
            return results

        def finish(self, message: dict[str, Any]) -> dict[str, Any]:
            """Return the counted instructions, and no memory: under valgrind that is valgrind's."""
            super().finish(message)
            kept = self.counts[1:] or self.counts  # a library's first call fills tables
            return {"figures": {"instructions": sum(kept) // len(kept)} if kept else {}}

    shared.main(CountingDriver)


if __name__ == "__main__":
    main()
