"""Pages of gates and calibrations: effects are those of the judgements, in the table and where they are read out."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from drawn.charts import spoken_marks, written
from gating import gates
from paged import reading
from pyharness.features.gate.report import kinds, sheets
from pyharness.features.gate.report.kinds import calibration_sections, gate_sections
from pyharness.features.gate.types import Calibration, Gate, GateRules, Judgement, Sensitivity, Side
from pyharness.report import page
from pyharness.report.sheet.parts import Figure, Section


def section(gate: Gate, title: str) -> Section:
    (found,) = [one for one in gate_sections(gate) if one.title == title]
    return found


JUDGED = (
    gates.judgement("encode", "regression", 0.08, reason="slower <b>"),
    gates.judgement("decode", effect=-0.002),
    gates.judgement("encode", figure="memory", interval=None),
)


def test_effects_are_those_of_the_judgements() -> None:
    done = gates.gate(*JUDGED, verdict="regression")
    for title, name, verdict in ((sheets.NOT_PASSED, "encode", ", worse"), ("2 passed", "decode", "")):
        figure = next(block for block in section(done, title).blocks if isinstance(block, Figure))
        place = figure.numbers.columns.index("effect")
        (shown,) = (row[place] for row in figure.numbers.rows)
        (one,) = (one for one in JUDGED if (one.benchmark, one.figure) == (name, "time"))
        assert (shown.value, shown.interval) == (one.effect, one.interval)
        assert spoken_marks(figure.svg) == [f"{name}: {shown.text}{verdict}"]


def test_the_budget_is_drawn_and_named_once() -> None:
    budgets = (0.03, 0.03, 0.05)
    judged = [gates.judgement(f"b{n}", "regression", 0.08, budget=budget) for n, budget in enumerate(budgets)]
    figure = section(gates.gate(*judged, verdict="regression"), sheets.NOT_PASSED).blocks[0]
    assert isinstance(figure, Figure)
    assert sorted(text for text in written(figure.svg) if "budget" in text) == ["budget 3 %", "budget 5 %"]


def test_what_did_not_pass_stands_first_and_the_rest_is_folded() -> None:
    first, *others = gate_sections(gates.gate(*JUDGED, verdict="regression", notes=("time ran out",)))
    assert (first.title, first.folded) == (sheets.NOT_PASSED, False)
    assert [(one.title, one.folded) for one in others[:-1]] == [("Notes", False), ("2 passed", True)]
    assert others[-1].folded
    assert next(iter(gate_sections(gates.gate(JUDGED[1])))).title == "1 passed"


def test_both_distributions_are_drawn_of_what_did_not_pass() -> None:
    done = gates.gate(*JUDGED, gates.judgement("gone", "failed", 0.0), verdict="regression")
    done = replace(done, rounds=tuple(part for part in done.rounds if part.benchmark != "gone"))
    drawn = [block for block in next(iter(gate_sections(done))).blocks if isinstance(block, Figure)]
    (figure,) = (block for block in drawn if block.numbers.columns[0] == "side")
    assert "encode" in figure.title
    assert [row[0].value for row in figure.numbers.rows] == ["base", "head"]
    place = figure.numbers.columns.index("median")
    assert [row[place].value for row in figure.numbers.rows] == pytest.approx([3e-9, 3e-9])  # 9 ns of 3 calls
    assert len(spoken_marks(figure.svg)) == 2


@pytest.mark.parametrize(("figure", "of"), [("time", "of a call"), ("instructions", "of a batch")])
def test_an_axis_says_what_its_figure_is_of(figure: Literal["time", "instructions"], of: str) -> None:
    done = gates.gate(gates.judgement("a", "regression", 0.5, figure=figure), verdict="regression")
    counts: dict[Side, int] = {"base": 10_000, "head": 20_000}
    done = replace(
        done, rounds=tuple(replace(part, launch=n, instructions=counts) for n in (0, 1) for part in done.rounds)
    )
    drawn = [block for block in next(iter(gate_sections(done))).blocks if isinstance(block, Figure)]
    assert f"{figure} {of}" in drawn[-1].svg


def test_samples_of_memory_are_those_of_launches() -> None:
    done = gates.gate(gates.judgement("a", "regression", 0.5, figure="memory", interval=None), verdict="regression")
    rounds = [replace(part, launch=n, memory={"base": 10 + n, "head": 20 + n}) for n in (0, 1) for part in done.rounds]
    assert kinds.samples_of(replace(done, rounds=tuple(rounds)), done.judgements[0]) == {
        "base": [10, 11],
        "head": [20, 21],
    }


@pytest.mark.parametrize("judgements", [(), (Judgement("a", "time", gates.judgement("a").verdict),)])
def test_without_effects_nothing_is_drawn(judgements: tuple[Judgement, ...]) -> None:
    sections = list(gate_sections(gates.gate(*judgements)))
    assert not any(isinstance(block, Figure) for one in sections for block in one.blocks)


def test_pages_begin_with_the_verdict_and_hold_names_as_text() -> None:
    tree = reading.read(page.render(kinds.page_of_gate(gates.gate(*JUDGED, verdict="regression"))))
    assert "1 regression" in tree.text
    assert "slower <b>" in tree.one("main").text
    assert not tree.all("b")


def test_a_calibration_shows_what_can_be_told_apart() -> None:
    found = (Sensitivity("encode", 40, 0.0081, 0.0312), Sensitivity("decode", 1, None, None))
    calibration = Calibration({"cpu": "x"}, "short", "abc", GateRules(), 16, 200, 1, 0.0235, found)
    (section,) = calibration_sections(calibration)
    (figure,) = section.blocks
    assert isinstance(figure, Figure)
    assert sorted(spoken_marks(figure.svg)) == [
        "decode, detectable: no number", "decode, noise: no number", "encode, detectable: 3.1 %",
        "encode, noise: 0.8 %",
    ]  # fmt: skip
    assert "noise" in reading.read(page.render(kinds.page_of_calibration(calibration))).one("main").text
