"""A difference of one number and its verdict, and differences as sheets.

There are three judges: the paired interval, over groups of documents or, for times, over rounds; without one, for
metrics that follow the number of tokens alone, the signed ranks of the documents; and for an exact metric the values
themselves. Without a judge, a primary deterministic metric with a better direction is *inconclusive*: no verdict is no
pass. Others without a judge have no verdict.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyharness.benchmarks import benchmarks
from pyharness.metrics import all_metrics
from pyharness.report.sheet import NOTHING, Cell, Heading, Sheet
from pyharness.report.sheet.cases import TRAINED_MARK
from pyharness.report.sheet.strings import writable
from pyharness.statistics.signed_ranks import SignedRanks
from pyharness.types import COUNT, PLAIN, Format, counted

INCONCLUSIVE, NO_CURVE, NOT_SIGNIFICANT, EQUAL = "inconclusive", "no curve", "not significant", "same"
DEPENDS_ON_SIZE, UNJUDGED, OTHER = "depends on size", "no verdict", "other"


@dataclass(frozen=True, slots=True)
class Difference:
    """``b - a`` of one metric of one case."""

    title: str  # benchmark, rows, text and parameters
    metric: str
    part: str | None
    a: float | None
    b: float | None
    interval: tuple[float, float] | None
    direction: str
    tolerance: float = 0.0  # relative
    grows_with_text: bool = False
    exact: bool = False  # any difference counts, without an interval
    deterministic: bool = True
    curve: tuple[float | None, ...] = ()  # b - a on nested parts of the text, the last of which is all of it
    no_interval: str | None = None  # why there is no interval, and why a test of the documents decides nothing
    primary: bool = False
    ranks: SignedRanks | None = None  # of the tokens of every document, in place of an interval

    @property
    def name(self) -> str:
        """Metric and part."""
        return self.metric if self.part is None else f"{self.metric} {self.part}"

    @property
    def share(self) -> float | None:
        """``b - a`` as a share of the absolute value of ``a``; None if ``a`` is zero or a value is missing."""
        return (self.b - self.a) / abs(self.a) if self.a and self.b is not None else None

    @property
    def holds_along_curve(self) -> bool:
        """Whether the difference is known, and has one sign, on every part of the text; False without two parts."""
        differences = [difference for difference in self.curve if difference is not None]
        return len(differences) == len(self.curve) > 1 and (min(differences) > 0 or max(differences) < 0)

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` only if a CI, a test or exact values decide; ``differs`` without a better direction.

        ``same`` if the values are equal, or within the ``tolerance``. ``not significant`` if the CI is not all on the
        side of ``b - a``. ``depends on size`` if a metric that grows with the text does not have a difference of one
        sign on every part of it; ``no curve`` if the records lack these. ``inconclusive`` if nothing judges a primary
        deterministic metric with a better direction; "" if nothing judges another one, or a value is missing.
        """
        if self.a is None or self.b is None:
            return ""
        if math.isclose(self.a, self.b, rel_tol=self.tolerance):
            return EQUAL
        if self.interval is None and not self.exact:
            if self.judged_by_ranks:
                return self._way
            return INCONCLUSIVE if self.primary and self.deterministic and self.direction != "none" else ""
        if self.interval is not None:
            low, high = self.interval
            if not (low > 0 if self.b > self.a else high < 0):  # medians and rounds may differ in sign
                return NOT_SIGNIFICANT
        if self.grows_with_text and not self.holds_along_curve:
            return DEPENDS_ON_SIZE if self.curve else NO_CURVE
        return self._way

    @property
    def judged_by_ranks(self) -> bool:
        """Whether the documents judge: more often than by chance, B takes more tokens if worse, fewer if better.

        If one long document outweighs the others, the number itself may go the other way: then nothing judges.
        """
        if self.interval is not None or self.exact or self.ranks is None or not self.ranks.decides:
            return False
        return self._way == ("worse" if self.ranks.sign > 0 else "better")

    @property
    def _way(self) -> str:
        """Verdict of the values alone, for two that differ."""
        if self.direction == "none":
            return "differs"
        return "better" if ((self.b or 0) > (self.a or 0)) == (self.direction == "higher") else "worse"

    @property
    def unjudged(self) -> bool:
        """Whether values of a deterministic metric with a better direction differ, but have no verdict of a judge."""
        judgeable = self.a is not None and self.b is not None and self.deterministic and self.direction != "none"
        return judgeable and self.verdict in (INCONCLUSIVE, NO_CURVE, "")

    @property
    def looks_worse(self) -> bool:
        """Whether B's value looks worse, by chance or not; a better one never fails under ``--fail-on worse``."""
        return self._way == "worse"

    @property
    def judged_by(self) -> str:
        """Source of the verdict, in words; "" without a judge."""
        if self.verdict == EQUAL:
            return ""
        if self.judged_by_ranks and self.ranks is not None:
            return said_of(self.ranks)
        if self.interval is not None:
            return "interval"
        return "values" if self.exact else ""


