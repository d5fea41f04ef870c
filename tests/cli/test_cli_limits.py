"""``pyharness run --max-bytes``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cases.command_line import QUICK, call, refused
from pyharness import corpora
from pyharness.types import Tally


def test_each_text_is_cut_at_whole_documents_and_tables_say_so(tmp_path: Path) -> None:
    output = tmp_path / "r.json"
    more = ("-c", "all=sample:code?max_bytes=4kB")
    done = call(*QUICK, *more, "--max-bytes", "5kB", "-o", str(output))
    assert done.returncode == 0, done.stderr
    texts = json.loads(output.read_text(encoding="utf-8"))["corpora"]
    assert {label: text["spec"] for label, text in texts.items()} == {
        "sample:prose": "sample:prose?max_bytes=5kB",
        "all": "sample:code?max_bytes=4kB",
    }
    for text in texts.values():
        tally = Tally()
        for document in corpora.open_corpus(text["spec"]).documents(tally):
            tally.add(document)
        assert (text["tally"]["bytes"], text["tally"]["digest"]) == (tally.bytes, f"{tally.digest:032x}")
    assert "Text as read: at most 5kB" in done.stdout
    assert "Text as read: at most 4kB" in done.stdout


@pytest.mark.parametrize(
    ("given", "said"),
    [("much", "--max-bytes=much is not a size"), ("0", "--max-bytes=0 leaves no text"), ("-3", "is not a size")],
)
def test_a_bound_that_is_none(tmp_path: Path, given: str, said: str) -> None:
    message = refused(*QUICK, "--max-bytes", given, cwd=tmp_path)
    assert said in message
    assert len(message.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_bound_below_the_first_document_is_one_line(tmp_path: Path) -> None:
    message = refused(*QUICK, "--max-bytes", "5", "-q", "-o", str(tmp_path / "r.json"))
    assert "max_bytes=5 leaves no room for the first document" in message
    assert len([line for line in message.splitlines() if line.startswith("error")]) == 1
