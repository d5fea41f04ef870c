"""The benchmark from outside: the command, suites, records and comparisons."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import language_models as tiny
from browsing.measuring import Here
from language_models import measured, values, written
from pyharness import report, store, suite
from pyharness.benchmarks import Findings
from pyharness.commands import session
from pyharness.features.language_models.metrics import TOLERANCE
from pyharness.report import comparison
from pyharness.running.workers import process
from pyharness.types import InputError

pytest.importorskip("torch", reason="needs the extra torch")
pytest.importorskip("transformers", reason="needs the extra hub")

TEXTS = [f"he said hello to {n} wheels, {'hello ' * (n % 5)}" for n in range(100)]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "Child", Here)


def test_the_command_runs_it_in_a_process_of_its_own(tmp_path: Path) -> None:
    folder, output = tiny.build(tmp_path / "gpt2"), tmp_path / "record.json"
    command = [sys.executable, "-P", "-m", "pyharness", "run", f"-tfile:{folder}", "-traw_bytes", "-o", str(output)]
    command += ["-c", written(tmp_path / "texts.jsonl", TEXTS), "-b", "next_token_entropy?context=16"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "150"})
    assert done.returncode == 0, done.stderr
    assert "bits/byte" in done.stdout
    assert "outside" in done.stdout
    measured_row, without_model = session.read(output).record.of("next_token_entropy")
    assert without_model.status == "skipped"
    assert re.search(r"'raw_bytes'.*\bnext_token_entropy\?model=", str(without_model.reason))
    assert measured_row.case.parameters["dtype"] == "float32"
    expected = values(measured(folder, TEXTS, context=16))
    assert values(Findings(measured_row.measurements)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.usefixtures("here")
def test_rows_with_a_model_each_compare_on_bits_per_byte(tmp_path: Path) -> None:
    """The parameters are the same, because the model is the one that the tokenizer came with."""
    rows = [f"file:{tiny.build(tmp_path / kind, kind)}" for kind in ("gpt2", "llama")]
    outcome = session.run([*rows, "raw_bytes"], [written(tmp_path / "texts.jsonl", TEXTS)], ["next_token_entropy"])
    (difference,) = (one for one in comparison.rows(outcome.record, *rows) if one.metric == "bits_per_byte")
    assert difference.interval is not None
    assert difference.verdict in ("better", "worse", "not significant")
    assert difference.title.endswith("texts.jsonl"), "nothing varies among what was measured"
    kinds = [one.details["model"]["architecture"] for one in outcome.record.of("next_token_entropy")[:2]]
    assert kinds == ["GPT2LMHeadModel", "LlamaForCausalLM"]
    assert outcome.record.data["metrics"]["bits_per_byte"]["tolerance"] == TOLERANCE


@pytest.mark.usefixtures("here")
def test_what_is_within_the_arithmetic_of_machines_is_the_same(tmp_path: Path) -> None:
    row = f"file:{tiny.build(tmp_path)}"
    outcome = session.run([row], [written(tmp_path / "texts.jsonl", TEXTS)], ["next_token_entropy"])

    def verdicts(factor: float) -> set[str]:
        data = json.loads(json.dumps(outcome.record.data))
        for result in data["results"]:
            for one in result["measurements"]:
                if one["value"] and result["benchmark"] == "next_token_entropy":
                    one["value"] *= factor
                    one["replicates"] = [value and value * factor for value in one.get("replicates", [])]
        differences = comparison.records(outcome.record, store.Record.from_json(data, "other"))
        return {one.verdict for one in differences if one.metric == "bits_per_byte"}

    assert verdicts(1 + TOLERANCE / 2) == {"same"}
    assert verdicts(1 + TOLERANCE * 2) == {"worse"}


@pytest.mark.usefixtures("here")
def test_tables_tell_contexts_apart_and_say_what_was_not_checked(tmp_path: Path) -> None:
    row = f"file:{tiny.build(tmp_path / 'model')}"
    bare = tiny.build(tmp_path / "bare", tokenizer=False)
    chosen = {"name": "next_token_entropy", "context": [8, 16], "model": str(bare)}
    corpus = written(tmp_path / "texts.jsonl", TEXTS)
    outcome = session.run([row], [corpus], [chosen])
    tables = [table for table in report.sheets(outcome.record) if table.title.startswith("Next token")]
    assert [table.title.rpartition(", ")[2] for table in tables] == ["context=8", "context=16"] * 2
    for table in tables[:2]:
        assert len(table.rows) == 1
        assert any(note.startswith("Not checked") and row in note for note in table.notes)
    differences = comparison.records(outcome.record, outcome.record)
    assert {one.title.rpartition(" | ")[2] for one in differences if "next_token" in one.title} == {
        "context=8",
        "context=16",
    }
    assert outcome.record.data["corpora"][corpus]["whole"], (
        "the account is of all of the text, not of the part verified"
    )


def test_a_suite_may_ask_for_several_contexts_and_finds_out_what_is_wrong_first(tmp_path: Path) -> None:
    path, model = tmp_path / "suite.toml", str(tiny.build(tmp_path / "model"))
    text = f"""
        tokenizers = ["file:{model}", "raw_bytes"]
        corpora = ["sample:prose"]
        benchmarks = [{{ name = "next_token_entropy", model = "MODEL", context = [8, 16], dtype = "float32" }}]
    """
    path.write_text(text.replace("MODEL", model), encoding="utf-8")
    contexts = [case.parameters["context"] for case in suite.plan(suite.read(path)).cases]
    assert contexts == [8, 16, 8, 16]
    path.write_text(text.replace("MODEL", "no/such/../model"), encoding="utf-8")
    with pytest.raises(InputError, match=r"no language model 'no/such/\.\./model'"):
        suite.plan(suite.read(path))
