"""The study of the columns that papers print: the whole pool has the numbers of the benchmarks."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import pyharness
from pyharness import tokenizers
from pyharness.types import Measurement, digest_of


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    folder = Path(__file__).parents[2] / "segments"
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    return importlib.import_module("paper_intervals")


def values(measurements: list[Measurement]) -> dict[tuple[str, str | None], float | int | None]:
    return {(one.metric, one.part): one.value for one in measurements}


def measured(benchmark: dict[str, object], text: str) -> dict[tuple[str, str | None], float | int | None]:
    record = pyharness.run(["raw_bytes"], [text], [benchmark]).record
    (result,) = (one for one in record.results if one.case.benchmark == benchmark["name"])
    return values(list(result.measurements))


def test_all_words_have_the_numbers_of_the_benchmark(study: ModuleType, tmp_path: Path) -> None:
    gold = tmp_path / "gold.tsv"
    gold.write_text("".join(f"walk{'a' * place}s\twalk{'a' * place} @@s\n" for place in range(80)))
    of, pool = study.of_words(tokenizers.load("raw_bytes"), str(gold))
    ours = values(of(np.arange(pool), [digest_of(str(place)) for place in range(pool)]))
    assert pool == 80
    assert ours == measured({"name": "morphology", "gold": str(gold)}, "sample:prose")


def test_all_documents_have_the_numbers_of_the_benchmark(study: ModuleType, tmp_path: Path) -> None:
    texts = [f"naïve {place} " * (place + 3) for place in range(70)]
    path = tmp_path / "pool.jsonl"
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    of, pool = study.of_documents(tokenizers.load("raw_bytes"), texts)
    ours = values(of(np.arange(pool), [digest_of(text) for text in texts]))
    expected = measured({"name": "distribution", "window": study.WINDOW, "alpha": study.ALPHA}, f"path:{path}")
    for key, value in expected.items():
        if key[0] != "successor_entropy":  # of a sample: the study leaves it out
            assert ours[key] == (None if value is None else pytest.approx(value, rel=1e-12)), key
