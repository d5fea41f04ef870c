"""What benchmarks have drawn: numbers under a figure are the record's, and what is read out of it are these numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from drawn.charts import SVG, parsed, spoken_marks, strokes, written
from paged import made
from pyharness import store
from pyharness.benchmarks import benchmarks
from pyharness.metrics import all_metrics
from pyharness.report.page.sections import MOST_DRAWN, frontier, plots, sections_of, tradeoffs, turned
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.parts import Figure, Section
from pyharness.statistics.samples import interval_of
from pyharness.types import Column, Measurement

ROWS = ("first", "second", "third")


def measured(metric: str, parts: tuple[str | None, ...], row: int, samples: bool) -> Iterator[dict[str, Any]]:
    for place, part in enumerate(parts):
        first = sum(map(ord, metric)) / 1e5  # no two metrics have a value in common
        values = [first * (row + 1) * (place + 1) + number / 1e5 for number in range(7)]
        one: dict[str, Any] = {"metric": metric, "value": values[3]}
        yield one | ({} if part is None else {"part": part}) | ({"samples": values} if samples else {})


def record(benchmark: str, metrics: Mapping[str, tuple[str | None, ...]], samples: bool = True) -> store.Record:
    results = [
        made.case(benchmark, label, "text", [one for metric, parts in metrics.items()
                                             for one in measured(metric, parts, row, samples)])
        for row, label in enumerate(ROWS)
    ]  # fmt: skip
    return made.of_results(results, ROWS, ["text"])


def figures(section: Section) -> list[Figure]:
    return [block for block in section.blocks if isinstance(block, Figure)]


def the_only(read: store.Record) -> Section:
    (section,) = plots(read)
    return section


DOTS: dict[str, dict[str, tuple[str | None, ...]]] = {
    "throughput": {"encode_bytes_per_second": ("steady",), "decode_bytes_per_second": ("steady",)},
    "latency": {"latency_p50": ("32 B", "512 B"), "latency_p99": ("32 B", "512 B")},
    "training": {"train_seconds": ("total", "reading", "merging")},
    "next_token_entropy": {"bits_per_byte": (None,), "word_position_nll": ("0", "1", "2"),
                           "token_length_bits_per_byte": ("1", "2")},
    "load": {"load_seconds": (None,), "peak_memory_bytes": (None,)},
    "fairness": {"parity": ("tha_Thai", "est_Latn", "fra_Latn", "jpn_Jpan")},
}  # fmt: skip


@pytest.mark.parametrize("of", [name for name in DOTS if name in benchmarks()])
def test_numbers_are_the_records_and_are_read_out(of: str) -> None:
    read = record(of, DOTS[of])
    known = {(one.case.key, each.value): each for one in read.results for each in one.measurements}
    drawn = figures(the_only(read))
    seen: list[Measurement] = []
    for figure in drawn:
        sheet = figure.numbers
        numbers = [(row[0].value, head.title, cell) for row in sheet.rows
                   for head, cell in zip(sheet.headings[1:], row[1:], strict=True)]  # fmt: skip
        for _, _, cell in numbers:
            one = known[str(cell.case), cell.value]  # type: ignore[index]
            assert cell.samples == one.samples
            assert cell.interval in (None, interval_of(one))
            seen.append(one)
        panels = len(sheet.headings) > 2
        expected = [f"{row}, {panel}: {cell.text}" if panels else f"{row}: {cell.text}" for row, panel, cell in numbers]
        assert sorted(spoken_marks(figure.svg)) == sorted(expected)
        assert figure.title == sheet.title
    assert {(one.metric, one.part) for one in seen} == {
        (metric, part) for metric, parts in DOTS[of].items() for part in parts
    }


def test_every_sample_is_a_stroke() -> None:
    with_samples, without = (
        figures(the_only(record("load", DOTS["load"], samples)))[0].svg for samples in (True, False)
    )
    assert strokes(with_samples) - strokes(without) >= 7 * len(ROWS)


def test_languages_are_sorted_by_the_reference() -> None:
    sheet = figures(the_only(record("fairness", DOTS["fairness"])))[0].numbers
    assert sheet.columns == ("parity", *ROWS)
    values = [float(str(row[1].value)) for row in sheet.rows]
    assert values == sorted(values)
    assert len(values) == 4
    empty = Sheet("x", (Heading("r", "name"), Heading("b"), Heading("a")), ((Cell("row"), Cell(None), Cell(2.0)),))
    assert turned(empty, "no such row").texts == (("a", "2.0000"), ("b", "-"))


def knee(sizes: Mapping[str, int], specs: Mapping[str, str]) -> Figure:
    results = [
        made.case("compression", row, "text", [{"metric": "tokens_per_word", "value": 30 / size**0.3}])
        for row, size in sizes.items()
    ]
    widths = [made.case("vocabulary", row, None, [{"metric": "embedding_parameters", "value": size * 768,
                                                   "part": "d=768"}]) for row, size in sizes.items()]  # fmt: skip
    tokenizers = {row: {"spec": specs.get(row, "x"), "vocab_size": size} for row, size in sizes.items()}
    (figure,) = figures(next(iter(plots(made.of_results(
        results + widths, list(sizes), ["text"], tokenizers=tokenizers)))))  # fmt: skip
    return figure


def test_the_knee_has_size_words_and_parameters() -> None:
    figure = knee({"a": 1000, "b": 32000, "c": 200_000}, {})
    assert figure.numbers.columns == ("tokenizer", "vocabulary size", "tokens/word", "V x d, d=768")
    assert {row[0].value: row[3].value for row in figure.numbers.rows}["b"] == 32000 * 768
    said = spoken_marks(figure.svg)
    for label, size, words, width in figure.numbers.texts:
        assert f"{label}: vocabulary size {size}, tokens/word {words}" in said
        assert f"{label}: vocabulary size {size}, V x d, d=768 {width}" in said
    assert "V x d, d=768" in written(figure.svg)


def test_rows_of_one_recipe_are_joined() -> None:
    specs = {f"bpe {size}": f"trained:bpe?corpus=path:x&vocab_size={size}" for size in (1000, 2000, 4000)}
    sizes = {row: int(row.split()[1]) for row in specs} | {"gpt2": 50_000}
    joined, apart = knee(sizes, specs), knee(sizes, {})
    lines = [sum("L" in one.get("d", "") and one.get("fill", "none") == "none" and bool(one.get("stroke"))
                 for one in parsed(figure.svg).iter()) for figure in (joined, apart)]  # fmt: skip
    assert lines == [2, 0], "in both panels"
    assert "bpe" in written(joined.svg)
    assert any(said.startswith("bpe: bpe 2000, vocabulary size 2,000, tokens") for said in spoken_marks(joined.svg))


def test_of_many_texts_some_are_drawn_and_of_the_others_it_is_said_where_they_are() -> None:
    texts = made.names("text", MOST_DRAWN + 3)
    sections = {section.title: section for section in plots(made.record(["a", "b"], texts))}
    assert list(sections) == ["Compression", "Throughput"]
    drawn, said = sections["Throughput"].blocks
    assert isinstance(drawn, Figure)
    assert {f"text-0{number}: encode" for number in range(MOST_DRAWN)} < {*written(drawn.svg)}, "a panel for each"
    assert f"text-0{MOST_DRAWN}: encode" not in written(drawn.svg)
    assert "3 more" in str(said)
    assert drawn.numbers.columns[:3] == ("tokenizer", "text-00: encode", "text-00: decode")
    assert written(drawn.svg).count("throughput, MB/s, log scale") <= 2, "panels share an axis"


def both(speeds: Mapping[str, tuple[float, float]], texts: Sequence[str] = ("text",)) -> store.Record:
    """Rows by bytes per token and bytes per second."""
    values = {"compression": "bytes_per_token", "throughput": "encode_bytes_per_second"}
    results = [
        made.case(benchmark, row, text, [{"metric": metric, "value": value} | part])
        for row, pair in speeds.items() for text in texts
        for (benchmark, metric), value, part in zip(values.items(), pair, ({}, {"part": "steady"}), strict=True)
    ]  # fmt: skip
    return made.of_results(results, list(speeds), texts)


SPEEDS = {"small": (2.0, 9e6), "beaten": (1.9, 8e6), "large": (4.0, 1e6), "middle": (3.0, 5e6), "twin": (3.0, 4e6)}


def test_the_frontier_is_what_no_row_beats() -> None:
    (section,) = tradeoffs(both(SPEEDS))
    (figure,) = figures(section)
    heavy = [one.text for one in parsed(figure.svg).iter(f"{SVG}text") if one.get("font-weight") == "bold"]
    assert sorted(map(str, heavy)) == ["large", "middle", "small"]
    assert {*SPEEDS, "bytes/token", "throughput, MB/s, log scale"} <= {*written(figure.svg)}
    assert "large: bytes/token 4.0000, MB/s 1.00" in spoken_marks(figure.svg)
    assert {row[0].value: row[2].value for row in figure.numbers.rows} == {row: pair[1] for row, pair in SPEEDS.items()}


def test_equal_rows_do_not_beat_each_other_and_lower_may_be_better() -> None:
    heads = (Heading("row", "name"), Heading("cost", direction="lower"), Heading("speed", direction="higher"))
    rows = {"a": (1.0, 1.0), "b": (1.0, 1.0), "c": (2.0, 1.0), "d": (2.0, 3.0), "none": (0.5, None)}
    sheet = Sheet("x", heads, tuple((Cell(row), *map(Cell, pair)) for row, pair in rows.items()))
    assert frontier(sheet) == ["d", "a", "b"]


@pytest.mark.parametrize("missing", ["compression", "throughput"])
def test_without_one_of_the_numbers_there_is_no_frontier(missing: str) -> None:
    read = both(SPEEDS)
    assert list(tradeoffs(read))
    kept = [one for one in read.data["results"] if one["benchmark"] != missing]
    assert not list(tradeoffs(store.Record.from_json({**read.data, "results": kept}, "less")))


def test_the_frontier_of_several_texts_has_a_panel_for_each_and_comes_first() -> None:
    read = both(SPEEDS, ["one", "two"])
    (figure,) = figures(sections_of(read)[0])
    assert [text for text in written(figure.svg) if text in ("one", "two")] == ["one", "two"]
    assert figure.numbers.columns == ("tokenizer", "one: bytes/token", "one: MB/s", "two: bytes/token", "two: MB/s")


@pytest.mark.parametrize(("added", "removed", "titles"), [(1024, 0, ["Growth"]), (0, 512, ["Pruning"]), (0, 0, [])])
def test_growth_and_pruning_are_drawn_where_there_is_some(added: int, removed: int, titles: list[str]) -> None:
    measured = {"added_tokens": added, "removed_tokens": removed, "compression_gain": 0.25}
    parts = {"compression_gain": {"part": "base"}}
    numbers = [{"metric": name, "value": value} | parts.get(name, {}) for name, value in measured.items()]
    read = made.of_results([made.case("adaptation", "row", "text", numbers)], ["row"], ["text"])
    drawn = [figure for section in plots(read) for figure in figures(section)]
    assert [figure.title.split(":")[0] for figure in drawn] == titles
    assert all("25.00" in said or "0.25" in said for figure in drawn for said in spoken_marks(figure.svg))


@pytest.mark.skipif("languages" not in benchmarks(), reason="the feature that draws a curve is not here")
def test_a_curve_is_a_line_for_each_row_over_the_numbers_in_its_columns() -> None:
    parts = ("5%", "50%", "95%")
    (figure,) = figures(the_only(record("languages", {"lorenz_share": parts})))
    numbers = [(row[0].value, head.title, cell.text) for row in figure.numbers.rows
               for head, cell in zip(figure.numbers.headings[1:], row[1:], strict=True)]  # fmt: skip
    assert len(numbers) == len(parts) * len(ROWS)
    assert sorted(spoken_marks(figure.svg)) == sorted(f"{row}: {title}, {text}" for row, title, text in numbers)
    joined = [one for one in parsed(figure.svg).iter() if "L" in one.get("d", "") and one.get("fill", "none") == "none"]
    assert sum(bool(one.get("stroke")) for one in joined) >= len(ROWS)
    assert "cheapest languages, %" in written(figure.svg)


def test_nothing_measured_is_no_section() -> None:
    assert not list(plots(made.record([], [])))
    failed = made.case("load", "a", None, []) | {"status": "failed", "reason": "x"}
    assert not list(plots(made.of_results([failed], ["a"], [])))


def test_every_plot_is_of_metrics_that_there_are_and_of_one_unit() -> None:
    declared = [(one.name, plot) for one in benchmarks().values() for plot in one.plots]
    assert len(declared) > 10
    for name, plot in declared:
        columns = [column for column in plot.table.columns if isinstance(column, Column)]
        metrics = [all_metrics()[column.metric] for column in columns]
        if plot.drawing not in ("points", "frontier"):
            assert len({metric.unit for metric in metrics}) == 1, name
        assert plot.about.endswith("."), name
