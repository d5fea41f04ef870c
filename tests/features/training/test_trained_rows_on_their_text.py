"""A run knows which of its rows were trained on what it measures: the record says it, and they have no rank."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import pyharness
from pyharness import report, store
from pyharness.features.training import recipe
from pyharness.report.ranking import ranked_texts


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(recipe, "_TEXTS", {})
    draw = np.random.default_rng(0)
    words = ["".join(draw.choice(list("etaoinshr"), 6)) for _ in range(300)]
    for name in ("et", "other"):
        texts = [" ".join(draw.choice(words, 60)) for _ in range(120)]
        lines = (json.dumps({"text": text}) + "\n" for text in texts)
        (tmp_path / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return tmp_path


def trained(corpus: str, **more: str) -> str:
    return f"trained:bpe?vocab_size=400&corpus={corpus}" + "".join(f"&{key}={one}" for key, one in more.items())


def shares(record: store.Record, benchmark: str) -> dict[str, float | None]:
    return {result.case.tokenizer: result.trained_on for result in record.of(benchmark)}


def test_rows_that_were_trained_on_the_text_are_told_from_others(folder: Path) -> None:
    text = folder / "et.jsonl"
    half, other = trained(f"shard:0/2:path:{folder}/./et.jsonl"), trained(f"path:{folder / 'other.jsonl'}")
    own, engine = trained(f"path:{text}"), "native+" + trained(f"path:{text}", pattern="gpt2")
    rows = [own, engine, half, other, "raw_bytes"]
    for _ in ("trained", "from the cache"):
        record = pyharness.run(rows, [f"path:{text}"], ["compression"]).record
        for benchmark in ("compression", "integrity"):
            known = shares(record, benchmark)
            assert (known[own], known[engine], known[other], known["raw_bytes"]) == (1.0, 1.0, 0.0, None)
            assert 0.4 < (known[half] or 0) < 0.6
        ((_, column),) = ranked_texts(record, "compression", "bytes_per_token").items()
        assert {row: one.rank for row, one in column.items()} == {
            other: 1, "raw_bytes": 2, own: None, engine: None, half: None,
        }  # fmt: skip
        recipe._TEXTS.clear()
    written = json.loads(json.dumps([store.result_as_json(result) for result in record.results]))
    assert [one["details"].get("trained_on") for one in written if one["tokenizer"] == own] == [1.0, 1.0]
    assert "†" in report.to_text(report.sheets(record))
    assert "†" in report.to_markdown(report.sheets(record))
    assert "†" in report.to_html(report.sheets(record))


def test_patches_of_a_model_that_was_trained_on_the_text_are_marked(folder: Path) -> None:
    row = f"patches:entropy?corpus=path:{folder / 'et.jsonl'}&order=2&threshold=2"
    record = pyharness.run([row, "raw_bytes"], [f"path:{folder / 'et.jsonl'}"], ["segmentation"]).record
    assert shares(record, "segmentation")[row] == 1.0
