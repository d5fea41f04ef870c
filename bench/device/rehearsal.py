"""A dry run: every stage up to the device, which it is not shown even where there is one."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby

from device import machine
from device.checking import say
from device.running import last_words
from device.stages import Part, Place

READY, NO_DEVICE = "ready", "no device"
UNAVAILABLE = "CUDA is not available"  # what the package says when it comes to the device
BEYOND = ("cupy", "torch")  # modules that are asked for only once there is a device
SECONDS = 300
AT_ONCE = 4


def rehearse(place: Place, parts: Sequence[Part], device: machine.Device | None) -> int:
    """Print how far each stage comes; 0 if nothing but a device is missing."""
    faults = _faults(place, parts, device)
    status = 0
    for stage, group in groupby(parts, key=lambda part: part.stage):
        members = list(group)
        lacks = list(dict.fromkeys(name for part in members for name in machine.lacking(part, place)))
        fault = next((faults[part.rehearsal] for part in members if faults.get(part.rehearsal)), "")
        if fault or (lacks and device is not None):
            verdict, status = fault or f"lacks {', '.join(lacks)}", 1
        else:
            needs_one = device is None and (lacks or any(part.on_device for part in members))
            verdict = (NO_DEVICE if needs_one else READY) + (f" (nor {', '.join(lacks)})" if lacks else "")
        say(f"{stage:14} {len(members):3} {'part ' if len(members) == 1 else 'parts'} {verdict}")
    return status


def _faults(place: Place, parts: Sequence[Part], device: machine.Device | None) -> dict[tuple[str, ...], str]:
    """Return what stops each rehearsal before the device, empty if nothing does; all of them are run at once."""
    if not _built(place, device):
        say("the package is not built for this checkout: programs, modules and files are looked at, nothing is started")
        return {}
    chosen = {part.rehearsal: part for part in parts if part.rehearsal and not _short(place, part)}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(chosen, pool.map(lambda part: _stopped(place, part, device), chosen.values()), strict=True))


def _short(place: Place, part: Part) -> set[str]:
    """Modules that even a rehearsal needs, and that are not here."""
    return set(machine.lacking(part, place)) - {*BEYOND, *part.programs}


def _stopped(place: Place, part: Part, device: machine.Device | None) -> str:
    done = _run(place, part.rehearsal, device)
    text = f"{done.stdout} {done.stderr}"
    if part.stage == "test":  # which are collected, and none of them run
        return "" if done.returncode == 0 else last_words(text)
    reached = done.returncode != 0 and UNAVAILABLE in text
    return "" if reached else f"{' '.join(part.words)}: {last_words(text) or 'came to its end without a device'}"


def _built(place: Place, device: machine.Device | None) -> bool:
    """Whether the package that is found is this checkout's, and compiled."""
    script = "import pyharness, pyharness._core; print(pyharness.__file__)"
    done = _run(place, (place.python, "-P", "-c", script), device)
    homes = (str(place.root / "pyharness"), str(place.site / "pyharness"))
    return done.returncode == 0 and done.stdout.strip().startswith(homes)


def _run(place: Place, command: Sequence[str], device: machine.Device | None) -> subprocess.CompletedProcess[str]:
    environment = machine.environment(place, device, hidden=True)
    return subprocess.run(
        list(command),
        cwd=place.root,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
    )
