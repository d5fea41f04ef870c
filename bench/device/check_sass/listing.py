"""The machine code of a compiled library, by NVIDIA's disassemblers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory


def demangled(text: str) -> str:
    """Return a text with the C++ names; cuobjdump prints mangled ones."""
    return subprocess.run(["c++filt"], input=text, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S607


def disassembler() -> str:
    """Find cuobjdump, on the PATH or in the wheel of that name, with the nvdisasm that it runs beside it."""
    wheels = (str(folder) for entry in sys.path for folder in Path(entry).glob("nvidia/*/bin"))
    for folder in (None, *wheels):
        program = shutil.which("cuobjdump", path=folder)
        if program and shutil.which("nvdisasm", path=folder):
            return program
    raise FileNotFoundError("no cuobjdump with nvdisasm: pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm")


def disassemble(library: Path) -> tuple[list[str], str]:
    """Return the machine code of the entropy kernels and what they take, by architecture; and what all kernels take."""
    tool = Path(disassembler())
    path = os.pathsep.join((str(tool.parent), os.environ.get("PATH", "")))
    with TemporaryDirectory() as folder:

        def run(*arguments: str) -> str:
            done = subprocess.run(
                [str(tool), *arguments],
                capture_output=True,
                text=True,
                check=False,
                cwd=folder,
                env={**os.environ, "PATH": path},
            )
            if done.returncode:
                raise ValueError(f"cuobjdump cannot read {library}: {done.stderr.strip()}")
            return done.stdout

        # Alone, where the build has kept the source's name: a whole library takes 12 s, most of them for CUB's kernels.
        for name in ("entropy.", "by_partition."):
            run("-xelf", name, str(library.resolve()))
        cubins = sorted(Path(folder).glob("*.cubin"))
        listings = [run("-sass", str(path)) + run("-res-usage", str(path)) for path in cubins or [library.resolve()]]
        return listings, run("-res-usage", str(library.resolve()))
