"""The build: what it needs, and a wheel that is kept, so that the next machine need not repeat it.

usage: PYTHONPATH=bench python -m device.building ROOT WORK
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from device.stages import Place

BRING = (
    " Bring wheels (pip download --no-deps {wanted}), and put them on PYTHONPATH "
    "(pip install --no-index --no-deps --target FOLDER *.whl)."
)


def main(arguments: Sequence[str]) -> int:
    """Install the wheel that is here, or else build one first; returns the exit status."""
    root, work = arguments
    place = Place(Path(root), Path(work), sys.executable)
    for wheel in place.wheels.glob("*.whl"):
        if _pip("install", "--target", str(place.site), "--upgrade", "--no-compile", str(wheel)) == 0:
            return 0
        wheel.unlink()  # of another version of Python, say
    # Without isolation, index and dependencies: what the environment has is used.
    options = ("--no-build-isolation", "--verbose", f"-Cbuild-dir={place.work / 'build'}")
    if status := _pip("wheel", *options, "--wheel-dir", str(place.wheels), str(place.root)):
        return status
    wheels = [str(wheel) for wheel in place.wheels.glob("*.whl")]
    return _pip("install", "--target", str(place.site), "--upgrade", "--no-compile", *wheels)


def _pip(command: str, *arguments: str) -> int:
    common = ("--no-index", "--no-deps", "--disable-pip-version-check")
    return subprocess.run([sys.executable, "-P", "-m", "pip", command, *common, *arguments], check=False).returncode


def refusal(root: Path, programs: Sequence[str] = ()) -> str:
    """Say in one line what the build needs and is missing, as ``programs`` are, or too old; empty if nothing is."""
    lacks = lacking(root)
    if not lacks and not programs:
        return ""
    named = [
        f"{one} ({f'{found} is installed' if found else 'not found'})"
        for one, found in {**dict.fromkeys(programs, ""), **lacks}.items()
    ]
    bring = BRING.format(wanted=" ".join(f"'{one}'" for one in lacks)) if lacks else ""
    return f"gpu_check: the build needs {', '.join(named)}.{bring} Nothing was built."


def lacking(root: Path) -> dict[str, str]:
    """Return requirements of the build that are not met, and the version that is installed instead, if any."""
    read = _reader()
    if read is None:
        return {"pip": ""}
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    queue = [read(one) for one in tomllib.loads(text).get("build-system", {}).get("requires", ())]
    lacks: dict[str, str] = {}
    seen = set()
    while queue:
        wanted = queue.pop(0)
        if wanted.name in seen or (wanted.marker is not None and not wanted.marker.evaluate({"extra": ""})):
            continue
        seen.add(wanted.name)
        found = _installed(wanted.name)
        if found is None or not wanted.specifier.contains(found, prereleases=True):
            lacks[f"{wanted.name}{wanted.specifier}"] = found or ""
        else:
            queue += [read(one) for one in metadata.requires(wanted.name) or ()]
    return lacks


def _reader() -> Any:
    """Return what reads requirements: pip, which the build needs anyway, has its own copy."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        try:
            from pip._vendor.packaging.requirements import Requirement  # type: ignore[assignment, unused-ignore]
        except ImportError:
            return None
    return Requirement


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
