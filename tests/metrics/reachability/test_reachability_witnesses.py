"""Which corpora give witnesses, and witnesses on request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pyharness
from cases.reachability_files import byte_level, regex_split
from pyharness import suite, tokenizers
from pyharness.types import InputError
from pyharness.vocabularies.patterns.split_patterns import O200K


def test_a_corpus_that_is_named_beside_the_benchmark_gives_witnesses() -> None:
    """It was ignored wherever the benchmark was named, too."""
    chosen = suite.declare(["raw_bytes"], ["sample:prose"], ["reachability", "load"])
    assert {(case.benchmark, case.corpus) for case in suite.plan(chosen).cases} == {
        ("reachability", "sample:prose"),
        ("load", None),
    }
    run = pyharness.run(tokenizers=["raw_bytes"], corpora=["sample:prose"], benchmarks=["reachability"])
    (result,) = run.record.results
    assert result.tally is not None
    assert result.tally.bytes > 0
    assert next(one.value for one in result.measurements if one.metric == "unused_on_corpus") is not None


def test_a_suite_decides_which_corpora_give_witnesses() -> None:
    base = suite.declare(["raw_bytes"], ["sample:prose"], ["compression"])
    chosen = suite.declare(benchmarks=["reachability"], base=base)
    assert [case.corpus for case in suite.plan(chosen).cases] == [None]


def test_witnesses_on_request(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(byte_level(["\n//"], pre_tokenizer=regex_split(O200K))), encoding="utf-8")
    asked: list[str | dict[str, Any]] = [{"name": "reachability", "witnesses": True}, "reachability"]
    results = pyharness.run(tokenizers=[f"file:{path}"], benchmarks=asked).record.results
    without, with_them = sorted(results, key=lambda result: len(result.case.parameters))
    entry = with_them.details["witnesses"][-1]
    assert (entry["id"], [entry["token"]]) == (257, ["\n//"])
    assert 257 in tokenizers.load(f"file:{path}").encode_batch([entry["witness"]]).ids
    assert "witnesses" not in without.details
    assert without.case.parameters == {}


def test_witnesses_is_yes_or_no() -> None:
    with pytest.raises(InputError, match=r"witnesses = 3\b"):
        suite.plan(suite.declare(["raw_bytes"], benchmarks=[{"name": "reachability", "witnesses": 3}]))
