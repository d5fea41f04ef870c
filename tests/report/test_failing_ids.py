"""Ids that are others: seen by their digests, found again by the states, and judged by who claims what."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compared_records import BEFORE, CHANGED, ROW, case_of, edited, gated, number_of, reasons
from compared_records import made as made  # fixtures
from compared_records import pair as pair
from pyharness import store
from pyharness.system import bounded_file

IDS = f"first in document {CHANGED + 1} (from 1), at ids 64 to 127, in 64 bytes from byte 64"


def test_two_ids_that_change_places_are_seen_though_no_mean_moves(made: Path) -> None:
    a, b = made / "a.json", made / "swapped.json"
    one, other = (json.loads(path.read_text("utf-8")) for path in (a, b))
    for metric in ("bytes_per_token", "shannon_entropy", "renyi_efficiency", "vocabulary_used"):
        assert number_of(one, "compression", metric) == number_of(other, "compression", metric)
    assert BEFORE // 64 == 1
    for fail_on in ("worse", "any"):
        done = gated(a, b, fail_on=fail_on)
        assert done.exit_code == 1
        lines = reasons(done.output, "worse")
        assert len(lines) == 2, "of two cases that read the text"
        assert all("different ids" in line and ", in 1 of " in line and line.endswith(IDS) for line in lines)


@pytest.mark.parametrize("claims", [("sha256:x", "sha256:y"), (None, None)])
def test_ids_of_another_vocabulary_are_said_and_fail_where_any_difference_does(
    made: Path, tmp_path: Path, claims: tuple[str | None, str | None]
) -> None:
    paths = []
    for name, claim in zip(("a.json", "swapped.json"), claims, strict=True):
        shutil.copy(made / name, tmp_path / name)
        shutil.copy(store.path_beside(made / name), tmp_path)

        def claimed(data: dict[str, Any], claim: str | None = claim) -> None:
            data["tokenizers"][ROW]["vocabulary"] = claim

        paths.append(edited(tmp_path / name, claimed))
    for fail_on, code in (("worse", 0), ("any", 1)):
        done = gated(paths[0], paths[1], fail_on=fail_on)
        assert done.exit_code == code
        assert sum(IDS in line and "different ids, in 1 of" in line for line in reasons(done.output, "differs")) == 2


def copied(made: Path, folder: Path, name: str) -> Path:
    for one in (made / name, store.path_beside(made / name)):
        shutil.copy(one, folder)
    return folder / name


def with_state(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the arrays of every case in the state of a record, in place."""
    beside = store.path_beside(path)
    before = beside.rename(beside.with_suffix(".before"))
    with store.StateReader(before) as states, store.states.StateWriter(beside) as out:
        for case in json.loads(path.read_text("utf-8"))["results"][:2]:
            arrays = dict(states.of(case["key"]))
            change(arrays)
            out.add(case["key"], arrays)
    edited(path, lambda data: data["state"].update(bytes=beside.stat().st_size, sha256=bounded_file.digest(beside)))


def test_bytes_are_those_of_the_document_only_where_decoding_gives_it_back(made: Path, tmp_path: Path) -> None:
    path = copied(made, tmp_path, "a.json")
    edited(path, lambda data: data["tokenizers"][ROW].update(round_trip="normalised"))
    lines = reasons(gated(path, made / "swapped.json").output, "worse")
    assert all(re.search(rf"{re.escape(IDS)} .*\bdecode", line) for line in lines)


@pytest.mark.parametrize(
    ("old", "said"), [(["a.json"], True), (["swapped.json"], True), (["a.json", "swapped.json"], False)]
)
def test_states_that_keep_no_bytes_are_read_all_the_same(
    made: Path, tmp_path: Path, old: list[str], *, said: bool
) -> None:
    paths = [copied(made, tmp_path, name) for name in ("a.json", "swapped.json")]
    for name in old:
        with_state(tmp_path / name, lambda arrays: arrays.pop("ids bytes"))
    lines = reasons(gated(paths[0], paths[1]).output, "worse")
    assert len(lines) == 2
    assert all(line.endswith(IDS if said else IDS.partition(", in 64 bytes")[0]) for line in lines)


def test_documents_that_a_benchmark_reads_behind_the_corpus_are_told_apart(made: Path, tmp_path: Path) -> None:
    paths = []
    for name in ("a.json", "swapped.json"):
        paths.append(copied(made, tmp_path, name))
        edited(paths[-1], lambda data: case_of(data, "integrity")["details"]["tally"].update(documents=CHANGED))
    lines = reasons(gated(paths[0], paths[1]).output, "worse")
    assert [f"(from 1, after the {CHANGED} of the corpus)" in line for line in lines] == [False, True]


def gone(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def changed(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("damage", [gone, cut, changed])
def test_without_its_state_a_record_shows_that_ids_differ_but_not_where(
    made: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    for name in ("swapped.json", "swapped.json.state.zip"):
        shutil.copy(made / name, tmp_path)
    damage(tmp_path / "swapped.json.state.zip")
    done = gated(made / "a.json", tmp_path / "swapped.json")
    assert done.exit_code == 1
    assert len(re.findall(r"different ids\b.*: state '", done.output)) == 2


@pytest.mark.parametrize("name", ["ids blocks", "ids bytes"])
def test_arrays_that_contradict_each_other_are_named(made: Path, tmp_path: Path, name: str) -> None:
    path = copied(made, tmp_path, "swapped.json")
    with_state(path, lambda arrays: arrays.update({name: arrays[name][1:]}))
    done = gated(made / "a.json", path)
    assert done.exit_code == 1
    assert len(re.findall(r"different ids\b.*\bblocks\b", done.output)) == 2


@pytest.mark.parametrize("schema", [1, 2])
def test_older_records_keep_no_digests_of_ids(pair: tuple[Path, Path], tmp_path: Path, schema: int) -> None:
    def older(data: dict[str, Any]) -> None:
        data["schema"] = schema
        data["state"] = None
        for about in data["metrics"].values():
            about.pop("exact")
        for result in data["results"]:
            result["details"].pop("ids", None)

    a = tmp_path / "old.json"
    shutil.copy(pair[0], a)
    edited(a, older)
    for fail_on, code, kind in (("worse", 0, "note"), ("any", 2, "not")):
        done = gated(a, pair[1], fail_on=fail_on)
        assert done.exit_code == code
        assert any(re.search(r"\bids\b.*\bdigests\b", line) for line in reasons(done.output, kind))
    edited(a, lambda data: case_of(data, "compression")["details"]["groups"]["tokens"].reverse())
    done = gated(a, pair[1])
    assert done.exit_code == 1
    assert re.search(r"\bgroups of documents\b.*\btoo old\b", done.output)
    edited(a, lambda data: number_of(data, "integrity", "round_trip_share").update(value=0.5))
    lines = reasons(gated(pair[1], a).output, "worse")
    assert any("round_trip_share 1 -> 0.5" in line for line in lines), "the registry knows that it is exact"
