"""Suites: reading, the product of axes, and everything wrong reported at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyharness import session, suite
from pyharness.types import InputError


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_product_of_rows_texts_and_parameters(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        tokenizers = ["raw_bytes", { name = "again", spec = "raw_bytes" }]
        corpora = ["sample:prose", "sample:parallel"]
        benchmarks = [
          "compression", "fairness", "reachability", "load",
          { name = "throughput", corpora = ["sample:prose"], threads = [1, 2], bytes = 1000 },
        ]
        """,
    )
    cases = suite.plan(suite.read(path)).cases
    count = {name: sum(case.benchmark == name for case in cases) for name in ("compression", "fairness", "throughput")}
    assert count == {"compression": 4, "fairness": 2, "throughput": 4}
    assert {case.corpus for case in cases if case.benchmark == "fairness"} == {"sample:parallel"}
    assert {case.corpus for case in cases if case.benchmark in ("reachability", "load")} == {None}
    assert len({case.key for case in cases}) == len(cases)


def test_everything_unknown_is_reported_at_once(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        tokenizers = ["raw_byte", "file:nowhere.json"]
        corpora = ["sampel", "sample"]
        reference = "gpt2"
        benchmarks = [
          "compresion", { name = "throughput", byts = 3 }, { name = "latency", corpora = ["simple"] },
        ]
        """,
    )
    with pytest.raises(InputError) as caught:
        suite.plan(suite.read(path))
    message = str(caught.value)
    for expected in (
        "unknown tokenizer 'raw_byte'; did you mean 'raw_bytes'?",
        "nowhere.json",
        "'sampel'; did you mean 'sample'",
        "unknown reference 'gpt2'",
        "unknown benchmark 'compresion'; did you mean 'compression'?",
        "unknown parameter of throughput 'byts'; did you mean 'bytes'?",
        "unknown corpus 'simple'; did you mean 'sample'",
    ):
        assert expected in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tokenizers = [", "not valid TOML"),
        ("tokenizer = []", "did you mean 'tokenizers'"),
        ("tokenizers = []", "lacks 'benchmarks'"),
        ('tokenizers = ["a", "a"]\nbenchmarks = []', "used twice"),
        ('tokenizers = [{ name = "a" }]\nbenchmarks = []', "needs the keys 'spec'"),
        ("tokenizers = [1]\nbenchmarks = []", "not laid out like one"),
        (
            'tokenizers = ["file:${NO_SUCH_VARIABLE}/x"]\nbenchmarks = []',
            "NO_SUCH_VARIABLE, which is not set",
        ),
    ],
)
def test_bad_suites(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        suite.read(written(tmp_path, text))


def test_unknown_suite_names_are_suggested() -> None:
    with pytest.raises(InputError, match="did you mean 'quick'"):
        suite.find("quik")
    with pytest.raises(InputError, match="does not exist"):
        suite.find("missing.toml")


def test_shipped_suites_say_what_they_are() -> None:
    assert {"quick", "full", "engines"} <= set(suite.shipped())
    assert all(suite.summary_of(path) for path in suite.shipped().values())


def test_a_parallel_benchmark_refuses_plain_text() -> None:
    chosen = session.declare(["raw_bytes"], ["sample:prose"], [{"name": "fairness", "corpora": ["sample:prose"]}])
    with pytest.raises(InputError, match="needs parallel text"):
        suite.plan(chosen)


def test_nothing_to_run_is_said() -> None:
    with pytest.raises(InputError, match="nothing to run"):
        suite.plan(session.declare(["raw_bytes"], ["sample:prose"], ["fairness"]))


def test_names_given_replace_those_of_the_suite() -> None:
    quick = suite.read(suite.find("quick"))
    narrowed = session.declare(["raw_bytes"], ["sample:prose"], (), quick)
    assert [entry.label for entry in narrowed.tokenizers] == ["raw_bytes"]
    assert narrowed.reference is None
    assert suite.plan(narrowed).cases
    assert narrowed.digest != quick.digest


def test_powers_of_two() -> None:
    assert [suite.powers_of_two(n) for n in (1, 2, 3, 8)] == [[1], [1, 2], [1, 2], [1, 2, 4, 8]]
