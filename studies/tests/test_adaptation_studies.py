"""Studies of adaptations: gains of rows are paired, verdicts follow from their intervals, knees are those of counts."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from pyharness.statistics.jackknife import GROUPS, paired_interval
from pyharness.types import Case, CaseResult, Measurement


def study(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[1] / "adaptation"), *sys.path])
    return importlib.import_module(name)


def measured(value: float, noise: float, seed: int) -> Measurement:
    common = np.random.default_rng(0).standard_normal(GROUPS) * 0.01
    own = np.random.default_rng(seed).standard_normal(GROUPS) * noise
    return Measurement("bytes_per_token", value, replicates=tuple((value * (1 + common + own)).tolist()))


def test_what_both_rows_share_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = study("questions", monkeypatch)
    row, other, noisy = measured(4.04, 1e-5, 1), measured(4.0, 1e-5, 2), measured(4.04, 0.05, 3)
    found = questions.gain(row, other)
    assert found.value == pytest.approx(0.01)
    assert paired_interval(other, row) is not None
    assert questions.verdict(found)[1] == "more"
    assert questions.verdict(questions.gain(other, row))[1] == "less"
    assert questions.verdict(questions.gain(noisy, other))[1] == "not resolved"
    assert questions.verdict(questions.gain(Measurement("x", 4.0), other)) == ("+0.00%", "no interval")
    assert questions.verdict(questions.gain(other, other)) == ("0", "same")
    assert questions.verdict(questions.gain(Measurement("x", None, reason="not in the record"), other)) == (
        "-",
        "not in the record",
    )


def test_the_dense_knee_is_the_last_size_that_gives_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    knees = study("knees", monkeypatch)
    totals = {500: 1030, 1000: 1020, 1500: 1010, 2000: 1007, 2500: 1004, 3000: 1003}
    assert knees.dense_knee(totals) == 1500
    assert knees.dense_knee({500: 10, 1000: 10, 1500: 10}) == 0


def test_intervals_of_drawn_texts_hold_the_knee(monkeypatch: pytest.MonkeyPatch) -> None:
    knees = study("knees", monkeypatch)
    steep = 0.03 * (1 + 0.3 * np.random.default_rng(5).standard_normal(200))
    before = np.full(200, 1_000_000)
    after = [(before * np.exp(-steep * np.log(size))).astype(np.int64) for size in knees.SIZES]
    whole = knees.of_few(before, after, np.arange(200) % GROUPS)
    assert whole.size == pytest.approx(1000 / np.expm1(np.log(1.005) / 0.03), rel=0.1)
    share, width = knees.held(before, after, np.arange(200), whole.size, 100)
    assert share > 0.85
    assert 0 < width < 0.5


def test_works_are_drawn_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    knees = study("knees", monkeypatch)
    works = np.repeat(np.arange(100), 4)  # whose four documents are alike
    steep = 0.03 * (1 + 0.3 * np.random.default_rng(5).standard_normal(100))[works]
    before = np.full(400, 1_000_000)
    after = [(before * np.exp(-steep * np.log(size))).astype(np.int64) for size in knees.SIZES]
    true = knees.of_few(before, after, works % GROUPS).size
    share, width = knees.held(before, after, works, true, 100)
    assert share > 0.85
    assert width > 1.6 * knees.held(before, after, np.arange(400), true, 100)[1], "four alike tell what one does"
    rows = [{"text": f"text {number}", "id": name} for number, name in enumerate(("A#0", "B", "A#1", None, None))]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    texts, found = knees.named(f"path:{tmp_path / 'a.jsonl'}?work=id")
    assert texts == [row["text"] for row in rows]
    assert found[0] == found[2]
    assert len(set(found.tolist())) == 4


def test_promises_name_the_rows_that_break_them(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = study("verdicts", monkeypatch)

    def row(label: str, *found: Measurement) -> CaseResult:
        return CaseResult(Case("adaptation", label, "et", {"against": "naive-extension"}), "ok", measurements=found)

    above, around = (replace(measured(value, 0.001, 1), metric="compression_gain") for value in (0.4, 0.0))
    rows = [row("a et continued 1024", above), row("b et continued 1024", around), row("c et continued 1024")]
    said = verdicts.promise("more", rows, lambda one: verdicts.measured(one, "compression_gain").value == above.value)
    assert said == ("- more: 1 of 3; not b et continued 1024 on et, c et continued 1024 on et", False)
    assert verdicts.promise("more", rows[:1], lambda _: True) == ("- more: 1 of 1", True)
    assert not verdicts.promise("more", [], lambda _: True).holds, "nothing was compared"
    none = verdicts.has_none("newly_unreachable_model")
    assert none(row("a", Measurement("newly_unreachable_model", 0)))
    assert not none(row("a", Measurement("newly_unreachable_model", 3)))
    assert not none(row("a"))
    assert verdicts.percent(above).startswith("+40.0% ±")
    assert verdicts.percent(verdicts.measured(None, "x")) == verdicts.number(verdicts.measured(None, "x")) == "-"


def test_rows_that_give_no_more_than_naive_are_named_by_what_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = study("verdicts", monkeypatch)

    def row(label: str, value: float, replicates: tuple[float, ...] | None = None) -> CaseResult:
        found = replace(measured(value, 0.001, 1), metric="compression_gain", part=verdicts.NAIVE)
        found = found if replicates is None else replace(found, replicates=replicates)
        return CaseResult(Case("adaptation", label, "et", {}), "ok", measurements=(found,))

    same = row("d et continued 1024", 0.0, (0.0,) * GROUPS)
    noise = tuple(0.001 * (-1) ** group for group in range(GROUPS))
    unresolved = [row(f"b et continued {size}", 0.0004, noise) for size in (1024, 2048)]
    rows = [row("a et continued 1024", 0.4), *unresolved, row("c et continued 1024", -0.2), same]
    line, holds = verdicts.over_naive(rows)
    assert holds, "what is named is no broken promise"
    assert line.splitlines() == [
        "- more bytes/token than naive, the interval above 0: 1 of 5",
        "  - less, by at most 20.000%: 1; c et continued 1024",
        "  - not resolved, by at most 0.040%: 2; b et continued 1024 2048",
        "  - the same, by at most 0.000%: 1; d et continued 1024",
    ]
    line, holds = verdicts.over_naive([*rows, row("e et continued 1024", 0.4, ())])
    assert "no interval, by at most 40.000%: 1; e et continued 1024" in line
    assert not holds
    assert not verdicts.over_naive([]).holds, "nothing was compared"


def test_a_broken_promise_is_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    verdicts = study("verdicts", monkeypatch)
    dead = [Measurement(metric, 0) for metric in (*verdicts.DEAD, "added_without_witness")]
    gain = replace(measured(0.4, 0.001, 1), metric="compression_gain", part=verdicts.NAIVE)

    def code(found: list[Measurement], home: str | None = "home") -> int:
        case = Case("adaptation", "a et continued 1024", "et", {"against": verdicts.NAIVE})
        leaf = CaseResult(Case("adaptation", "a leaf 0.3", "en", {}), "ok", measurements=tuple(dead))
        ids = CaseResult(Case("integrity", "a", "et", {}), "ok", measurements=(Measurement("mapped_documents", 0),))
        results = {"adaptation": [CaseResult(case, "ok", measurements=tuple(found)), leaf], "integrity": [ids]}
        record = SimpleNamespace(of=results.__getitem__, data={"tokenizers": {"a": {"compared_with": home}}})
        monkeypatch.setattr(verdicts.store, "read", lambda _: record)
        monkeypatch.setattr(sys, "argv", ["verdicts", str(tmp_path / "record.json")])
        return int(verdicts.main())

    assert code([gain, *dead]) == 0
    assert code([gain, *dead], home=None) == 1, "no ids were compared"
    capsys.readouterr()
    assert code([gain, *dead[:-1], Measurement("added_without_witness", 1)]) == 1
    assert "without a text or an argument, continued: 0 of 1; not a et continued 1024 on et" in capsys.readouterr().out
