"""Whether two arms are measured alike, by what their own processes say: a pure function.

What differs without being under test shows up as a speed of its own: a larger block of variables moves the stack, and
with it the alignment of all that lies on it; another hash seed is another order of a dictionary.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyharness.features.gate.arms.environments import Libraries, normalised
from pyharness.features.gate.types import ArmFacts

SIZES = {  # facts that are counts, and what they count
    "environment_bytes": ("environment", "bytes"),
    "arguments_length": ("command line", "bytes"),
    "prefix_length": ("path of its environment (prefix)", "characters"),
    "executable_length": ("path of its interpreter", "characters"),
    "folder_length": ("path of its working folder", "characters"),
}
NAMES = {  # facts that are values
    "python": "version of Python",
    "implementation": "implementation of Python",
    "compiler": "compiler of Python",
    "libc": "C library",
    "flags": "flags of Python",
    "hash_seed": "hash seed",
    "affinity": "processors that it may use (affinity)",
    "nice": "niceness",
    "limits": "limits",
    "address_randomisation": "address randomisation",
    "personality": "address randomisation (personality)",
    "huge_pages": "huge pages",
    "collector": "thresholds of the garbage collector",
}
VARIABLES = "environment"  # fact: bytes of each variable's value, by name
SHOWN = 120  # characters of a value


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs between two arms."""

    faults: tuple[str, ...]  # the two cannot be compared
    notes: tuple[str, ...]  # they can, and a reader should know


def differences(base: ArmFacts, head: ArmFacts, *, under_test: str, measured: Collection[str] = ()) -> Differences:
    """Compare two arms.

    Args:
        base: what one says of itself.
        head: what the other does.
        under_test: the distribution in which they may differ; "" for none.
        measured: distributions that benchmarks measure, which are equal unless they are under test.
    """
    own = normalised(under_test)
    one, other = _libraries(base), _libraries(head)
    differ = [name for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name) and name != own]
    timed = {normalised(name) for name in measured}
    unequal = [f"{name} is measured, and is {_both(one, other, name)}" for name in differ if name in timed]
    lacking = [f"{arm.side} has no {under_test}" for arm in (base, head) if own and own not in _libraries(arm)]
    said = [f"{name} is not what is tested, and is {_both(one, other, name)}" for name in differ if name not in timed]
    return Differences((*_unlike(base.facts, head.facts), *lacking, *unequal), tuple(said))


def _libraries(arm: ArmFacts) -> Libraries:
    return {normalised(name): version for name, version in arm.libraries.items()}


def _both(base: Libraries, head: Libraries, name: str) -> str:
    of_base, of_head = (f"{side[name]}" if name in side else "not installed" for side in (base, head))
    return f"{of_base} for base, {of_head} for head"


def _unlike(base: Mapping[str, Any], head: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*base, *head)):
        one, other = base.get(name), head.get(name)
        if one == other and (name in base) is (name in head):
            continue
        if name in SIZES and isinstance(one, int) and isinstance(other, int):
            yield _size(name, one, other)
        elif name == VARIABLES and isinstance(one, Mapping) and isinstance(other, Mapping):
            yield f"variables differ in name or length: {', '.join(_differing(one, other))}"
        elif isinstance(one, Mapping) and isinstance(other, Mapping):
            for key in _differing(one, other):
                yield _value(f"{NAMES.get(name, name)}: {key}", one.get(key), other.get(key))
        else:
            yield _value(NAMES.get(name, name), one, other)


def _size(name: str, base: int, head: int) -> str:
    what, unit = SIZES[name]
    grown = "larger" if head > base else "smaller"
    if unit == "characters":
        grown = "longer" if head > base else "shorter"
    return f"the head's {what} is {abs(head - base):,} {unit} {grown}"


def _differing(base: Mapping[str, Any], head: Mapping[str, Any]) -> list[str]:
    return [
        key for key in sorted(base.keys() | head.keys()) if (base.get(key), key in base) != (head.get(key), key in head)
    ]


def _value(what: str, base: Any, head: Any) -> str:
    return f"{what}: {str(base)[:SHOWN]} for base, {str(head)[:SHOWN]} for head"
