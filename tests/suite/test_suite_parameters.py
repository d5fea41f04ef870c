"""Parameters and limits of a suite: read by their type, refused before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases.suite_files import written
from pyharness import suite
from pyharness.suite import plans as suite_parameters
from pyharness.types import InputError


def test_powers_of_two() -> None:
    assert [suite.powers_of_two(n) for n in (1, 2, 3, 8)] == [[1], [1, 2], [1, 2], [1, 2, 4, 8]]


def plain(folder: Path, line: str) -> suite.Suite:
    return suite.read(written(folder, f"{line}\ntokenizers = []\nbenchmarks = []"))


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "0", "-1", "true", '"120"', "1" + "0" * 400, "2020-01-01"])
def test_a_time_limit_is_finite_and_above_zero(tmp_path: Path, value: str) -> None:
    with pytest.raises(InputError, match=r"time_limit_seconds = .*finite number"):
        plain(tmp_path, f"time_limit_seconds = {value}")


def test_time_limits(tmp_path: Path) -> None:
    assert plain(tmp_path, "time_limit_seconds = 0.5").time_limit_seconds == 0.5
    assert plain(tmp_path, "time_limit_seconds = 120").time_limit_seconds == 120.0


def test_memory_limits(tmp_path: Path) -> None:
    assert plain(tmp_path, "").memory_limit is None
    assert "memory_limit" not in plain(tmp_path, "").as_json()
    assert plain(tmp_path, "memory_limit = 1000").memory_limit == 1000
    limited = plain(tmp_path, 'memory_limit = "4GB"')
    assert limited.memory_limit == limited.as_json()["memory_limit"] == 4_000_000_000
    assert suite.declare(["raw_bytes"], memory_limit="1MB").memory_limit == 1_000_000
    for value in ("0", "-1", "true", "1.5", '"lots"', '"0"', "[]", '"-1"'):
        with pytest.raises(InputError, match="memory_limit"):
            plain(tmp_path, f"memory_limit = {value}")


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "-q", "a b", "a*", "[a]", "ä", "x" * 65, "a\\n"])
def test_a_name_is_fit_for_a_file_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"name = .*\b64\b.*\bA-Z a-z 0-9\b"):
        plain(tmp_path, f'name = "{name}"')


def test_names(tmp_path: Path) -> None:
    for name in ("quick", "v1.2_final-3", "7", "x" * 64):
        assert plain(tmp_path, f'name = "{name}"').name == name
    with pytest.raises(InputError, match="name = 3 is not text"):
        plain(tmp_path, "name = 3")
    for file, name in (("mine.toml", "mine"), ("my suite [1].toml", "my-suite-1-"), ("ä.toml", "suite")):
        (tmp_path / file).write_text("tokenizers = []\nbenchmarks = []", encoding="utf-8")
        assert suite.read(tmp_path / file).name == name


def points(benchmark: str, **parameters: object) -> list[dict[str, object]]:
    chosen = suite.declare(["raw_bytes"], ["sample:prose"], [{"name": benchmark, **parameters}])
    return [dict(case.parameters) for case in suite.plan(chosen).cases]


def test_parameters_are_read_by_their_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_parameters, "cores", lambda: 4)
    assert points("throughput", bytes="2MB", threads=[1, 2]) == [
        {"bytes": 2_000_000, "threads": 1},
        {"bytes": 2_000_000, "threads": 2},
    ]
    assert points("throughput", bytes=["1KiB", 7], threads=1) == [
        {"bytes": 1024, "threads": 1},
        {"bytes": 7, "threads": 1},
    ]
    assert [point["threads"] for point in points("throughput")] == [1, 2, 4]
    assert [point["threads"] for point in points("throughput", threads="powers of two")] == [1, 2, 4]
    assert points("compression", list_unused=True) == [{"list_unused": True}]


BAD_SIZES: list[object] = [0, -1, True, 2e6, float("nan"), None, "lots", "2 lemons", "-1", [], [1, "x"], {}, 10**400]


BAD_THREADS: list[object] = [0, -1, True, 1.5, "two", None, [], [1, 0], [[1]], 5, 10**9]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        *(("throughput", {"bytes": size}) for size in BAD_SIZES),
        *(("throughput", {"threads": count}) for count in BAD_THREADS),
        *(("compression", {"list_unused": switch}) for switch in (1, "yes", None)),
    ],
)
def test_bad_parameters_are_named_before_anything_runs(
    name: str, parameters: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite_parameters, "cores", lambda: 4)
    (parameter,) = parameters
    with pytest.raises(InputError, match=f"benchmark '{name}': {parameter}"):
        points(name, **parameters)


def test_more_threads_than_cores_only_if_the_suite_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_parameters, "cores", lambda: 2)
    text = 'tokenizers = ["raw_bytes"]\ncorpora = ["sample"]\nbenchmarks = [{ name = "throughput", threads = [1, 8] }]'
    with pytest.raises(InputError, match=r"threads = 8\b.* 2\b.*oversubscribe"):
        suite.plan(suite.read(written(tmp_path, text)))
    allowed = suite.plan(suite.read(written(tmp_path, "oversubscribe = true\n" + text)))
    assert [case.parameters["threads"] for case in allowed.cases] == [1, 8]


TWO_REFERENCES = """
tokenizers = ["raw_bytes", { name = "again", spec = "raw_bytes" }]
corpora = ["sample"]
benchmarks = [{ name = "throughput", rounds = 2, threads = 1, reference = ["raw_bytes", "again"] }]
"""


def test_references_in_a_list_are_one_case_each_and_lose_those_that_are_replaced(tmp_path: Path) -> None:
    base = suite.read(written(tmp_path, TWO_REFERENCES))
    cases = suite.plan(suite.declare(base=base)).cases
    assert [case.parameters["reference"] for case in cases] == ["raw_bytes", "again"] * 2
    (narrowed,) = suite.declare(["raw_bytes"], base=base).selections
    assert narrowed.parameters["reference"] == ["raw_bytes"]
    (bare,) = suite.override(base, suite.entries([{"name": "other", "spec": "raw_bytes"}]), (), ()).selections
    assert "reference" not in bare.parameters


@pytest.mark.parametrize("value", ["{}", "[[]]", "3"])
def test_a_reference_that_is_no_label_is_refused(tmp_path: Path, value: str) -> None:
    base = suite.read(written(tmp_path, TWO_REFERENCES.replace('["raw_bytes", "again"] }', f"{value} }}")))
    with pytest.raises(InputError, match=r"benchmark 'throughput': reference = .* is not text"):
        suite.plan(suite.declare(base=base))


def test_a_reference_takes_turns_with_the_rows_it_is_for(tmp_path: Path) -> None:
    text = TWO_REFERENCES.replace('["raw_bytes", "again"] }', '"again", tokenizers = ["raw_bytes"] }')
    with pytest.raises(InputError, match=r"'throughput'.*'again'.*\btokenizers = "):
        suite.plan(suite.read(written(tmp_path, text)))
