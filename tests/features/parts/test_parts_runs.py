"""A run in parts has the numbers of one process, to the last bit, whatever the parts, their order and failures."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cases.command_line import call, refused
from divided import runs as divided
from pyharness import store
from pyharness.features.parts import merging
from pyharness.running.workers.process import Workers


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("divided")
    divided.write_texts(folder)
    return folder


@pytest.fixture(scope="module")
def whole(texts: Path) -> store.Record:
    return divided.in_one_process(divided.write_suite(texts), texts / "whole.json")


@pytest.mark.parametrize("parts", [1, 7])
def test_the_record_is_that_of_one_process(texts: Path, whole: store.Record, tmp_path: Path, parts: int) -> None:
    record = divided.in_parts(texts / "suite.toml", parts, tmp_path / "run", tmp_path / "record.json")
    divided.assert_equal(record, whole)
    assert record.data["complete"] is True
    assert record.data["suite"] == whole.data["suite"]
    assert record.data["tokenizers"] == whole.data["tokenizers"]
    assert {name: one["spec"] for name, one in record.data["corpora"].items()} == {
        name: one["spec"] for name, one in whole.data["corpora"].items()
    }
    assert all(one["whole"] for one in record.data["corpora"].values())


def test_passes_are_those_of_one_process(texts: Path, tmp_path: Path) -> None:
    suite = divided.write_suite(texts, ["raw_bytes"], ["plain"]).rename(tmp_path / "passes.toml")
    divided.write_suite(texts)
    suite.write_text(suite.read_text(encoding="utf-8").replace("path:", "repeat:3:path:"), encoding="utf-8")
    expected = divided.in_one_process(suite, tmp_path / "whole.json")
    divided.assert_equal(divided.in_parts(suite, 5, tmp_path / "run", tmp_path / "record.json"), expected)


def test_a_record_of_parts_derives_again(texts: Path, whole: store.Record, tmp_path: Path) -> None:
    divided.in_parts(texts / "suite.toml", 3, tmp_path / "run", tmp_path / "record.json")
    done = call("report", str(tmp_path / "record.json"), "--rederive")
    assert done.returncode == 0, done.stdout
    assert len(whole.results) > 10


def test_one_command_does_it_all_and_leaves_nothing_else(texts: Path, whole: store.Record, tmp_path: Path) -> None:
    output = tmp_path / "record.json"
    done = call("run", str(texts / "suite.toml"), "--parts", "4", "-o", str(output))
    assert done.returncode == 0, done.stderr
    divided.assert_equal(store.read(output), whole)
    assert {path.name for path in tmp_path.iterdir()} == {"record.json", "record.json.state.zip"}
    assert "Compression" in done.stdout


def test_one_part_is_a_plain_run_that_keeps_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    divided.write_texts(tmp_path, 12)
    suite, output = divided.write_suite(tmp_path, ["raw_bytes"], ["rows.jsonl"]), tmp_path / "record.json"
    expected = divided.in_one_process(suite, tmp_path / "whole.json")
    words = ("run", str(suite), "--parts", "1", "-q", "-o", str(output))
    with monkeypatch.context() as patched:
        patched.setattr(merging, "merge", None)
        assert call(*words).returncode == 0
    divided.assert_equal(store.read(output), expected)
    assert not output.with_name("record.json.parts").exists()
    assert "exists" in refused(*words)
    other = (
        "-t",
        "raw_bytes",
        "-c",
        f"shard:0/2:path:{tmp_path}/rows.jsonl",
        *words[2:-1],
        str(tmp_path / "other.json"),
    )
    assert "shard:" in refused("run", *other)


def test_a_file_lost_before_the_merge_is_read_again_by_resume(
    texts: Path, whole: store.Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("run", str(texts / "suite.toml"), "--parts", "2", "-q", "-o", str(tmp_path / "record.json"))
    merge = merging.merge

    def losing(run: Any, *others: Any, **more: Any) -> store.Record:
        next(run.folder.path.glob("1/*.part.zip")).unlink()
        return merge(run, *others, **more)

    with monkeypatch.context() as patched:
        patched.setattr(merging, "merge", losing)
        assert "--part" in refused(*words)
    assert call(*words, "--resume").returncode == 0
    divided.assert_equal(store.read(tmp_path / "record.json"), whole)


def test_what_a_killed_merge_leaves_is_no_hindrance(texts: Path, whole: store.Record, tmp_path: Path) -> None:
    output, folder = tmp_path / "record.json", tmp_path / "record.json.parts"
    words = ("run", str(texts / "suite.toml"), "--parts", "2", "-q", "-o", str(output))
    divided.planned(texts / "suite.toml", 2, folder)
    assert divided.worked(folder, 0).returncode == 0
    (folder / "0" / ".0.part.zip.01234567.part").write_bytes(b"cut")
    store.path_beside(output).write_bytes(b"the state was written and the record was not")
    assert call(*words, "--resume").returncode == 0
    divided.assert_equal(store.read(output), whole)
    assert not folder.exists()
    divided.planned(texts / "suite.toml", 2, folder)  # and here, killed before it was removed
    assert call(*words, "--resume").returncode == 0
    assert not folder.exists()


def test_side_by_side_changes_nothing(texts: Path, whole: store.Record, tmp_path: Path) -> None:
    suite = divided.write_suite(texts, more="workers = 2\n").rename(tmp_path / "two.toml")
    divided.write_suite(texts)
    output = tmp_path / "record.json"
    assert call("run", str(suite), "--parts", "5", "-q", "-o", str(output)).returncode == 0
    divided.assert_equal(store.read(output), whole)


def test_what_is_trained_on_is_the_same_share(texts: Path, tmp_path: Path) -> None:
    row = f"trained:bpe?vocab_size=400&corpus=path:{texts / 'plain' / '1.txt'}"
    suite = divided.write_suite(texts, [row], ["plain"], ["compression"]).rename(tmp_path / "trained.toml")
    divided.write_suite(texts)
    expected = divided.in_one_process(suite, tmp_path / "whole.json")
    record = divided.in_parts(suite, 4, tmp_path / "run", tmp_path / "record.json")
    divided.assert_equal(record, expected)
    assert any(one.trained_on for one in record.results)


MARKER = "abort here"
PLUGIN = f"""
import os
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.types import TokenizerSpec
class OneDocument(RawBytes):
    def encode_batch(self, texts, threads=1):
        if any({MARKER!r} in text for text in texts):
            os.abort()
        return super().encode_batch(texts, threads)
