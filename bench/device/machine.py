"""What this machine has: a device, programs, modules; and the environment in which parts run."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from device.running import MARK
from device.stages import Part, Place

TOOLKIT = "/usr/local/cuda/bin"  # where toolkits are that nobody has put on the PATH
LEAST_CAPABILITY = (8, 0)  # as in pyharness/kernels/devices.py, which may not be built yet
ANSWER_SECONDS = 20.0  # of a program that is asked for a line
LIBRARIES = ("torch", "triton", "cupy-cuda13x", "cupy-cuda12x", "transformers", "numpy")


@dataclass(frozen=True, slots=True)
class Device:
    """The first GPU that the driver lists."""

    name: str
    capability: str  # such as 9.0
    driver: str

    @property
    def runs_the_kernels(self) -> bool:
        """Whether it has the instructions that they are compiled to."""
        return tuple(int(number) for number in self.capability.split(".")) >= LEAST_CAPABILITY

    @property
    def model(self) -> str:
        """All of it but the driver."""
        return f"{self.name}, compute capability {self.capability}"

    def __str__(self) -> str:
        return f"{self.model}, driver {self.driver}"


def device() -> Device | None:
    """Ask nvidia-smi; None where there is no driver or no GPU."""
    answer = _said("nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader")
    fields = [field.strip() for field in answer.partition("\n")[0].split(",")]
    return Device(*fields) if len(fields) == 3 and all(fields) else None


def _said(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=ANSWER_SECONDS,
                              env=search_path())  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def search_path() -> dict[str, str]:
    """Return the environment with the toolkit at the end of PATH."""
    return {**os.environ, "PATH": os.pathsep.join((os.environ.get("PATH", os.defpath), TOOLKIT))}


def environment(place: Place, found: Device | None, hidden: bool = False) -> dict[str, str]:
    """Return the variables of a part; ``hidden`` shows it no device."""
    variables = search_path()
    programs = os.pathsep.join((str(Path(place.python).parent), variables["PATH"]))
    paths = os.pathsep.join(filter(None, (str(place.site), os.environ.get("PYTHONPATH"))))
    variables |= {"PATH": programs, "PYTHONPATH": paths, "PYTHONUNBUFFERED": "1", MARK: str(place.work)}
    variables |= {"PYHARNESS_CUDA": "ON", "CMAKE_GENERATOR": "Ninja"}
    if found is not None and "CUDAARCHS" not in os.environ:
        variables["CUDAARCHS"] = f"{found.capability.replace('.', '')}-real"
    return {**variables, "CUDA_VISIBLE_DEVICES": ""} if hidden else variables


def dependencies(root: Path) -> list[str]:
    """Modules that the package needs, which are called as their distributions are, in small letters."""
    wanted = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    return [re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower() for requirement in wanted]


def lacking(part: Part, place: Place) -> list[str]:
    """Name the programs and modules that a part needs and that are not here."""
    path = environment(place, None)["PATH"]
    modules = [*part.modules, *(dependencies(place.root) if part.on_device else ())]
    programs = [name for name in part.programs if shutil.which(name, path=path) is None]
    return [*programs, *(name for name in modules if importlib.util.find_spec(name) is None)]


def host() -> str:
    """Return what Python and the peers on the CPU run on."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{len(os.sched_getaffinity(0))} cores, {gigabytes:.0f} GB, Linux {platform.release()}"


def versions() -> dict[str, str]:
    """Return the versions of the libraries that figures depend on, and of nvcc."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    release = re.search(r"release ([\d.]+)", _said("nvcc", "--version"))
    return {**found, "nvcc": release[1]} if release else found
