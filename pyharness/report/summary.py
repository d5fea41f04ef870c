"""The beginning of a report: winners on each text, ties, answers of benchmarks, and cases without numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pyharness.benchmarks import benchmarks
from pyharness.report.costs import best_noun
from pyharness.report.ranking import Ranked, ranked_costs, ranked_texts, rankings
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.cases import parts_read
from pyharness.store import Record
from pyharness.types import Answer, counted, listed

TITLE = "In short"
MOST_TEXTS = 4  # named one by one
MOST_GROUPS = 4  # of tied rows with names
_HEADINGS = (Heading("question", "name", whole=True), Heading("answer", "prose"))


def summary_sheets(record: Record) -> list[Sheet]:
    """Return one sheet with a line per question; nothing if the record has no answer."""
    lines: dict[str, list[Answer]] = {}
    for answer in (*_of_rankings(record), *_of_benchmarks(record), *_answer_unmeasured(record)):
        lines.setdefault(answer.question, []).append(answer)
    rows = []
    for question, answers in lines.items():
        # One bad answer makes all of them bad news.
        sign = min((one.sign for one in answers), key=("alarm", "", "calm").index)
        rows.append((Cell(question), Cell(" ".join(one.text for one in answers), sign=sign)))
    return [Sheet(TITLE, _HEADINGS, tuple(rows))] if rows else []


def _of_rankings(record: Record) -> Iterator[Answer]:
    for benchmark, metric in rankings(record):
        columns = {text: one for text, one in ranked_texts(record, benchmark, metric).items() if len(one) > 1}
        if columns:
            yield Answer(best_noun(benchmark, metric).capitalize(), _winners(columns, metric))
            yield from _ties(columns)


def _winners(columns: Mapping[str, Mapping[str, Ranked]], metric: str) -> str:
    """Return rows that are first: text by text with the next row, or with their number of texts."""
    if len(columns) <= MOST_TEXTS:
        return "; ".join(f"{text}: {_first(column)}{_next(column, metric)}" for text, column in columns.items()) + "."
    texts = Counter(_first(column) for column in columns.values())
    return "; ".join(f"{first} on {count} of {len(columns)} texts" for first, count in texts.most_common()) + "."


def _first(column: Mapping[str, Ranked]) -> str:
    competing = [label for label, one in column.items() if one.competes]
    if not competing:
        return "no row, as each was trained on it"
    first = [label for label in competing if column[label].rank == 1]
    if not first:
        return f"{competing[0]} (no rank: {column[competing[0]].unranked})"
    winner, *tied = first
    return f"{winner} (tied with {listed(tied)})" if tied else winner


def _next(column: Mapping[str, Ranked], metric: str) -> str:
    """Name the first row behind those of rank 1, with its cost."""
    behind = next((label for label, one in column.items() if one.competes and (one.rank or 0) > 1), None)
    return "" if behind is None else f", then {behind} {ranked_costs(column, metric)[behind].text}"


def _ties(columns: Mapping[str, Mapping[str, Ranked]]) -> Iterator[Answer]:
    """Name rows that share a rank, the best first, with their texts, and rows that nothing judges."""
    groups: dict[tuple[int, str], list[str]] = {}
    open_: dict[str, list[str]] = {}
    for text, column in columns.items():
        ranks = [one.rank for one in column.values() if one.rank is not None]
        for rank in {rank for rank in ranks if ranks.count(rank) > 1}:
            tied = listed([label for label, one in column.items() if one.rank == rank])
            groups.setdefault((rank, f"rank {rank}: {tied}"), []).append(text)
        if rows := [label for label, one in column.items() if one.competes and one.rank is None]:
            open_.setdefault(listed(rows), []).append(text)
    best_first = sorted(groups.items(), key=lambda one: one[0][0])[:MOST_GROUPS]
    shown, unjudged = [[f"{rows} on {_texts(texts, len(columns))}" for rows, texts in by_rows.items()]
                       for by_rows in ({rows: texts for (_, rows), texts in best_first}, open_)]  # fmt: skip
    if (more := len(groups) - MOST_GROUPS) > 0:
        shown.append(f"{more} more groups of tied rows")
    if shown or not open_:
        yield Answer("Tied", f"{'; '.join(shown)}." if shown else "No pair of rows.")
    if unjudged:
        yield Answer("No rank", f"{'; '.join(unjudged)}.")


def _of_benchmarks(record: Record) -> Iterator[Answer]:
    """Yield benchmarks' answers about their results; if a function fails, as a plug-in's may, the answer says so."""
    for name in record.benchmarks:
        benchmark = benchmarks().get(name)
        results = [result for result in record.of(name) if result.status == "ok"]
        if benchmark is not None and benchmark.answers is not None and results:
            try:
                answers = list(benchmark.answers(results, record.data))
                yield from (Answer(str(one.question), str(one.text), one.sign) for one in answers)
            except Exception as error:
                yield Answer(name, f"No answer: {type(error).__name__}: {str(error)[:200]}")


def _answer_unmeasured(record: Record) -> Iterator[Answer]:
    counts = Counter(result.status for result in record.results if result.status != "ok")
    total = counted(len(record.results), "case")
    reasons = [f"{counts[status]:,} of {total} {status}" for status in ("failed", "skipped") if counts[status]]
    if not record.data["complete"]:
        reasons.append("the run is not complete")
    for note in parts_read(record.data, record.data["corpora"]):
        yield Answer("Not measured", note, "alarm")
    if reasons:
        yield Answer("Not measured", f"{', '.join(reasons)}.", "alarm")


def _texts(texts: Sequence[str], total: int) -> str:
    if len(texts) == total > 1:
        return f"all {total} texts"
    return listed(texts) if min(len(texts), total - 2) <= 2 else f"{len(texts)} of {total} texts"