TOKENIZERS = (TokenizerSpec("one-document", lambda _: OneDocument(), library="pyharness"),)
"""


@pytest.fixture
def aborting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "one_document.py").write_text(PLUGIN, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", ""))))
    monkeypatch.setenv("PYHARNESS_PLUGINS", "one_document")
    monkeypatch.syspath_prepend(str(tmp_path))
    from pyharness.plugins import registry

    registry.discover.cache_clear()
    yield
    registry.discover.cache_clear()


@pytest.mark.usefixtures("aborting")
def test_parts_are_kept_where_one_failed(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps({"text": f"a {MARKER}"}) + "\n", encoding="utf-8")
    suite = divided.write_suite(tmp_path, ["one-document"], ["rows.jsonl"], ["compression"])
    words = ("run", str(suite), "--parts", "2", "-o", str(tmp_path / "record.json"))
    first, again, forced = call(*words), call(*words, "--resume"), call(*words, "--force")
    assert (tmp_path / "record.json.parts" / "plan.json").exists()
    assert (first.returncode, again.returncode, forced.returncode) == (1, 1, 2)
    assert "PART.done.json" in first.stderr
    assert "--resume" not in forced.stderr


@pytest.mark.usefixtures("aborting")
def test_a_document_that_ends_the_process_costs_one_case(tmp_path: Path) -> None:
    lines = [json.dumps({"text": f"document {number} " * 40}) for number in range(4000)]
    lines.append(json.dumps({"text": MARKER}))
    (tmp_path / "rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    suite = divided.write_suite(tmp_path, ["one-document", "raw_bytes"], ["rows.jsonl"], ["compression"])
    divided.planned(suite, 4, tmp_path / "run")
    assert divided.worked(tmp_path / "run", 0, 1, 2).returncode == 0
    done = divided.worked(tmp_path / "run", 3)
    assert done.returncode == 1
    assert "one-document" in done.stderr
    told = json.loads((tmp_path / "run" / "3.done.json").read_text(encoding="utf-8"))
    assert {(one["case"].split(" | ")[1], one["status"], one["tries"]) for one in told["cases"]} == {
        ("one-document", "failed", 3),
        ("raw_bytes", "ok", 1),
    }
    merged = call("merge", str(tmp_path / "run"), "-q", "-o", str(tmp_path / "record.json"))
    assert merged.returncode == 1
    results = {
        one.case.tokenizer: one
        for one in store.read(tmp_path / "record.json").results
        if one.case.benchmark == "compression"
    }
    assert (results["one-document"].status, results["one-document"].failure) == ("failed", "crash")
    assert "part 3 of 4" in str(results["one-document"].reason)
    assert results["raw_bytes"].status == "ok"
    assert results["raw_bytes"].tally is not None
    assert results["raw_bytes"].tally.documents == len(lines)


@pytest.mark.usefixtures("aborting")
def test_a_failed_part_is_one_line_of_a_quiet_run(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps({"text": f"a {MARKER}"}) + "\n", encoding="utf-8")
    suite = divided.write_suite(tmp_path, ["one-document"], ["rows.jsonl"], ["compression"])
    done = call("run", str(suite), "--parts", "2", "-q", "-o", str(tmp_path / "record.json"))
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert len(errors) == 1
    assert "part 0 of 2" in errors[0]


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Grows by each worker process that is started."""
    begun: list[None] = []
    start = Workers._start

    def counting(self: Workers) -> Any:
        begun.append(None)
        return start(self)

    monkeypatch.setattr(Workers, "_start", counting)
    return begun


