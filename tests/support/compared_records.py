"""Two records of one text, and changes planted in the second."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from pyharness import store
from pyharness.benchmarks import Work, benchmarks
from pyharness.cli import main
from pyharness.corpora import open_corpus
from pyharness.running.run_record import _about_metrics
from pyharness.running.workers.checks import findings
from pyharness.system import bounded_file
from pyharness.tokenizers import resolve
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.types import Case, Tokens, Vocabulary

ROW, TEXT = "twins", "text"
MARK = "qqqq"  # the first two ids of it may change places
CHANGED = 7  # document
BEFORE = 100  # ids
BENCHMARKS: dict[str, dict[str, Any]] = {"compression": {"list_unused": False}, "integrity": {"bytes": 1_000_000}}


class Twins(RawBytes):
    """Two ids for every byte. The second byte of a mark has its second id; ``swapped``: the first has."""

    id_limit = 512
    vocab_size = 512

    def __init__(self, swapped: bool = False) -> None:
        self.swapped = swapped

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        tokens = super().encode_batch(texts, threads)
        for text, start in zip(texts, tokens.offsets.tolist(), strict=False):
            if MARK in text:
                tokens.ids[start + text.index(MARK) + (not self.swapped)] += 256
        return tokens

    def decode(self, ids: Any) -> bytes:
        return super().decode(np.asarray(ids) % 256)

    def vocabulary(self) -> Vocabulary:
        return Vocabulary.from_tokens({token: bytes([token % 256]) for token in range(512)}, {})


def corpus(folder: Path) -> str:
    path = folder / "text.jsonl"
    texts = [f"{number:04d} " + "lorem ipsum " * (10 + number % 7) for number in range(80)]
    texts[CHANGED] = texts[CHANGED][:BEFORE] + MARK + texts[CHANGED][BEFORE:]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    return f"path:{path}"


def measured(name: str, tokenizer: RawBytes, text: str) -> tuple[dict[str, Any], Any]:
    case = Case(name, ROW, TEXT, BENCHMARKS[name])
    work = Work(case, resolve("raw_bytes"), lambda: tokenizer, open_corpus(text), 1)
    found = benchmarks()[name].run(work)
    values = findings(benchmarks()[name], found)
    about = {"key": case.key, "benchmark": name, "tokenizer": ROW, "corpus": TEXT, "parameters": BENCHMARKS[name]}
    return about | values, found.state


def dead_tokens(count: int) -> dict[str, Any]:
    return {
        "key": f"reachability | {ROW}", "benchmark": "reachability", "tokenizer": ROW, "corpus": None, "parameters": {},
        "status": "ok", "reason": None, "measurements": [{"metric": "unreachable_pipeline", "value": count}],
        "details": {},
    }  # fmt: skip


def write(path: Path, text: str, *, swapped: bool = False) -> Path:
    """A record with its state, of a row that claims a vocabulary."""
    results = []
    with store.states.StateWriter(store.path_beside(path)) as states:
        for name in BENCHMARKS:
            result, state = measured(name, Twins(swapped), text)
            states.add(result["key"], state)
            results.append(result)
    beside = store.path_beside(path)
    results.append(dead_tokens(3))
    data = {
        "kind": store.KIND, "schema": store.SCHEMA, "created": "2026-01-01T00:00:00+00:00", "seconds": 1.5,
        "complete": True, "suite": {}, "environment": {},
        "tokenizers": {ROW: {"vocabulary": "sha256:twins", "round_trip": "exact"}}, "corpora": {},
        "metrics": {}, "results": results,
        "state": {"file": beside.name, "bytes": beside.stat().st_size, "sha256": bounded_file.digest(beside)},
    }  # fmt: skip
    record = store.Record.from_json(data, "made")
    data["metrics"] = _about_metrics(record.results)
    path.write_text(store.dump(data), "utf-8")
    return path


def edited(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A record changed in its place."""
    data = json.loads(path.read_text("utf-8"))
    change(data)
    path.write_text(json.dumps(data), "utf-8")
    return path


def case_of(data: dict[str, Any], benchmark: str) -> dict[str, Any]:
    (case,) = (one for one in data["results"] if one["benchmark"] == benchmark)
    return case  # type: ignore[no-any-return]


def number_of(data: dict[str, Any], benchmark: str, metric: str) -> dict[str, Any]:
    (number,) = (one for one in case_of(data, benchmark)["measurements"] if one["metric"] == metric)
    return number  # type: ignore[no-any-return]


def reasons(output: str, kind: str) -> list[str]:
    """Lines of a kind."""
    return [line for line in output.splitlines() if line.startswith(f"{kind} ")]


def gated(a: Path, b: Path, *arguments: str, fail_on: str = "worse") -> Result:
    answer = CliRunner().invoke(main, ["compare", str(a), str(b), "--fail-on", fail_on, *arguments])
    assert isinstance(answer.exception, SystemExit | None), answer.output
    return answer


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of ``a.json`` and ``swapped.json``, with their states."""
    folder = tmp_path_factory.mktemp("gate")
    text = corpus(folder)
    write(folder / "a.json", text)
    write(folder / "swapped.json", text, swapped=True)
    return folder


@pytest.fixture
def pair(made: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A record, and the same again to be changed."""
    a = made / "a.json"
    shutil.copy(a, tmp_path / "b.json")
    shutil.copy(store.path_beside(a), tmp_path / store.path_beside(a).name)
    return a, tmp_path / "b.json"
