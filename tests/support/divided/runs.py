"""Small suites over files that are read in parts, and the comparison of two records to the last bit."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cases.command_line import Done, call
from pyharness import store
from pyharness.corpora import open_corpus
from pyharness.metrics import all_metrics
from pyharness.types import Tally

ROWS = ("raw_bytes", "deepseek", "patches:space")
# A row of each library: tokenizers, ours, tiktoken, SentencePiece, patches, and no library at all.
LIBRARIES = ("deepseek", "native+deepseek", "mistral:tekken", "mistral:v3", "patches:space", "raw_bytes")


def write_texts(folder: Path, count: int = 60) -> None:
    """Write documents as JSON Lines, Parquet, five compressed files and five of plain text."""
    texts = [text[:1500] for text in open_corpus("sample:prose").documents(Tally())][:count]
    lines = [json.dumps({"text": text, "of": f"work {number // 3}"}) + "\n" for number, text in enumerate(texts)]
    (folder / "rows.jsonl").write_text("".join(lines), encoding="utf-8")
    pq.write_table(pa.table({"text": texts}), folder / "rows.parquet", row_group_size=4)
    for kind in ("packed", "plain"):
        (folder / kind).mkdir()
    for number in range(5):
        (folder / "packed" / f"{number}.jsonl.xz").write_bytes(lzma.compress("".join(lines[number::5]).encode()))
        (folder / "plain" / f"{number}.txt").write_text("".join(texts[number::5]), encoding="utf-8")


SOURCES = ("rows.jsonl?work=of&max_document_bytes=600", "rows.parquet?max_document_bytes=900", "packed", "plain")


def write_suite(
    folder: Path, rows: Sequence[Any] = ROWS, sources: Sequence[str] = SOURCES,
    benchmarks: Sequence[Any] = ("compression", "segmentation"), more: str = "",
) -> Path:  # fmt: skip
    """Write a suite over these files, and return its path; rows and benchmarks are names, or tables."""
    corpora = [{"name": source.partition("?")[0], "spec": f"path:{folder / source}"} for source in sources]
    suite, lists = folder / "suite.toml", {"tokenizers": rows, "benchmarks": benchmarks, "corpora": corpora}
    lines = [f"{name} = {_as_toml(list(items))}\n" for name, items in lists.items()]
    suite.write_text(f'name = "divided"\n{"".join(lines)}{more}', encoding="utf-8")
    return suite


def _as_toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_as_toml, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{name} = {_as_toml(one)}' for name, one in value.items())} }}"
    return json.dumps(value)


def planned(suite: Path, parts: int, folder: Path) -> None:
    done = call("plan", str(suite), "--parts", str(parts), "-o", str(folder))
    assert done.returncode == 0, done.stderr


def worked(folder: Path, *parts: int) -> Done:
    return call("work", str(folder), *(word for part in parts for word in ("--part", str(part))))


def in_one_process(suite: Path, output: Path) -> store.Record:
    done = call("run", str(suite), "-q", "-o", str(output))
    assert done.returncode == 0, done.stderr
    return store.read(output)


def in_parts(suite: Path, parts: int, folder: Path, output: Path) -> store.Record:
    """Plan, work the parts from the last to the first, and merge."""
    planned(suite, parts, folder)
    assert worked(folder, *reversed(range(parts))).returncode == 0
    done = call("merge", str(folder), "-q", "-o", str(output))
    assert done.returncode == 0, done.stderr
    return store.read(output)


def assert_equal(found: store.Record, expected: store.Record) -> None:
    """Compare every deterministic value, replicate, detail and digest, and every array of the state."""
    assert [one.case.key for one in found.results] == [one.case.key for one in expected.results]
    with found.state() as mine, expected.state() as theirs:
        assert set(mine.cases) == set(theirs.cases)
    assert_holds(found, expected)


def assert_holds(found: store.Record, expected: store.Record) -> None:
    """Compare, as ``assert_equal`` does, all cases of a record with those of another one, which may have more."""
    results = {one.case.key: one for one in found.results}
    for other in expected.results:
        one = results[other.case.key]
        assert (one.status, one.reason, one.failure) == (other.status, other.reason, other.failure), one.case.key
        assert _deterministic(one.measurements) == _deterministic(other.measurements), one.case.key
        assert _plain(one.details) == _plain(other.details), one.case.key
        assert (one.groups, one.ids, one.histograms, one.trained_on) == (
            other.groups, other.ids, other.histograms, other.trained_on
        )  # fmt: skip
        _assert_same_text(one.tally, other.tally)
    _assert_same_states(found, expected)


def _deterministic(measurements: Sequence[Any]) -> list[Any]:
    return [one for one in measurements if all_metrics()[one.metric].deterministic]


def _plain(details: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in details.items() if name != "seconds"}


def _assert_same_text(found: Any, expected: Any) -> None:
    if expected is None:
        assert found is None
        return
    for name in ("documents", "bytes", "digest", "empty_documents", "cut_documents", "replaced_sequences"):
        assert getattr(found, name) == getattr(expected, name), name
    beginnings = found.beginnings or ()
    assert beginnings == (expected.beginnings or ())[: len(beginnings)]


def _assert_same_states(found: store.Record, expected: store.Record) -> None:
    with found.state() as mine, expected.state() as theirs:
        for case in theirs.cases:
            arrays, others = mine.of(case), theirs.of(case)
            assert arrays.keys() == others.keys()
            for name, array in others.items():
                assert arrays[name].dtype == array.dtype, (case, name)
                assert np.array_equal(arrays[name], array), (case, name)
