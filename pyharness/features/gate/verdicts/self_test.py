"""The gate's test of itself: whether the arms differ apart from the code under test.

Witnesses are benchmarks that the code under test cannot change: all benchmarks where both arms have the same code, else
those of other libraries (controls). A gate of two versions without controls cannot distinguish a change of everything
from a slower arm, and only shows figures. A figure becomes a fault if it is significant *and* larger than half of the
budget: docs/gate.md "The gate tests itself".

``differences`` compares the facts of the arms' own processes. Differences outside of the code under test change the
speed: a larger block of variables moves the stack and the alignment of everything on it; another hash seed is another
order of a dictionary.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyharness.features.gate.types import (
    SCREEN,
    ArmFacts,
    GateBenchmark,
    GateRules,
    Launch,
    Rounds,
    SelfTest,
    Side,
    normalised,
)
from pyharness.features.gate.verdicts.effects import LaunchEffect, effect, start_effect
from pyharness.features.gate.verdicts.hypotheses import sign_test
from pyharness.features.gate.verdicts.times import p_greater, trimmed_interval, trimmed_mean
from pyharness.features.gate.verdicts.wording import between, change, percent, relative
from pyharness.statistics.samples import median
from pyharness.types import counted

UNBALANCED = 2  # largest difference between the counts of both orders in a launch, where one of a pair was lost
LEVEL_OF_SIGNS = 0.001
LEVEL_OF_CONTROLS = 0.01  # launches are few; together with the required size, chance gets there far less often
FEWEST_CONTROLS = 2
FEWEST_SIGNS = 11  # for significance: 2 / 2^11 is below the level, 2 / 2^10 is not
FEWEST_LAUNCHES = 2  # further launches in which controls always take part
CALM = 0.25  # share of the budget, half of the fault's. Controls closer to 0 need no more launches

Effects = Mapping[tuple[str, int], LaunchEffect]  # by benchmark and launch


def self_test(
    launches: Sequence[Launch],
    rounds: Sequence[Rounds],
    benchmarks: Sequence[GateBenchmark],
    arms: Mapping[Side, ArmFacts],
    rules: GateRules,
    under_test: str,
    faults: Sequence[str] = (),
) -> SelfTest:
    """Test a gate. ``under_test``: a distribution; ``faults``: known differences between the arms."""
    threads, effects = {one.name: one.threads for one in benchmarks}, _effects(rounds, benchmarks)
    controls, same = [one.name for one in benchmarks if one.is_control(under_test)], _one_code(arms, under_test)
    witnesses = [one.name for one in benchmarks] if same else controls
    problems = [*faults, *_find_unbalanced(launches, rounds)]
    if controls and len(controls) == len(benchmarks):
        problems.append(f"all benchmarks are controls: none measures {under_test}")
    signs, order, start = _signs(effects, threads), _order(effects), _start(launches, effects)
    figures: dict[str, Any] = {"signs": signs, "second_in_a_round": order, "started_first": start}
    figures["witnesses"] = shown = _signs(effects, witnesses)
    if shown["of"] < FEWEST_SIGNS:
        shown["needs"] = FEWEST_SIGNS
    if shown["p"] < LEVEL_OF_SIGNS and abs(shown["median"]) > rules.budget / 2:
        problems.append(_describe_one_sided(shown, "benchmarks of one version" if same else "controls"))
    figures["controls"] = bias = _bias(effects, controls)
    if bias is not None and _matters(bias, rules):
        problems.append(_describe_bias(bias))
    return SelfTest(tuple(problems), figures)


def open_controls(
    rounds: Sequence[Rounds], benchmarks: Sequence[GateBenchmark], rules: GateRules, under_test: str
) -> tuple[str, ...]:
    """Return the controls for a further launch, in the order of the suite: none once they are calm together.

    Controls that are not calm may show a fault of the arms, which only a test of all launches can prove.
    """
    controls, effects = [one.name for one in benchmarks if one.is_control(under_test)], _effects(rounds, benchmarks)
    logs = _medians(effects, controls)
    if len(logs) >= FEWEST_LAUNCHES and abs(trimmed_mean(logs)) <= math.log1p(CALM * rules.budget):
        return ()
    return tuple(name for name in controls if (name, SCREEN) in effects)


def _effects(rounds: Sequence[Rounds], benchmarks: Sequence[GateBenchmark]) -> dict[tuple[str, int], LaunchEffect]:
    threads = {one.name: one.threads for one in benchmarks}
    by_place = {(part.benchmark, part.launch): effect(part, threads.get(part.benchmark, 1)) for part in rounds}
    return {place: seen for place, seen in by_place.items() if seen is not None}


def _one_code(arms: Mapping[Side, ArmFacts], under_test: str) -> bool:
    """Whether both arms have the same code: one version, from one source, or by commits and digests.

    The version number of an installed distribution proves nothing, since many builds share it. Nor does the name of a
    vocabulary, which two tokenizers may share.
    """
    both = list(arms.values())
    versions, sources = {facts.version for facts in both}, {facts.source for facts in both}
    own = normalised(under_test)
    numbers = {number for facts in both for name, number in facts.libraries.items() if normalised(name) == own}
    return len(versions) == 1 and (len(sources) == 1 or (bool(under_test) and not versions & numbers))


def _find_unbalanced(launches: Sequence[Launch], rounds: Sequence[Rounds]) -> list[str]:
    """Return faults of unbalanced orders; pairs are balanced by design, so no chance is involved."""
    faults = []
    head = sum(launch.started_first == "head" for launch in launches)
    if abs(2 * head - len(launches)) > 1:
        faults.append(_first(head, len(launches), "was started second", "launches"))
    uneven = [part for part in rounds if abs(2 * sum(part.head_first) - len(part.head_first)) > UNBALANCED]
    if uneven:
        firsts = [first for part in uneven for first in part.head_first]
        names = len({part.benchmark for part in uneven})
        faults.append(_first(sum(firsts), len(firsts), "went second", f"rounds of {counted(names, 'benchmark')}"))
    return faults


def _first(head: int, count: int, what: str, where: str) -> str:
    side, second = ("head", count - head) if 2 * head < count else ("base", head)
    return f"the {side} {what} in {second} of {count} {where}: the order alone may make that side slower"


def _signs(effects: Effects, names: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Count signs in the screen, which has every benchmark once and was not selected."""
    logs = [effects[name, SCREEN].log for name in names if (name, SCREEN) in effects]
    slower, counted = sum(log > 0 for log in logs), sum(log != 0 for log in logs)
    middle = relative(median(logs)) if logs else 0.0
    return {"slower": slower, "of": counted, "p": sign_test(slower, counted), "median": middle}


