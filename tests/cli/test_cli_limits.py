"""``pyharness run --max-bytes`` and ``--time-limit``, and what a run that ended early leaves."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cases.command_line import QUICK, RUN, call, program, refused
from pyharness import corpora
from pyharness.cli import run
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


@pytest.mark.parametrize("number", [1, 2])
def test_what_is_left_out_or_replaced_is_counted_in_words(tmp_path: Path, number: int) -> None:
    (tmp_path / "a.txt").write_bytes(b"a word\n" + b"w\xffo\n" * number + b"\n" * number)
    chosen = ("-t", "raw_bytes", "-c", "path:a.txt?split=line", "-b", "words")
    done = call("run", *chosen, "-o", "r.json", cwd=tmp_path)
    ends = "s" * (number > 1)
    said = f"{number} empty document{ends} left out, {number} invalid UTF-8 sequence{ends} replaced."
    assert said in " ".join(done.stdout.split())
    (tmp_path / "none.txt").write_text("\n" * number)
    said = refused("run", *chosen[:2], "-c", "path:none.txt?split=line", *chosen[4:], cwd=tmp_path)
    assert f"no documents (left out: {number} empty document{ends})" in said


@pytest.mark.parametrize(
    ("given", "said"),
    [("much", "--max-bytes=much is not"), ("0", "--max-bytes=0 leaves no text"), ("-3", "--max-bytes=-3 is not")],
)
def test_a_bound_that_is_none(tmp_path: Path, given: str, said: str) -> None:
    message = refused(*QUICK, "--max-bytes", given, cwd=tmp_path)
    assert said in message
    assert len(message.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_bound_below_the_first_document_is_one_line(tmp_path: Path) -> None:
    message = refused(*QUICK, "--max-bytes", "5", "-q", "-o", str(tmp_path / "r.json"))
    assert re.search(r"\bmax_bytes=5 .*\bdocument\b", message)
    assert len([line for line in message.splitlines() if line.startswith("error")]) == 1


BOTH = ("run", "-t", "raw_bytes", "-t", "slow", "-c", "sample:prose", "-b", "compression")


@pytest.mark.usefixtures("doubles")
def test_a_run_out_of_time_names_the_command_that_goes_on(tmp_path: Path) -> None:
    slow = {"DOUBLES_SECONDS": "4", "COLUMNS": "200"}  # which is over when the first case of the slow row is done
    done = program(*BOTH, "-c", "name with spaces=sample:code", "--time-limit", "4s", cwd=tmp_path, **slow)
    (record,) = tmp_path.glob("pyharness-results/*.json")
    assert done.returncode == 1, done.stderr
    named = done.stderr.splitlines()[-1]
    assert named == (
        "time limit of 4s reached; go on with: pyharness run -t raw_bytes -t slow -c sample:prose -b compression "
        f"-c 'name with spaces=sample:code' --time-limit 4s -o {record.relative_to(tmp_path)} --resume"
    )
    assert "time limit of 4s was reached" in done.stdout
    assert not json.loads(record.read_text(encoding="utf-8"))["complete"]
    words = shlex.split(named.partition(": ")[2].replace("--time-limit 4s", "--time-limit 5m"))
    again = program(*words[1:], cwd=tmp_path, DOUBLES_SECONDS="0")
    assert again.returncode == 0, again.stderr
    assert json.loads(record.read_text(encoding="utf-8"))["complete"]


@pytest.mark.usefixtures("doubles")
def test_an_interrupted_run_names_the_command_that_goes_on(tmp_path: Path) -> None:
    variables = os.environ | {"DOUBLES_MARKER": str(tmp_path / "begun"), "DOUBLES_SECONDS": "60"}
    process = subprocess.Popen([*RUN, *BOTH, "-q"], cwd=tmp_path, env=variables, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "begun").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    (journal,) = tmp_path.glob("pyharness-results/*.journal")
    assert said == (
        "interrupted; go on with: pyharness run -t raw_bytes -t slow -c sample:prose -b compression -q "
        f"-o {journal.relative_to(tmp_path).with_suffix('')} --resume\n"
    )
    again = call(*shlex.split(said.partition(": ")[2])[1:], cwd=tmp_path, DOUBLES_SECONDS="0")
    assert again.returncode == 0, again.stderr
    assert not journal.exists()


@pytest.mark.parametrize("given", ["ten", "10", "0s"])
def test_a_time_limit_that_is_none(tmp_path: Path, given: str) -> None:
    message = refused(*QUICK, "--time-limit", given, cwd=tmp_path)
    assert re.fullmatch(rf"error: time limit '{given}' .*\b10m\n", message)
    assert not list(tmp_path.iterdir())


def test_a_run_that_failed_at_once_blocks_nothing(tmp_path: Path) -> None:
    record = ("-q", "-o", "r.json")
    refused("run", "-t", "file:gone.json", "-c", "sample", *record, cwd=tmp_path)
    refused(*QUICK, "--time-limit", "0.001s", *record, cwd=tmp_path)
    assert not list(tmp_path.iterdir())
    (tmp_path / "r.json.journal").write_text('{"header": {"suite": "of a run that was killed at once"}}\n')
    assert call(*QUICK, *record, cwd=tmp_path).returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"r.json", "r.json.state.zip"}


def test_two_runs_in_a_second_have_two_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda *_: "20260101-000000")
    names = []
    for _ in range(2):
        with run._claim("a", None, force=False, resume=False) as journal:
            journal.start({}, resume=False)
            journal.add({})
            names.append(journal.record.name)
    assert names == ["a-20260101-000000.json", "a-20260101-000000-2.json"]
