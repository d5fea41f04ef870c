"""A vocabulary that grows in rounds, from the command line: trained, encoded with, decoded, and refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import pyharness
from pyharness.cli import main

TEXT = "The cat sat on the mat,\nnaïve 漢字.\n"


def call(*arguments: object, code: int = 0, given: str | bytes | None = None) -> Result:
    result = CliRunner().invoke(main, [*map(str, arguments)], input=given)
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    out = tmp_path / "grown"
    said = call("train", "curriculum", "-c", "sample:prose", "--rounds", 2, "--epsilon", 1, "--order", 3, "--out", out)
    assert re.search("n-gram of order 3 .*trained on", said.stdout)
    return out


def test_what_is_trained_encodes_decodes_and_is_measured(folder: Path) -> None:
    record = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    assert record["details"]["sizes"][0] == 256
    assert record["details"]["sizes"][-1] == record["vocab_size"]
    assert [one["vocabulary"] for one in record["details"]["rounds"]] == record["details"]["sizes"][:2]
    ids = call("encode", folder / "model.json", given=TEXT).stdout
    assert len(ids.split()) < len(TEXT)
    assert call("decode", folder, given=ids).stdout == TEXT
    run = pyharness.run(
        [f"file:{folder}"], ["sample:prose"], ["integrity", "compression", "reachability", "vocabulary"]
    )
    assert {result.status for result in run.record.results} == {"ok"}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--epsilon", "0"], r"epsilon is 0\b.*entropy.*above 0"),
        (["--vocab-size", "200"], r"vocabulary of 200\b.*\b256 bytes"),
        (["--rounds", "0"], "rounds is 0"),
        (["--export", "tiktoken"], "has no --export"),
        (["--tie-rule", "lexicographic"], "has no option --tie-rule; trainers with it: "),
    ],
)
def test_what_cannot_be_trained_says_so(options: list[str], named: str, tmp_path: Path) -> None:
    refused = call("train", "curriculum", "-c", "sample:prose", *options, "--out", tmp_path / "new", code=2)
    assert re.search(named, refused.stderr)
    assert not (tmp_path / "new").exists()


def test_other_trainers_still_need_a_size(tmp_path: Path) -> None:
    refused = call("train", "bpe", "-c", "sample:prose", "--out", tmp_path / "new", code=2)
    assert "vocab_size" in refused.stderr


def test_a_round_that_adds_nothing_is_said(tmp_path: Path) -> None:
    said = call("train", "curriculum", "-c", "sample:prose", "--epsilon", "1e-9", "--out", tmp_path / "new").stdout
    assert "stopped in round 1, which added nothing" in said


def test_a_file_that_was_cut_off_or_altered_is_refused(folder: Path) -> None:
    path = folder / "model.json"
    whole = path.read_bytes()
    for damage, message in ((whole[:-50], "cut off"), (whole.replace(b'"sizes": [256', b'"sizes": [255'), "damaged")):
        path.write_bytes(damage)
        assert message in call("encode", path, given=TEXT, code=2).stderr
