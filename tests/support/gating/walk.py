"""The walk of a gate from command to verdict: files in the order in which they are entered, and who climbs back.

``python tests/support/gating/walk.py ARGUMENTS OF PYHARNESS GATE`` prints it. A step is a pair of files of the gate of
which one calls the other, counted once; it climbs where the file that is called was entered before the caller was.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

ROOM = str(Path("pyharness", "features", "gate")) + "/"


def walked(call: Callable[[], object]) -> tuple[list[str], list[tuple[str, str]]]:
    """Files of the gate in the order in which ``call`` enters them, and its steps from one to another."""
    files: dict[str, None] = {}
    steps: dict[tuple[str, str], None] = {}

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or (here := _file(frame)) is None:
            return
        files.setdefault(here)
        caller = frame.f_back
        while caller is not None and _file(caller) is None:  # by way of contextlib, click, a trunk's function
            caller = caller.f_back
        if caller is not None and (before := _file(caller)) not in (None, here):
            steps.setdefault((str(before), here))

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(files), list(steps)


def climbs(files: list[str], steps: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Steps back to a file that was entered before the one that calls it; nouns, which all use, are no climb."""
    return [step for step in steps if files.index(step[1]) < files.index(step[0]) and step[1] != "types.py"]


def _file(frame: FrameType) -> str | None:
    in_a_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED  # and not in the body of a module or class
    if not in_a_function or ROOM not in frame.f_code.co_filename:
        return None
    return frame.f_code.co_filename.rpartition(ROOM)[2]


if __name__ == "__main__":
    from pyharness.cli import main

    def _command() -> None:
        with suppress(SystemExit):
            main(["gate", *sys.argv[1:]])

    seen, pairs = walked(_command)
    back = climbs(seen, pairs)
    for one in seen:
        print(one)
    for pair in pairs:
        print(" -> ".join(pair), "(climbs)" if pair in back else "")
    print(f"{len(seen)} files, {len(pairs)} steps, {len(back)} of them climb")