def said_of(ranks: SignedRanks) -> str:
    """Return a signed-rank test in words."""
    return f"signed-rank test over {counted(ranks.differing, 'document')} in which A and B differ, p = {ranks.p:.2g}"


SHOWN = ("worse", "better", INCONCLUSIVE)  # verdicts shown without --all
_COUNTED = (NOT_SIGNIFICANT, DEPENDS_ON_SIZE, EQUAL)  # shown with --all; the summary has a column for each
RESOLVED = ("worse", "better", "differs")  # verdicts with a direction or a difference, in the order of display
_ALL = (*RESOLVED, INCONCLUSIVE, NOT_SIGNIFICANT, DEPENDS_ON_SIZE, NO_CURVE, UNJUDGED, EQUAL)
_MEANINGS = {
    "differs": "significant, and neither is better", NOT_SIGNIFICANT: "the CI includes 0", EQUAL: "equal values",
    INCONCLUSIVE: "primary (main) metrics that neither a CI nor a test can judge",
    OTHER: "all remaining metrics; --all shows them",
    DEPENDS_ON_SIZE: "the change has another sign on 1/8, 1/4 or 1/2 of the text",
}  # fmt: skip


def resolved_first(found: Iterable[Difference]) -> tuple[list[Difference], list[Difference]]:
    """Return significant differences, worse before better and the largest first; then the others, in their order.

    Inconclusive ones are first among the others.
    """
    resolved: list[Difference] = []
    others: list[Difference] = []
    for one in found:
        (resolved if one.verdict in RESOLVED else others).append(one)
    resolved.sort(key=lambda one: (RESOLVED.index(one.verdict), -math.inf if one.share is None else -abs(one.share)))
    return resolved, sorted(others, key=lambda one: one.verdict != INCONCLUSIVE)


_HEADINGS = (Heading("metric", "prose"), *map(Heading, ("A", "B", "change")), Heading("verdict", "word"))
_FEW, _MANY, _ANY = Format("{:+.2g} %", 100), Format("{:+,.0f} %", 100), Format("{:.5g}")
_MUCH = 0.0995  # from this share on, a change is shown without a decimal
_FLAT = (
    "cases", "metric", "part", "a", "b", "difference", "low", "high", "direction", "verdict", "judged_by", "documents",
    "p", "reason",
)  # fmt: skip
_WORDS = ("cases", "metric", "part", "direction", "verdict", "judged_by", "reason")
_OF_TEXT = "±: half-width of the paired 95 % CI of the change."
_IN_TURN = "[low, high]: 95 % CI of the median difference over rounds. The difference shown may lie outside."
_CHANGE = "A: the first of the pair. B: the second. change: (B - A) / A."
_TRAINED = f"{TRAINED_MARK} was trained on this text. A gain there says nothing about other text."
_NEITHER = "Without ±: no CI. --format csv gives the reason for each. `pyharness list metrics` explains the metrics."
_OUT_OF_TURN = "Times without a CI have no verdict: two records, or fewer than 6 interleaved rounds (rounds=10)."


def difference_sheets(differences: Sequence[Difference], every: bool = True) -> list[Sheet]:
    """Return sheets for people: a summary, and one for each pair of rows on a text, or with ``every`` for each case.

    Equal numbers are counted in the summary alone. Without ``every``, so is what is neither better nor worse nor
    inconclusive. Differences without a number on one side are left out. With ``every``, a single case without equal
    numbers has no summary.
    """
    groups: dict[str, list[Difference]] = {}
    for one in differences:
        if one.a is not None and one.b is not None:
            groups.setdefault(one.title if every else one.title.partition(" | ")[2], []).append(one)
    chosen = {title: [one for one in judged if _is_shown(one, every)] for title, judged in groups.items()}
    shown = {
        title: judged if every else sorted(judged, key=lambda one: _ALL.index(one.verdict or UNJUDGED))
        for title, judged in chosen.items()
        if judged
    }
    sheets = [_sheet(title, judged, every) for title, judged in shown.items()]
    if sheets:
        hidden = {one.verdict for judged in groups.values() for one in judged if not _is_shown(one, every)}
        notes = tuple(_legend([one for judged in shown.values() for one in judged], hidden))
        sheets[-1] = replace(sheets[-1], notes=(*sheets[-1].notes, *notes))
    return [*_summary(groups, every), *sheets]