def test_rows_keep_their_processes_from_part_to_part(tmp_path: Path, starts: list[None]) -> None:
    divided.write_texts(tmp_path, 12)
    suite = divided.write_suite(tmp_path, ["raw_bytes", "mistral:tekken"], ["rows.jsonl"], ["compression"])
    done = call("run", str(suite), "--parts", "6", "-q", "-o", str(tmp_path / "record.json"))
    assert done.returncode == 0, done.stderr
    assert len(starts) == 2


USED_UP = """
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.types import TokenizerSpec
class UsedUp(RawBytes):
    calls = 0
    def encode_batch(self, texts, threads=1):
        UsedUp.calls += 1
        if UsedUp.calls > 1:
            raise OSError("too many open files")
        return super().encode_batch(texts, threads)
TOKENIZERS = (TokenizerSpec("one-document", lambda _: UsedUp(), library="pyharness"),)
"""


@pytest.mark.usefixtures("aborting")
def test_what_an_earlier_part_did_to_a_process_costs_no_try(tmp_path: Path) -> None:
    (tmp_path / "one_document.py").write_text(USED_UP, encoding="utf-8")
    divided.write_texts(tmp_path, 6)
    suite = divided.write_suite(tmp_path, ["one-document"], ["rows.jsonl"], ["compression"])
    divided.planned(suite, 3, tmp_path / "run")
    assert divided.worked(tmp_path / "run", 0, 1, 2).returncode == 0
    told = [json.loads((tmp_path / "run" / f"{part}.done.json").read_text(encoding="utf-8")) for part in range(3)]
    assert [one["cases"][0]["tries"] for one in told] == [1, 1, 1]
