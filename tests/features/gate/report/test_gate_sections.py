"""Pages of gates and calibrations: effects are those of the judgements, in the table and where they are read out."""

from __future__ import annotations

import pytest

from drawn.charts import spoken_marks
from gating import gates
from paged import reading
from pyharness.features.gate.report import kinds
from pyharness.features.gate.report.kinds import calibration_sections, gate_sections
from pyharness.features.gate.types import Calibration, Gate, GateRules, Judgement, Sensitivity
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
    (figure,) = section(gates.gate(*JUDGED, verdict="regression"), "Time").blocks
    assert isinstance(figure, Figure)
    place = figure.numbers.columns.index("effect")
    shown = {row[0].value: row[place] for row in figure.numbers.rows}
    for one in JUDGED[:2]:
        assert (shown[one.benchmark].value, shown[one.benchmark].interval) == (one.effect, one.interval)
    assert sorted(spoken_marks(figure.svg)) == [f"{name}: {shown[name].text}" for name in ("decode", "encode")]


def test_what_did_not_pass_stands_first() -> None:
    first, *others = gate_sections(gates.gate(*JUDGED, verdict="regression", notes=("time ran out",)))
    assert first.title == "What to look at"
    said, sheet = first.blocks
    assert said == "time ran out"
    assert [row[0] for row in sheet.texts] == ["encode"]  # type: ignore[union-attr]
    assert [one.title for one in others] == ["Time", "Memory", "What was compared, and where"]
    assert next(iter(gate_sections(gates.gate(JUDGED[1])))).title == "Time"


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
