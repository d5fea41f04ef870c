"""What a benchmark is for is data: the runner names none of them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import pyharness
from pyharness.benchmarks import Role, benchmarks
from pyharness.plugins import registry
from pyharness.types import Failure, InputError

RUNNING = Path(pyharness.__file__).parent / "running"
OWN_CHECK = """
from pyharness.benchmarks import Benchmark, Findings, Role
def run(work):
    work.load()
    if work.case.tokenizer == "distrusted":
        return Findings(status="failed", reason="not today")
    return Findings()
BENCHMARKS = (Benchmark("trust", "", run, "required", (), role=Role.VERIFIES, parameters={"bytes": 1000}),)
"""


def test_no_benchmark_is_named_where_cases_are_run() -> None:
    names = "|".join(benchmarks())
    for path in (*RUNNING.glob("*.py"), RUNNING.parent / "benchmarks" / "__init__.py"):
        assert not re.search(rf"([=,\[(]|\bin\b) ?[\"']({names})[\"']", path.read_text(encoding="utf-8")), path


def test_a_check_says_how_much_it_reads() -> None:
    with pytest.raises(InputError, match=r"'integrity'.*\bparameter 'bytes'"):
        replace(benchmarks()["integrity"], parameters={})


def test_a_check_of_a_plug_in_comes_first_and_forbids_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trusting.py").write_text(OWN_CHECK, encoding="utf-8")
    (tmp_path / "suite.toml").write_text(
        'tokenizers = ["raw_bytes", { name = "distrusted", spec = "raw_bytes" }]\ncorpora = ["sample:prose"]\n'
        'benchmarks = ["compression"]\n',
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYHARNESS_PLUGINS", "trusting")
    registry.discover.cache_clear()
    try:
        record = pyharness.run(suite_name=tmp_path / "suite.toml").record
    finally:
        registry.discover.cache_clear()
    by_case = {(one.case.benchmark, one.case.tokenizer): one for one in record.results}
    assert [one.case.benchmark for one in record.results][:3] == ["integrity", "trust", "compression"]
    assert by_case["trust", "raw_bytes"].status == by_case["compression", "raw_bytes"].status == "ok"
    assert by_case["trust", "distrusted"].failure is Failure.WRONG
    assert by_case["compression", "distrusted"].failure is Failure.UNVERIFIED
    assert not by_case["compression", "distrusted"].measurements


def test_roles_are_in_the_order_that_cases_run_in() -> None:
    assert [*Role] == [Role.VERIFIES, Role.COUNTS, Role.TIMES]
    ours = [one for one in benchmarks().values() if one.run.__module__.startswith("pyharness.benchmarks.")]
    assert {one.name for one in ours if one.timed} == {"throughput", "latency", "load"}
