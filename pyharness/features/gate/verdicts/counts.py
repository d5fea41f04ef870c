"""The rule on memory and instructions: what is nearly the same in every launch needs no test.

"Nearly": the growth of a process goes by chance as well, so that one launch of many may not show what others do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyharness.features.gate.types import SIDES, Figure, GateVerdict, Judgement, Rounds, Side
from pyharness.features.gate.verdicts.wording import BETTER, WORSE, change, megabytes, percent, several
from pyharness.statistics.samples import median


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a figure may grow by."""

    share: float
    least: int  # growth that is never too much
    launches: int  # that have to agree


ALLOWED: Mapping[Figure, Allowance] = {
    "memory": Allowance(0.05, 1 << 20, 2),  # pages come in pools: a process may take a megabyte by chance
    "instructions": Allowance(0.01, 0, 1),  # none of 30 pairs of identical code was further apart
}


AGREE = 0.8  # share of launches that show a change, or it is none: 9 of 11


def pairs(rounds: Iterable[Rounds], figure: Figure) -> list[Mapping[Side, int]]:
    """Values of all launches that have both sides."""
    found = [part.memory if figure == "memory" else part.instructions for part in rounds]
    return [values for values in found if all(side in values for side in SIDES)]


def grows(values: Mapping[Side, int], figure: Figure, more: Side = "head") -> bool:
    """Whether one side takes more than is allowed."""
    allowed, less = ALLOWED[figure], values["base" if more == "head" else "head"]
    return values[more] > less * (1 + allowed.share) and values[more] - less > allowed.least


def judge_counts(benchmark: str, figure: Figure, rounds: Sequence[Rounds]) -> Judgement | None:
    """Judge one figure of one benchmark; None where no launch has it."""
    if not (found := pairs(rounds, figure)):
        return None
    verdict, words = _decision(found, figure)
    values = {side: median([one[side] for one in found]) for side in SIDES}
    effects = [_relative(one) for one in found]
    known = [effect for effect in effects if effect is not None]
    effect = median(known) if len(known) == len(found) else None
    what = "grows from nothing" if effect is None else change(effect, figure)
    seen = f"{what} in {several(len(found), 'launch')}"
    if figure == "memory":
        seen += f" ({megabytes(values)})"
    budget = ALLOWED[figure].share
    reason = f"{seen}, budget {percent(budget)}{words}"
    return Judgement(
        benchmark, figure, verdict, effect=effect, budget=budget, launches=len(found) - 1, values=values, reason=reason
    )


def _relative(values: Mapping[Side, int]) -> float | None:
    """head / base - 1; None where something grows from nothing."""
    if values["base"] <= 0:
        return None if values["head"] > 0 else 0.0
    return values["head"] / values["base"] - 1


def _decision(found: Sequence[Mapping[Side, int]], figure: Figure) -> tuple[GateVerdict, str]:
    worse, better = (sum(grows(one, figure, side) for one in found) for side in ("head", "base"))
    needed = max(AGREE * len(found), ALLOWED[figure].launches)
    word = WORSE[figure] if worse >= better else BETTER[figure]
    words = f"; {word} in {max(worse, better)} of {several(len(found), 'launch')}"
    if worse >= needed:
        return GateVerdict.REGRESSION, words if worse < len(found) else ""
    if better >= needed:
        return GateVerdict.IMPROVEMENT, words if better < len(found) else ""
    if worse == len(found):
        return GateVerdict.INCONCLUSIVE, "; one launch does not prove it, and the time ran out"
    if 2 * worse > len(found):  # then the median launch is beyond the limit
        return GateVerdict.INCONCLUSIVE, f"{words}: too many to pass, too few to prove it"
    alone = better == len(found)  # fewer launches than it takes, and the effect says it already
    return GateVerdict.PASS, f"{words} only" if (worse or better) and not alone else ""
