"""Progress in a notebook, by IPython's display protocol: one output that changes, failures that stay."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pyharness.commands import notebook, session
from pyharness.types import Case, CaseResult, InputError, TrainingProgress

CASES = [Case("compression", "<b>row</b>\x1b[31m", "text"), Case("load", "other", None)]


class Output:
    """What a notebook shows: every state of its outputs."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []
        self.outputs = 0

    def display(self, data: dict[str, str], *, raw: bool, display_id: bool) -> Output:
        assert raw
        assert display_id
        self.outputs += 1
        self.update(data, raw=raw)
        return self

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.shown.append(data)


@pytest.fixture
def output(monkeypatch: pytest.MonkeyPatch) -> Output:
    """Make this process a notebook."""
    made = Output()
    ipython: Any = ModuleType("IPython")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())
    ipython.display = ModuleType("IPython.display")
    ipython.display.display = made.display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    monkeypatch.setattr(notebook, "INTERVAL", 0.0)
    monkeypatch.setattr(notebook, "time", SimpleNamespace(monotonic=lambda: 1e5))
    return made


def test_one_output_changes_and_failures_stay(output: Output) -> None:
    line = notebook.line()
    assert line is not None
    line.preparing("a row", TrainingProgress("merging", 50, "tokens", 200))
    line.begin(2)
    line.started(CASES[0])
    line.progress(CASES[0], 1_500_000)
    line.remaining(100)
    line.finished(CaseResult(CASES[0], "failed", "it <i>broke</i>"))
    line.started(CASES[1])
    line.finished(CaseResult(CASES[1], "ok"))
    line.ended()
    assert output.outputs == 1
    failed = r"failed: compression  <b>row</b>\x1b[31m  text: it <i>broke</i>"
    assert [one["text/plain"] for one in output.shown] == [
        "merging: 50 of 200 tokens (25%)  a row",
        r"0/2  compression  <b>row</b>\x1b[31m  text",
        r"0/2  compression  <b>row</b>\x1b[31m  text  1.5 MB",
        f"1/2 (about 2 min left)  load  other\n{failed}",
        f"2 cases in 0 s\n{failed}",
    ]
    pages = [one["text/html"] for one in output.shown]
    assert pages[0].startswith('<progress value="0.250"></progress> merging')
    assert pages[3].startswith('<progress value="0.500"></progress> 1/2 (about 2 min left)  load  other<br>failed: ')
    assert not any(mark in page for page in pages for mark in ("<b>", "<i>", "\x1b"))


def test_a_browser_gets_a_few_messages_a_second(output: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "INTERVAL", 3600.0)
    line = notebook.line()
    assert line is not None
    line.begin(2)
    for case in CASES:
        for done in range(100):
            line.progress(case, done)
        line.finished(CaseResult(case, "ok"))
    line.ended()
    assert [one["text/plain"].split("  ")[0] for one in output.shown] == ["0/2", "2 cases in 0 s"]


def test_a_run_shows_it_unless_somebody_listens(output: Output) -> None:
    session.run(["raw_bytes"], ["sample:prose"], ["load"], listener=session.SilentListener())
    assert not output.shown
    session.run(["raw_bytes"], ["sample:prose"], ["load"])
    assert output.outputs == 1
    assert output.shown[-1]["text/plain"].split(" in ")[0] == "1 case"


def test_a_run_that_ends_early_says_how_far_it_came(output: Output) -> None:
    def interrupted() -> None:
        with notebook.shown(None) as shown:
            assert shown is not None
            shown.begin(2)
            shown.started(CASES[0])
            shown.finished(CaseResult(CASES[0], "ok"))
            shown.started(CASES[1])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert output.shown[-1] == dict.fromkeys(("text/plain", "text/html"), "1 of 2 cases in 0 s")
    with pytest.raises(InputError):
        session.run(["raw_bites"], ["sample:prose"], ["load"])
    assert output.outputs == 1, "nothing is shown of what did not begin"


def test_scripts_and_terminals_show_nothing(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    ipython: Any = ModuleType("IPython")
    for shell in (None, SimpleNamespace(colors="Linux")):
        ipython.get_ipython = lambda shell=shell: shell
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        assert notebook.line() is None
    monkeypatch.delitem(sys.modules, "IPython")
    session.run(["raw_bytes"], ["sample:prose"], ["load"])
    assert capfd.readouterr() == ("", "")
    assert "IPython" not in sys.modules
