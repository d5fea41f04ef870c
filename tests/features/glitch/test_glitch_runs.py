"""Runs of the benchmark: causes, a table and answers; what cannot be measured says why."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cases.command_line import call, refused
from checkpoints.made import weights
from pyharness import tokenizers
from pyharness.features.glitch import benchmark as glitch
from pyharness.features.glitch.benchmark import cause_of, settle
from pyharness.features.glitch.indicators import Indicators
from pyharness.metrics.reachability import Verdict
from pyharness.types import Unsupported, Vocabulary
from tokenizer_files import byte_level

PADDED = 272  # rows; the tokenizer has 263 ids
UNUSED = "unused=263-271"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An untied model of 263 ids and 9 rows of padding, which are untrained, as are the rows of ids 5, 200 and 258."""
    rows = np.random.default_rng(1).standard_normal((PADDED, 64)).astype("<f4")
    rows[[200, 258, *range(263, PADDED)]] *= 0.05
    rows[5] *= 1e-6
    other = np.random.default_rng(2).standard_normal((PADDED, 64)).astype("<f4")
    (tmp_path / "m").mkdir()
    (tmp_path / "m/model.safetensors").write_bytes(
        weights({"model.embed_tokens.weight": rows, "lm_head.weight": other})
    )
    (tmp_path / "m/config.json").write_text(json.dumps({"model_type": "llama", "vocab_size": PADDED}))
    (tmp_path / "m/tokenizer.json").write_text(json.dumps(byte_level()))
    return tmp_path


def measured(folder: Path, benchmark: str, row: str = "file:m/tokenizer.json") -> dict[str, Any]:
    done = call("run", "-t", row, "-b", benchmark, "-o", "r.json", "--force", cwd=folder)
    assert "Traceback" not in done.stderr
    result: dict[str, Any] = json.loads((folder / "r.json").read_text())["results"][0]
    return {**result, "printed": done.stdout}


def test_untrained_rows_are_listed_with_their_causes(folder: Path) -> None:
    result = measured(folder, f"glitch?{UNUSED}")
    listed = {one["id"]: one["cause"] for one in result["details"]["candidates"]}
    assert listed == {5: "near zero", 200: "byte", 258: "reachable"}
    assert "258" in result["printed"]
    assert result["details"]["tied"] is False
    numbers = {(one["metric"], one.get("part")): one["value"] for one in result["measurements"]}
    assert numbers["glitch_candidates", None] == 3
    assert numbers["glitch_causes", "reachable"] == 1


def test_one_unused_id_may_be_named(folder: Path) -> None:
    result = measured(folder, "glitch?unused=265")
    assert result["parameters"] == {"unused": "265"}
    assert result["details"]["unused_ids"] == 1


def test_a_number_for_text_in_a_suite_says_what_to_write(folder: Path) -> None:
    (folder / "s.toml").write_text(
        'tokenizers = ["file:m/tokenizer.json"]\nbenchmarks = [{ name = "glitch", unused = 5 }]\n'
    )
    assert "unused = 5" in refused("run", "s.toml", cwd=folder)


def test_rows_like_unused_ids_have_no_count(folder: Path) -> None:
    result = measured(folder, "glitch?unused=10-30")
    (count,) = (one for one in result["measurements"] if one["metric"] == "glitch_candidates")
    assert count["value"] is None
    assert count["reason"]


def test_a_row_without_a_model_is_skipped(folder: Path) -> None:
    assert measured(folder, "glitch", "raw_bytes")["status"] == "skipped"


def test_a_model_of_the_row_that_cannot_be_read_is_skipped_and_a_named_one_refused(folder: Path) -> None:
    config = json.loads((folder / "m/config.json").read_text())
    (folder / "m/config.json").write_text(json.dumps({**config, "quantization_config": {}}))
    result = measured(folder, "glitch")
    assert (result["status"], "quantised" in result["reason"]) == ("skipped", True)
    assert "quantised" in refused("run", "-t", "file:m/tokenizer.json", "-b", "glitch?model=m", cwd=folder)


def test_no_model_is_fetched_without_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(name: str) -> None:
        raise AssertionError(name)

    monkeypatch.setattr(glitch, "check", fetch)
    row = dataclasses.replace(tokenizers.resolve("raw_bytes"), name="hf:organisation/name")
    with pytest.raises(Unsupported):
        settle({"model": "", "verify": 0}, row, "cpu")


@pytest.mark.parametrize("parameters", ["model=nowhere/at all", "verify=5000", "verify=-1"])
def test_bad_parameters_end_before_anything_runs(folder: Path, parameters: str) -> None:
    done = call("run", "-t", "file:m/tokenizer.json", "-b", f"glitch?{parameters}", cwd=folder)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("parameters", ["unused=5000-5001", "tensor=nowhere"])
def test_what_the_checkpoint_lacks_fails_its_case(folder: Path, parameters: str) -> None:
    result = measured(folder, f"glitch?{parameters}")
    assert (result["status"], result["details"]["failure"]) == ("failed", "input")


def test_another_tokenizer_than_the_model_s_fails(folder: Path) -> None:
    content = byte_level()
    content["model"]["vocab"] = {
        key: {1: 2, 2: 1}.get(value, value) for key, value in content["model"]["vocab"].items()
    }
    (folder / "other.json").write_text(json.dumps(content))
    result = measured(folder, f"glitch?{UNUSED}&model={folder / 'm'}", "file:other.json")
    assert result["status"] == "failed"
    assert "other tokens" in result["reason"]


def test_each_verdict_has_one_cause() -> None:
    vocabulary = Vocabulary.from_tokens({0: b"a", 1: b"\xff", 2: b"\xff\xfe"}, {})
    zero = np.array([True, True, False])
    numbers = Indicators("L2 norm", np.zeros(3), zero, 0.0, 1.0, 0.1, 0.1)
    causes = [cause_of(0, np.array([verdict] * 3, np.uint8), vocabulary, numbers) for verdict in Verdict]
    assert causes == ["near zero"] * 3 + ["unreachable"] * 4 + [
        "near zero", "byte", "special", "special", "byte", "unused", "unused", "unused",
    ]  # fmt: skip
    undecodable = np.full(3, Verdict.UNDECODABLE, np.uint8)
    assert [cause_of(token, undecodable, vocabulary, numbers) for token in (1, 2)] == ["byte", "partial UTF-8"]
    assert cause_of(2, np.zeros(3, np.uint8), vocabulary, numbers) == "reachable"
