"""Which distribution is under test: the one that two arms may differ in."""

from __future__ import annotations

from collections.abc import Mapping

from pyharness.features.gate.arms.environments import Libraries, normalised
from pyharness.features.gate.sources import Wheel
from pyharness.features.gate.types import SIDES, Side
from pyharness.types import InputError

OURS = "pyharness"


def under_test(
    asked: str | None, wheels: Mapping[Side, Wheel], installed: Mapping[Side, Libraries]
) -> tuple[str, tuple[str, ...]]:
    """Choose it: as asked for, that of a wheel, or of two environments the only one that differs; and notes.

    Raises:
        InputError: two wheels are of two libraries, a side does not have it, or nothing says which it is.
    """
    names = {side: normalised(wheel.distribution) for side, wheel in wheels.items()}
    if len({*names.values()}) > 1:
        raise InputError(f"--base is {names['base']} and --head is {names['head']}: give two of one library")
    chosen = normalised(asked) if asked else next(iter(names.values()), "") or _guessed(installed)
    for side in SIDES:
        if chosen not in installed[side]:
            raise InputError(f"{side} has no {chosen}; name what is under test with --library")
    if asked or names:
        return chosen, ()
    return chosen, (f"what is under test is taken to be {chosen}; --library names another",)


def _guessed(installed: Mapping[Side, Libraries]) -> str:
    base, head = installed["base"], installed["head"]
    differ = sorted(name for name in base.keys() & head.keys() if base[name] != head[name])
    if len(differ) == 1:
        return differ[0]
    if OURS in base and OURS in head:
        return OURS
    raise InputError(
        f"two environments differ in {', '.join(differ) or 'nothing'}: name what is under test with --library"
    )
