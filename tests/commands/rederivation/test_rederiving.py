"""Every number of a record computed again from the state beside it; what differs is named."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cases.rederived import STATE, asked, edited
from pyharness import store
from pyharness.benchmarks import Findings, Work, benchmarks
from pyharness.commands import rederivation
from pyharness.corpora import open_corpus
from pyharness.store.states import write_case
from pyharness.system import bounded_file
from pyharness.tokenizers import load, resolve
from pyharness.types import Case

pytestmark = pytest.mark.usefixtures("doubles")


def test_every_number_comes_again(measured: Path) -> None:
    found = asked(measured)
    assert found.exit_code == 0, found.output
    said = {line.partition(":")[0]: line for line in found.output.splitlines()}
    known = {"integrity", "compression", "fairness", "vocabulary", "reachability", "latency"}
    assert set(said) == {*known, "unchecked"}
    for benchmark in ("integrity", "compression", "fairness", "vocabulary"):
        assert re.search(r"^\w+: \d+ cases?, \d[\d,]* values equal\b", said[benchmark])
    assert said["latency"] == "latency: 1 case not derivable: measured times"
    assert re.search(r": \d+ cases? not derivable: .*\bdetails\b", said["reachability"])
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
    assert set(recorded.details) == set(derived.details)
    assert recorded.tally is not None
    assert derived.tally is None, "no text is in a state"
    assert recorded.details["unused_ids"] == derived.details["unused_ids"]


def test_a_changed_number_is_named(folder: Path) -> None:
    def change(data: dict[str, Any]) -> None:
        result = next(one for one in data["results"] if one["benchmark"] == "compression")
        by_name = {one["metric"]: one for one in result["measurements"]}
        by_name["renyi_efficiency"]["value"] = float(np.nextafter(by_name["renyi_efficiency"]["value"], 1))
        by_name["shannon_entropy"]["replicates"][5] += 1e-7  # nine digits are kept
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
    again = rederivation.rederive(store.Record.from_json(changed, "it", record.path))
    assert again.differs
    differing = [found for found in again.cases if found.differences]
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
    assert re.search(r"record\.json\.state\.zip' .*\brecord\b.*\bchanged\b", found.output)


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
    edited(folder, lambda data: data["state"].update(bytes=state.stat().st_size, sha256=bounded_file.digest(state)))
    found = asked(folder)
    assert found.exit_code == 1
    assert "shannon_entropy.value" in found.output
    assert re.search(r"not derivable: .*\bno state\b", found.output), "of the other cases"


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


def test_a_benchmark_of_a_stranger_is_derived_as_any(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No code knows a benchmark by its name: one that raises while it derives is one line."""

    def broken(state: Any, case: Case) -> Findings:
        raise ZeroDivisionError("of a plug-in")

    known = dict(benchmarks())
    known["fairness"] = replace(known["fairness"], rederive=broken)
    monkeypatch.setattr(rederivation, "benchmarks", lambda: known)
    found = asked(folder)
    assert (found.exit_code, len(found.output.splitlines())) == (2, 1)
    assert re.search(r"'?fairness\b.*\bstate: ZeroDivisionError: of a plug-in", found.output)
    known["fairness"] = replace(known["fairness"], rederive=None, underivable="it keeps secrets")
    assert "not derivable: it keeps secrets" in asked(folder).output


def test_a_state_has_the_v_that_the_record_has(measured: Path) -> None:
    record = store.read(measured / "record.json")
    with record.state() as states:
        for result in record.of("compression"):
            vocab_size = int(states.of(result.case.key)["facts"][0])
            assert vocab_size == record.data["tokenizers"][result.case.tokenizer]["vocab_size"]