def _is_shown(one: Difference, every: bool) -> bool:
    return one.verdict != EQUAL if every else one.verdict in SHOWN


def _legend(shown: Sequence[Difference], hidden: Collection[str]) -> Iterator[str]:
    """Explain the columns, and name the columns of the summary whose metrics are not shown."""
    yield from notes_below(shown)
    yield _CHANGE
    if {*hidden} - {EQUAL}:
        columns = dict.fromkeys(one if one in _COUNTED else OTHER for one in sorted(hidden))
        yield f"Not shown: metrics counted as {' or '.join(columns)} (see --all)."


def _summary(groups: Mapping[str, Sequence[Difference]], every: bool) -> list[Sheet]:
    """Return a sheet, if any, that counts verdicts: behind the names, the change of the metric that ranks rows."""
    named: Sequence[str] = _ALL if every else (*SHOWN, *_COUNTED)
    verdicts = {title: [one.verdict or UNJUDGED for one in judged] for title, judged in groups.items()}
    counts = {title: Counter(one if one in named else OTHER for one in judged) for title, judged in verdicts.items()}
    columns = [one for one in (*named[:-1], OTHER, EQUAL) if any(count[one] for count in counts.values())]
    if not counts or (every and len(counts) < 2 and EQUAL not in columns):
        return []
    ranking = {one.ranks for one in benchmarks().values() if one.ranks}
    ranked = {title: next((one for one in judged if one.metric in ranking), None) for title, judged in groups.items()}
    first = {one.metric.replace("_", " ") for one in ranked.values() if one is not None and one.verdict != EQUAL}
    about, name, rest = _apart(list(counts))
    rows = [
        (Cell(title), *([_change(ranked[whole])] if first else ()), *(Cell(count[one], COUNT) for one in columns))
        for title, (whole, count) in zip(rest, counts.items(), strict=True)
    ]
    headings = (Heading(name, "prose"), *map(Heading, [*([" / ".join(sorted(first))] if first else ()), *columns]))
    meanings = tuple(f"{one}: {_MEANINGS[one]}." for one in columns if one in _MEANINGS)
    if INCONCLUSIVE in columns and NOT_SIGNIFICANT not in columns:
        meanings += ("Every change that has a CI is significant here.",)
    title = f"Summary{about}: {''.join(f'change of {one}; ' for one in sorted(first))}number of metrics by verdict"
    return [Sheet(title, headings, tuple(rows), meanings)]


def _apart(titles: Sequence[str]) -> tuple[str, str, list[str]]:
    """Return what comparisons have in common, in words, the name of the rest, and the rest of each title.

    Titles with a pair on the same place can share it, or its first row.
    """
    parts = [title.split(" | ") for title in titles]
    place = next((place for place, part in enumerate(parts[0]) if " -> " in part), None)
    alike = place is not None and all(len(one) > place + 1 and one[:place] == parts[0][:place] for one in parts)
    if place is not None and alike:
        heads, pairs = ", ".join(parts[0][:place]), [one[place] for one in parts]
        tails, one_text = [", ".join(one[place + 1 :]) for one in parts], all(len(one) == place + 2 for one in parts)
        if len(set(pairs)) == 1:
            return f" of {', '.join(filter(None, (heads, pairs[0])))}", "text" if one_text else "case", tails
        first = pairs[0].partition(" -> ")[0]
        if not heads and all(pair.startswith(f"{first} -> ") for pair in pairs):
            rest = [f"{pair.removeprefix(f'{first} -> ')}, {tail}" for pair, tail in zip(pairs, tails, strict=True)]
            return f", compared with {first}", "tokenizer, text" if one_text else "case", rest
    return "", "pair", [", ".join(one) for one in parts]


def judged_otherwise(shown: Iterable[Difference]) -> Iterator[str]:
    """Name the tests that judge in place of an interval, and the reasons why primary metrics are not judged."""
    tests: dict[str, list[str]] = {}
    lacks: dict[str, list[str]] = {}
    for one in shown:
        if one.judged_by_ranks:
            tests.setdefault(one.judged_by, []).append(one.name)
        elif one.unjudged and one.primary:
            lack = NO_CURVE if one.verdict == NO_CURVE else one.no_interval or "no interval"
            lacks.setdefault(lack, []).append(one.name)
    for test, of in tests.items():
        yield f"{', '.join(dict.fromkeys(of))}: no CI of the change. Verdict from token counts by document: {test}."
    yield from (f"Inconclusive ({lack}): {', '.join(dict.fromkeys(of))}." for lack, of in lacks.items())