def _describe_one_sided(signs: Mapping[str, Any], whose: str) -> str:
    side, count = ("slower", signs["slower"]) if signs["median"] > 0 else ("faster", signs["of"] - signs["slower"])
    return (
        f"{count} of {signs['of']} {whose} are {side} in the head, by {percent(abs(signs['median']))} in the median "
        f"(p = {signs['p']:.2g}): the arms differ apart from the code under test"
    )


def _medians(effects: Effects, controls: Sequence[str]) -> list[float]:
    """Return the median effect of the controls in each launch after the screen that measured them."""
    numbers, common = _measured_controls(effects, controls)
    return [median([effects[name, number].log for name in common]) for number in numbers] if common else []


def _measured_controls(effects: Effects, controls: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the launches after the screen with controls, and the controls that all of these have."""
    numbers = sorted({number for name, number in effects if name in controls} - {SCREEN})
    return numbers, [name for name in controls if all((name, number) in effects for number in numbers)]


def _bias(effects: Effects, controls: Sequence[str]) -> dict[str, Any] | None:
    """Return the bias of controls: the trimmed mean over launches of their median; None with too few of either."""
    numbers, common = _measured_controls(effects, controls)
    if len(common) < FEWEST_CONTROLS or len(numbers) < 2:
        return None
    logs = _medians(effects, controls)
    middle, interval = trimmed_mean(logs), trimmed_interval(logs)
    each = [trimmed_mean([effects[name, number].log for number in numbers]) for name in common]
    return {
        "controls": len(common),
        "launches": len(numbers),
        "mean": relative(middle),
        "interval": None if interval is None else [relative(end) for end in interval],
        "p": min(1.0, 2 * min(p_greater(logs, 0), p_greater([-log for log in logs], 0))),
        "one_way": all(log > 0 for log in each) or all(log < 0 for log in each),
    }


def _matters(bias: Mapping[str, Any], rules: GateRules) -> bool:
    large = abs(bias["mean"]) > rules.budget / 2
    return large and bool(bias["one_way"]) and bool(bias["p"] < LEVEL_OF_CONTROLS)


def _describe_bias(bias: Mapping[str, Any]) -> str:
    interval = bias["interval"] and (bias["interval"][0], bias["interval"][1])
    return (
        f"{counted(bias['controls'], 'benchmark')} of libraries that are not under test: the head is "
        f"{change(bias['mean'], 'time')}{between(bias['mean'], interval)} in {counted(bias['launches'], 'launch')}: "
        "the arms differ apart from the code under test"
    )


def _order(effects: Effects) -> dict[str, Any] | None:
    """Return the cost of being second in a round: trimmed mean of the launches' medians. Effects cancel it."""
    by_launch: dict[int, list[float]] = {}
    for (_, number), launch_effect in effects.items():
        if launch_effect.order is not None:
            by_launch.setdefault(number, []).append(launch_effect.order)
    if not by_launch:
        return None
    logs = [median(orders) for orders in by_launch.values()]
    interval = trimmed_interval(logs)
    return {
        "mean": relative(trimmed_mean(logs)),
        "interval": None if interval is None else [relative(end) for end in interval],
    }


def _start(launches: Sequence[Launch], effects: Effects) -> dict[str, Any] | None:
    """Return the effect of starting first, over benchmarks that all launches after the screen have."""
    numbers = {launch.number for launch in launches} - {SCREEN}
    names = {name for name, _ in effects}
    common = [name for name in names if all((name, number) in effects for number in numbers)]
    if not numbers or not common:
        return None
    logs = {number: math.fsum(effects[name, number].log for name in common) / len(common) for number in numbers}
    if (estimate := start_effect(launches, logs)) is None:
        return None
    return {"mean": relative(estimate[0]), "interval": [relative(end) for end in estimate[1]]}


SIZES = {  # facts that are counts -> noun and unit
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
    """Differences between two arms."""

    faults: tuple[str, ...]  # make the arms incomparable
    notes: tuple[str, ...]  # for the reader only


def differences(base: ArmFacts, head: ArmFacts, *, under_test: str, measured: Collection[str] = ()) -> Differences:
    """Compare two arms.

    Args:
        base: facts of the base.
        head: facts of the head.
        under_test: the distribution that may differ; "" for none.
        measured: distributions that benchmarks measure; they must be equal unless under test.
    """
    own = normalised(under_test)
    one, other = _libraries(base), _libraries(head)
    differ = [name for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name) and name != own]
    timed = {normalised(name) for name in measured}
    unequal = [f"{name} is measured, and is {_both(one, other, name)}" for name in differ if name in timed]
    lacking = [f"{arm.side} has no {under_test}" for arm in (base, head) if own and own not in _libraries(arm)]
    notes = [f"{name} is not under test, and is {_both(one, other, name)}" for name in differ if name not in timed]
    return Differences((*_unlike(base.facts, head.facts), *lacking, *unequal), tuple(notes))


def _libraries(arm: ArmFacts) -> dict[str, str]:
    return {normalised(name): version for name, version in arm.libraries.items()}


def _both(base: Mapping[str, str], head: Mapping[str, str], name: str) -> str:
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
            yield f"variables differ in name or length: {', '.join(_list_differing(one, other))}"
        elif isinstance(one, Mapping) and isinstance(other, Mapping):
            for key in _list_differing(one, other):
                yield _value(f"{NAMES.get(name, name)}: {key}", one.get(key), other.get(key))
        else:
            yield _value(NAMES.get(name, name), one, other)


def _size(name: str, base: int, head: int) -> str:
    what, unit = SIZES[name]
    grown = "larger" if head > base else "smaller"
    if unit == "characters":
        grown = "longer" if head > base else "shorter"
    return f"the head's {what} is {abs(head - base):,} {unit} {grown}"


def _list_differing(base: Mapping[str, Any], head: Mapping[str, Any]) -> list[str]:
    return [
        key for key in sorted(base.keys() | head.keys()) if (base.get(key), key in base) != (head.get(key), key in head)
    ]


def _value(what: str, base: Any, head: Any) -> str:
    return f"{what}: {str(base)[:SHOWN]} for base, {str(head)[:SHOWN]} for head"
