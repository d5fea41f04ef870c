"""Round trips: what is decoded is encoded once more, also where it is the same text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pyharness
import tokenizer_files
from pyharness import report, store
from pyharness.benchmarks import checks
from pyharness.benchmarks.checks import RUNS, STRESS, TEXT, NotEncoded, RoundTrips, TripsByPart, encoded_runs
from pyharness.benchmarks.integrity import lost
from pyharness.report import comparison, failures
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.types import Ids, Tokens


def empty_record() -> dict[str, Any]:
    return {
        "kind": store.KIND, "schema": 2, "created": "2026-01-01T00:00:00+00:00", "seconds": 1.0, "complete": True,
        "suite": {}, "environment": {}, "tokenizers": {"a": {}}, "corpora": {"x": {}}, "metrics": {}, "results": [],
    }  # fmt: skip


class Changing(RawBytes):
    """Encodes "drift" otherwise from the second call on, and decodes "qq" to something that is longer each time."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        self.calls += 1
        late = {"drift": "drifted"} if self.calls > 1 else {}
        return super().encode_batch([late.get(text, text) for text in texts], threads)

    def decode(self, ids: Ids) -> bytes:
        return super().decode(ids).replace(b"qq", b"qqq")


def test_a_tokenizer_that_gives_other_ids_each_time_is_not_idempotent() -> None:
    texts = ["plain", "drift", "qq", ""]
    tokenizer = Changing()
    trips = TripsByPart(*(RoundTrips(tokenizer) for _ in range(3)))
    trips.text.check(texts, tokenizer.encode_batch(texts))
    trips.sample.check(["plain"], tokenizer.encode_batch(["plain"]))
    found = {(one.metric, one.part): one.value for one in checks.measurements(trips.arrays())}
    assert (found["exact_round_trip_share", None], found["idempotent_share", None]) == (4 / 5, 3 / 5)


def test_text_and_stress_set_are_told_apart_and_older_numbers_stay_what_they_are() -> None:
    tokenizer = RawBytes()
    trips = TripsByPart(*(RoundTrips(tokenizer) for _ in range(3)))
    lossy = Changing()
    for part, texts in ((trips.text, ["a", "b"]), (trips.sample, ["c", "qq", "d"]), (trips.runs, ["qq", "e"])):
        part.tokenizer = lossy
        part.check(texts, tokenizer.encode_batch(texts))
    state = trips.arrays()
    found = {(one.metric, one.part): one.value for one in checks.measurements(state)}
    assert found["exact_round_trip_share", TEXT] == 1.0
    assert found["exact_round_trip_share", STRESS] == 3 / 5
    assert found["exact_round_trip_share", None] == 4 / 5, "as older records have it: without the runs"
    assert found["checked_documents", None] == 5
    older = {name: array for name, array in state.items() if name == "round trips"}
    assert {one.part for one in checks.measurements(older)} == {None}
    assert set(trips.witnesses()) == {STRESS}
    assert trips.witnesses()[STRESS]["document"] == 1
    trips.sample.witness = None
    assert trips.witnesses()[STRESS]["document"] == 3, "runs stand behind the sample's documents"


def test_a_library_that_cannot_bear_a_run_fails_by_name() -> None:
    class Panicking(RawBytes):
        def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
            if any("\u0301" * 1000 in text for text in texts):
                raise BaseException("stack overflow")
            return super().encode_batch(texts, threads)

    with pytest.raises(NotEncoded, match=r"U\+0301.*stack overflow"):
        list(encoded_runs(Panicking(), 1))
    assert [text for text, _ in encoded_runs(RawBytes(), 1)] == list(RUNS.values())


def test_runs_are_what_they_are_called() -> None:
    (marks,) = (text for name, text in RUNS.items() if "32,768 times U+0301" in name)
    assert len(marks) == 32_769
    assert all(len(text) in (8192, 32_769) for text in RUNS.values())


def test_reports_show_both_shares_and_the_first_witness_of_each(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("abc", encoding="utf-8")
    record = pyharness.run(["mistral:v3"], [f"path:{tmp_path / 'text.txt'}"], ["integrity"]).record
    (result,) = record.results
    assert set(result.details["witnesses"]) == {STRESS}
    sheets = {sheet.title: sheet for sheet in report.sheets(record)}
    (row,) = sheets["Round trips (integrity)"].texts
    shown = dict(zip(sheets["Round trips (integrity)"].columns, row, strict=True))
    assert shown["text exact"] == "1.0000"
    assert float(shown["stress exact"]) < 1
    (lost,) = (sheet for title, sheet in sheets.items() if "lost" in title)
    (entry,) = lost.texts
    assert entry[:2] == ("mistral:v3", STRESS)
    for write in (report.to_text, report.to_markdown, report.to_html):
        assert lost.title in write(sheets.values())


def test_people_read_numbers_of_documents_from_1(tmp_path: Path) -> None:
    row = tokenizer_files.write(tmp_path, "tokenizer.json", tokenizer_files.two_letters())
    (tmp_path / "text.txt").write_text("a\n\nc\n", "utf-8")
    record = pyharness.run([row], [f"a=path:{tmp_path}/text.txt?split=line"], ["integrity"]).record
    (result,) = record.results
    witnesses = result.details["witnesses"]
    assert witnesses[TEXT]["document"] == 1, "from 0, and an empty document is none"
    assert witnesses[STRESS]["document"] == 0
    places = [place for _, place, *_ in lost(result)]
    assert [place.rpartition(",")[0] for place in places] == ["a: document 2", "sample:code, document 1"]
    older = {**witnesses, TEXT: {**witnesses[TEXT], "name": "document 1"}}
    assert [place for _, place, *_ in lost(replace(result, details={"witnesses": older}))] == places


def test_older_records_show_what_they_have() -> None:
    one: dict[str, Any] = {
        "benchmark": "integrity", "tokenizer": "a", "corpus": "x", "parameters": {}, "status": "ok", "reason": None,
        "details": {}, "measurements": [{"metric": "exact_round_trip_share", "value": 0.5}],
    }  # fmt: skip
    read = store.Record.from_json({**empty_record(), "results": [one]}, "record")
    (sheet,) = report.sheets(read)
    assert any("a 0.5000" in note for note in sheet.notes)


def test_an_older_record_is_compared_by_what_both_have() -> None:
    numbers = [
        {"metric": "exact_round_trip_share", "value": 0.9},
        {"metric": "exact_round_trip_share", "value": 1.0, "part": TEXT},
        {"metric": "exact_round_trip_share", "value": 0.8, "part": STRESS},
    ]
    one: dict[str, Any] = {
        "benchmark": "integrity", "tokenizer": "a", "corpus": "x", "parameters": {}, "status": "ok", "reason": None,
        "details": {},
    }  # fmt: skip
    about = {"exact_round_trip_share": {"unit": "share", "direction": "higher", "deterministic": True, "exact": True}}
    older, newer, worse = (
        store.Record.from_json(
            {**empty_record(), "metrics": about, "results": [{**one, "measurements": some}]}, "record"
        )
        for some in (numbers[:1], numbers, [{**numbers[0], "value": 0.8}, *numbers[1:]])
    )
    assert failures.judge(comparison.pairs_of_records(older, newer), "worse").exit_code == 0
    assert failures.judge(comparison.pairs_of_records(older, worse), "worse").exit_code == 1
