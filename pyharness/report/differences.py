"""A comparison as sheets: one per pair of rows and text for people, one flat sheet for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pyharness.report.comparison import Difference
from pyharness.report.rows.trained_on import MARK
from pyharness.report.sheet import NOTHING, Cell, Heading, Sheet
from pyharness.report.sheet.escaping import writable
from pyharness.types import Format

_METRIC, _VERDICT = Heading("metric", "prose"), Heading("verdict", "word")
_VALUE, _DIFFERENCE, _WIDTH = Format("{:.5g}"), Format("{:+.4g}"), Format("{:.2g}")
_TIME, _TIME_DIFFERENCE, _END = Format("{:.4g}"), Format("{:+.3g}"), Format("{:+.2g}")  # as narrow: a column more
_FLAT = (
    "cases", "metric", "part", "a", "b", "difference", "low", "high", "direction", "verdict", "judged_by", "documents",
    "p", "reason",
)  # fmt: skip
_WORDS = ("cases", "metric", "part", "direction", "verdict", "judged_by", "reason")
_OF_TEXT = "±: half of the paired 95 % interval of the difference, of as much other text of this kind;"
_IN_TURN = "low, high: 95 % interval of the median over rounds of B - A, and may lie to one side of the B - A shown;"
_TRAINED = f"{MARK} was trained on this text: what it gains there it need not gain on other text."
_NEITHER = "-: too few documents, or a metric without an interval."
_OUT_OF_TURN = (
    "Times without an interval have no verdict: rows did not take turns, or in fewer than 6 rounds. Measure with "
    "rounds=10."
)


def difference_sheets(differences: Sequence[Difference]) -> list[Sheet]:
    """Sheets for people, in the order of the cases."""
    by_title: dict[str, list[Difference]] = {}
    for difference in differences:
        if difference.a is not None and difference.b is not None:
            by_title.setdefault(difference.title, []).append(difference)
    last, notes = list(by_title)[-1:], notes_below([one for shown in by_title.values() for one in shown])
    return [
        _sheet(title, shown, (*judged_otherwise(shown), *along_curve(shown), *notes * (title in last)))
        for title, shown in by_title.items()
    ]


def judged_otherwise(shown: Iterable[Difference]) -> Iterator[str]:
    """Say by which test a verdict is that no interval gave, and why there is none."""
    tests: dict[str, list[str]] = {}
    lacks: dict[str, list[str]] = {}
    for one in shown:
        if one.judged_by_ranks:
            tests.setdefault(one.judged_by, []).append(one.name)
        elif one.unjudged and one.primary:
            lacks.setdefault(one.no_interval or "no interval", []).append(one.name)
    yield from (f"Verdict by a {test}, one for all of: {', '.join(dict.fromkeys(of))}." for test, of in tests.items())
    yield from (f"Inconclusive: {', '.join(dict.fromkeys(of))}: {lack}." for lack, of in lacks.items())


def notes_below(shown: Sequence[Difference]) -> tuple[str, ...]:
    """What intervals of differences are, and why there is none."""
    in_turn = any(_in_turn(one) for one in shown)
    out_of_turn = any(not one.deterministic and one.interval is None for one in shown)
    of_text = any(one.deterministic for one in shown) or not in_turn
    trained = any(MARK in one.title for one in shown)
    chosen = {_TRAINED: trained, _OF_TEXT: of_text, _IN_TURN: in_turn, _NEITHER: True, _OUT_OF_TURN: out_of_turn}
    return tuple(note for note, wanted in chosen.items() if wanted)


def _in_turn(difference: Difference) -> bool:
    return not difference.deterministic and difference.interval is not None


def _sheet(title: str, shown: Sequence[Difference], notes: tuple[str, ...]) -> Sheet:
    """One pair of rows. Half of an interval says nothing of one whose middle is elsewhere: of times, both ends are."""
    ends = any(map(_in_turn, shown))
    numbers = ("A", "B", "B - A", *(("low", "high") if ends else ("±",)))
    rows = tuple(_row(one, *(_ends if ends else _half)(one)) for one in shown)
    return Sheet(title, (_METRIC, *map(Heading, numbers), _VERDICT), rows, notes)


def _row(difference: Difference, *numbers: Cell) -> tuple[Cell, ...]:
    return Cell(difference.name), *numbers, Cell(difference.verdict)


def _half(one: Difference) -> tuple[Cell, ...]:
    half = None if one.interval is None else (one.interval[1] - one.interval[0]) / 2
    return Cell(one.a, _VALUE), Cell(one.b, _VALUE), Cell(_b_minus_a(one), _DIFFERENCE), Cell(half, _WIDTH)


def _ends(one: Difference) -> tuple[Cell, ...]:
    low, high = one.interval or (None, None)
    difference = Cell(_b_minus_a(one), _TIME_DIFFERENCE)
    return Cell(one.a, _TIME), Cell(one.b, _TIME), difference, Cell(low, _END), Cell(high, _END)


def _b_minus_a(one: Difference) -> float | None:
    return None if one.a is None or one.b is None else one.b - one.a


def flat_differences(differences: Sequence[Difference]) -> Sheet:
    """One row per metric, part and pair of cases, values in full."""
    rows = []
    for one in differences:
        low, high = one.interval or (None, None)
        ranks = one.ranks if one.judged_by_ranks else None
        values = (
            one.title, one.metric, one.part, one.a, one.b, _b_minus_a(one), low, high, one.direction, one.verdict,
            one.judged_by, None if ranks is None else ranks.pairs, None if ranks is None else ranks.p, one.no_interval,
        )  # fmt: skip
        rows.append(tuple(Cell(writable(value)) for value in values))
    headings = tuple(Heading(title, "word" if title in _WORDS else "number") for title in _FLAT)
    return Sheet("differences", headings, tuple(rows))


def along_curve(shown: Sequence[Difference]) -> Iterator[str]:
    """Say of what grows with the text how the difference goes with its size."""
    growing = [one for one in shown if one.grows_with_text and one.curve]
    if not growing:
        return
    yield "These grow with the text, so that sign and size of B - A can change with more of it;"
    yield "on 1/8, 1/4, 1/2 and all of it B - A is:"
    for one in growing:
        steps = ", ".join(NOTHING if step is None else f"{step:+.3g}" for step in one.curve)
        yield f"{one.metric}: {steps}"