def notes_below(shown: Sequence[Difference]) -> tuple[str, ...]:
    """Explain the intervals of differences, why some are missing, and the mark of rows trained on the text."""
    in_turn = any(_in_turn(one) for one in shown)
    out_of_turn = any(not one.deterministic and one.interval is None for one in shown)
    of_text = any(one.deterministic for one in shown) or not in_turn
    neither = any(one.deterministic and one.interval is None for one in shown)
    trained = any(TRAINED_MARK in one.title for one in shown)
    chosen = {_TRAINED: trained, _OF_TEXT: of_text, _IN_TURN: in_turn, _NEITHER: neither,
              _OUT_OF_TURN: out_of_turn}  # fmt: skip
    return tuple(note for note, wanted in chosen.items() if wanted)


def _in_turn(difference: Difference) -> bool:
    return not difference.deterministic and difference.interval is not None


def _sheet(title: str, shown: Sequence[Difference], every: bool) -> Sheet:
    """Return the differences of one pair of rows on a text."""
    notes = (*judged_otherwise(shown), *(along_curve(shown) if every else ()))
    return Sheet(title, _HEADINGS, tuple(map(_row, shown)), notes)


def one_table(shown: Sequence[Difference], notes: Sequence[str]) -> Sheet:
    """Return the differences of any rows and texts in one sheet without a title."""
    headings = (Heading("cases", "name"), *_HEADINGS)
    return Sheet("", headings, tuple((Cell(one.title), *_row(one)) for one in shown), (*notes, _CHANGE))


def _row(one: Difference) -> tuple[Cell, ...]:
    shown = _format(one)
    return Cell(one.name), Cell(one.a, shown), Cell(one.b, shown), _change(one), Cell(one.verdict)


def _format(one: Difference) -> Format:
    metric = all_metrics().get(one.metric)
    if metric is not None and metric.format is not PLAIN:
        shown = metric.format
        return shown if shown.unit in shown.pattern else replace(shown, pattern=f"{shown.pattern} {shown.unit}")
    return COUNT if {type(one.a), type(one.b)} == {int} else _ANY if metric is None else PLAIN


def _change(one: Difference | None) -> Cell:
    """Return B - A as a share of A, with its interval; where A is 0, B - A itself."""
    if one is None or one.a is None or one.b is None:
        return Cell()
    if one.share is None:
        shown = _format(one)
        return Cell(one.b - one.a, replace(shown, pattern=f"{{:+{shown.pattern.partition(':')[2].removeprefix('+')}"))
    size = abs(one.a)
    interval = None if one.interval is None else (one.interval[0] / size, one.interval[1] / size)
    return Cell(one.share, _FEW if abs(one.share) < _MUCH else _MANY, interval, bounds=_in_turn(one))


def flat_differences(differences: Sequence[Difference]) -> Sheet:
    """Return one row per metric, part and pair of cases, values in full."""
    rows = []
    for one in differences:
        low, high = one.interval or (None, None)
        ranks = one.ranks if one.judged_by_ranks else None
        b_minus_a = None if one.a is None or one.b is None else one.b - one.a
        values = (
            one.title, one.metric, one.part, one.a, one.b, b_minus_a, low, high, one.direction, one.verdict,
            one.judged_by, None if ranks is None else ranks.pairs, None if ranks is None else ranks.p, one.no_interval,
        )  # fmt: skip
        rows.append(tuple(Cell(writable(value)) for value in values))
    headings = tuple(Heading(title, "word" if title in _WORDS else "number") for title in _FLAT)
    return Sheet("differences", headings, tuple(rows))


def along_curve(shown: Sequence[Difference]) -> Iterator[str]:
    """For metrics that grow with the text, say how the difference changes with its size."""
    growing = [one for one in shown if one.grows_with_text and one.curve]
    if not growing:
        return
    yield "These grow with the text, so sign and size of B - A can change with more text."
    yield "B - A on 1/8, 1/4, 1/2 and all of it:"
    for one in growing:
        steps = ", ".join(NOTHING if step is None else f"{step:+.3g}" for step in one.curve)
        yield f"{one.metric}: {steps}"
