"""States of runs: kept beside the journal, gone on with, saved with the record."""

from __future__ import annotations

from pathlib import Path

import pytest

import pyharness
from cases.rederived import STATE, asked, plan
from pyharness import store, suite
from pyharness.commands import rederivation, session
from pyharness.running import runner
from pyharness.store import states
from pyharness.types import CaseResult, InputError

pytestmark = pytest.mark.usefixtures("doubles")


def test_an_interrupted_run_keeps_states_and_goes_on_with_them(tmp_path: Path) -> None:
    output = tmp_path / "record.json"

    class Impatient(session.SilentListener):
        def finished(self, result: CaseResult) -> None:
            if result.case.benchmark == "integrity":
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run(plan(), store.Journal(output), Impatient())
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"record.json", "record.json.journal", "record.json.states", STATE}
    assert "integrity: 1 case, " in asked(tmp_path).output, "the partial record derives, too"
    record = runner.run(plan(), store.Journal(output, resume=True), session.SilentListener(), resume=True)
    assert {path.name for path in tmp_path.iterdir()} == {"record.json", STATE}
    assert record.data["complete"]
    assert asked(tmp_path).exit_code == 0
    whole = runner.run(plan(), store.Journal(tmp_path / "whole.json"), session.SilentListener())
    assert whole.data["state"]["sha256"] == record.data["state"]["sha256"], "the same file"


def test_a_case_whose_state_is_gone_is_measured_again(tmp_path: Path) -> None:
    output = tmp_path / "record.json"
    seen: list[str] = []

    class Impatient(session.SilentListener):
        def finished(self, result: CaseResult) -> None:
            raise KeyboardInterrupt

    class Watching(session.SilentListener):
        def finished(self, result: CaseResult) -> None:
            seen.append(result.case.benchmark)

    with pytest.raises(KeyboardInterrupt):
        runner.run(plan(), store.Journal(output), Impatient())
    for path in (tmp_path / "record.json.states").iterdir():
        path.write_bytes(b"damaged")
    runner.run(plan(), store.Journal(output, resume=True), Watching(), resume=True)
    assert sorted(seen) == ["compression", "integrity"]
    assert asked(tmp_path).exit_code == 0


def test_the_name_of_the_state_is_claimed_with_that_of_the_record(tmp_path: Path) -> None:
    (tmp_path / STATE).write_text("another's", "utf-8")
    with pytest.raises(store.Taken, match=r"state\.zip' exists already\b.*--force"):
        store.Journal(tmp_path / "record.json")
    runner.run(plan(), store.Journal(tmp_path / "record.json", overwrite=True), session.SilentListener())
    assert asked(tmp_path).exit_code == 0
    timings = suite.plan(suite.declare(["raw_bytes"], ["sample:prose"], ["load"]))
    record = runner.run(timings, store.Journal(tmp_path / "record.json", overwrite=True), session.SilentListener())
    assert record.data["state"] is None
    assert not (tmp_path / STATE).exists(), "it was the replaced record's"


def test_a_place_without_room_for_the_state_is_found_out_before_measuring(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name too long"):
        store.Journal(tmp_path / ("x" * 235))
    assert not list(tmp_path.iterdir())
    (tmp_path / "record.json.states").write_text("in the way", "utf-8")
    with pytest.raises(InputError, match=r"cannot write to '.*record\.json\.states'"):
        runner.run(plan(), store.Journal(tmp_path / "record.json"), session.SilentListener())
    assert (tmp_path / "record.json.states").read_text("utf-8") == "in the way"


def test_a_full_disk_in_the_end_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: object, cases: object, whole: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(states.CaseStates, "_join", full)
        with pytest.raises(InputError, match=r"record\.json\.state\.zip': No space left on device"):
            runner.run(plan(), store.Journal(tmp_path / "record.json"), session.SilentListener())
    assert not (tmp_path / "record.json").exists()
    runner.run(plan(), store.Journal(tmp_path / "record.json", resume=True), session.SilentListener(), resume=True)
    assert asked(tmp_path).exit_code == 0


def test_files_of_others_in_the_folder_of_states_stay(tmp_path: Path) -> None:
    (tmp_path / "record.json.states").mkdir()
    (tmp_path / "record.json.states" / "mine.part").write_text("kept", "utf-8")
    runner.run(plan("raw_bytes", "vocabulary"), store.Journal(tmp_path / "record.json"), session.SilentListener())
    assert [path.name for path in (tmp_path / "record.json.states").iterdir()] == ["mine.part"]


def test_a_result_is_saved_with_its_state(tmp_path: Path) -> None:
    result = pyharness.run(tokenizers=["raw_bytes"], corpora=["sample:prose"], benchmarks=["compression"])
    result.save(tmp_path / "record.json")
    assert asked(tmp_path).exit_code == 0
    with pytest.raises(InputError, match="exists already: pass overwrite=True"):
        result.save(tmp_path / "record.json")
    result.save(tmp_path / "record.json", overwrite=True)
    (tmp_path / "there").mkdir()
    pyharness.read(tmp_path / "record.json").save(tmp_path / "there" / "other.json")
    assert not rederivation.rederive(store.read(tmp_path / "there" / "other.json")).differs
    (tmp_path / STATE).unlink()
    with pytest.raises(InputError, match="cannot be read: No such file"):
        pyharness.read(tmp_path / "record.json").save(tmp_path / "third.json")
    assert not (tmp_path / "third.json").exists()
