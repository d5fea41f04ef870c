"""What cannot be run in parts is refused before anything is measured, with the name of the thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases.command_line import call, refused
from divided import runs as divided
from pyharness import store


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    divided.write_texts(tmp_path, 6)
    return tmp_path


@pytest.mark.parametrize(
    ("corpus", "name"),
    [
        ("path:{}/rows.jsonl?max_bytes=2kB", "max_bytes"),
        ("shard:0/2:path:{}/rows.jsonl", "shard:0/2"),
        ("repeat:2:shard:0/2:path:{}/rows.jsonl", "shard:0/2"),
        ("sample", "sample"),
        ("sample:parallel", "sample:parallel"),
    ],
)
def test_texts_without_parts(texts: Path, corpus: str, name: str) -> None:
    output = texts / "record.json"
    spec = corpus.format(texts)
    said = refused("run", "-t", "raw_bytes", "-c", spec, "-b", "compression", "--parts", "2", "-o", str(output))
    assert name in said
    assert {path.name for path in texts.iterdir()} == {"rows.jsonl", "rows.parquet", "packed", "plain"}


@pytest.mark.parametrize("name", ["reachability", "replaced_tokens"])
def test_benchmarks_without_passes(texts: Path, name: str) -> None:
    spec, output = f"path:{texts / 'rows.jsonl'}", texts / "record.json"
    words = ("-t", "deepseek", "-c", spec, "-b", name, "-b", "compression", "--parts", "2", "-o", str(output))
    assert name in refused("run", *words)


def test_dropout_that_depends_on_the_number_of_a_document(texts: Path) -> None:
    suite = divided.write_suite(texts, ["native+deepseek?dropout=0.1&seed=1"], ["rows.jsonl"], ["compression"])
    assert "dropout" in refused("plan", str(suite), "--parts", "2", "-o", str(texts / "run"))
    assert not (texts / "run").exists()


def test_nothing_to_read_in_parts(texts: Path) -> None:
    spec, output = f"path:{texts / 'rows.jsonl'}", texts / "record.json"
    words = ("-t", "raw_bytes", "-c", spec, "-b", "vocabulary", "--parts", "2", "-o", str(output))
    assert "compression" in refused("run", *words)


@pytest.mark.parametrize("parts", ["0", "-1", "1000001"])
def test_numbers_of_parts(texts: Path, parts: str) -> None:
    suite = divided.write_suite(texts, ["raw_bytes"], ["rows.jsonl"], ["compression"])
    assert parts in refused("plan", str(suite), "--parts", parts, "-o", str(texts / "run"))
    assert not (texts / "run").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--parts", "2"],
        ["--parts", "2", "-o", "record.json", "--time-limit", "1h"],
        ["--parts", "2", "-o", "record.json", "--dry-run"],
        ["--parts", "2", "-o", "record.json", "--resume"],
        ["--parts", "0", "-o", "record.json"],
        ["--parts", "2", "-o", "."],
        ["--parts", "2", "-o", "/"],
        ["--parts", "2", "-o", "/dev/null"],
    ],
)
def test_options_that_do_not_go_together(texts: Path, words: list[str]) -> None:
    suite = divided.write_suite(texts, ["raw_bytes"], ["rows.jsonl"], ["compression"])
    assert refused("run", str(suite), *words, cwd=texts)


@pytest.mark.parametrize(
    "words", [[], ["--parts", "2"], ["-o", "run"], ["--script", "slurm", "--parts", "2"], ["--at-once", "2"]]
)
def test_a_plan_says_what_it_needs(texts: Path, words: list[str]) -> None:
    suite = divided.write_suite(texts, ["raw_bytes"], ["rows.jsonl"], ["compression"])
    assert refused("plan", str(suite), *words, cwd=texts)


def test_the_front_is_verified_where_parts_are_added_up(texts: Path) -> None:
    suite = divided.write_suite(texts, ["raw_bytes"], ["rows.jsonl"], ["compression", "latency"])
    done = call("run", str(suite), "--parts", "2", "-q", "-o", str(texts / "record.json"))
    assert done.returncode == 0, done.stderr
    statuses = {one.case.benchmark: one.status for one in store.read(texts / "record.json").results}
    assert statuses == {"integrity": "ok", "compression": "ok", "latency": "ok"}
