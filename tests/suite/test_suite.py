"""Suites: reading, the product of axes, and everything wrong reported at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from cases.suite_files import written
from pyharness import suite
from pyharness.commands import session
from pyharness.tokenizers import load
from pyharness.types import InputError


def test_the_product_of_rows_texts_and_parameters(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        oversubscribe = true
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
        ('tokenizers = [{ name = "a" }]\nbenchmarks = []', r"{'name': 'a'} .*'spec'"),
        ("tokenizers = [1]\nbenchmarks = []", "1 in tokenizers"),
        ('tokenizers = "raw_bytes"\nbenchmarks = []', r'write tokenizers = \["raw_bytes"\]'),
        ("tokenizers = 3\nbenchmarks = []", "tokenizers = 3"),
        ('tokenizers = []\ncorpora = "sample"\nbenchmarks = []', r'write corpora = \["sample"\]'),
        ('tokenizers = []\nbenchmarks = "load"', r'write benchmarks = \["load"\]'),
        ("tokenizers = []\nbenchmarks = [1]", "1 in benchmarks"),
        ("tokenizers = []\nbenchmarks = [{ bytes = 1 }]", "bytes.*key 'name'"),
        ('tokenizers = []\nbenchmarks = [{ name = "load", tokenizers = "x" }]', r'write tokenizers = \["x"\]'),
        ('tokenizers = []\nbenchmarks = [{ name = "load", tokenizers = [1] }]', "of benchmark 'load' is not text"),
        ('tokenizers = []\nbenchmarks = [{ name = "load", corpora = [] }]', "corpora = .. of benchmark 'load' leaves"),
        ("tokenizers = [{ spec = 1 }]\nbenchmarks = []", "spec = 1 in tokenizers is not text"),
        ("reference = 1\ntokenizers = []\nbenchmarks = []", "reference = 1 is not text"),
        ("oversubscribe = 1\ntokenizers = []\nbenchmarks = []", "oversubscribe = 1 .*true"),
        (f"reference = 0x{'f' * 5000}\ntokenizers = []\nbenchmarks = []", "reference = a number is not text"),
        (f"reference = {'9' * 5000}\ntokenizers = []\nbenchmarks = []", "not valid TOML"),
        (
            'tokenizers = ["file:${NO_SUCH_VARIABLE}/x"]\nbenchmarks = []',
            r"\$\{NO_SUCH_VARIABLE\}.*not set",
        ),
    ],
)
def test_bad_suites(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"mine\.toml\b.*{message}"):
        suite.read(written(tmp_path, text))


def test_unknown_suite_names_are_suggested() -> None:
    with pytest.raises(InputError, match="did you mean 'quick'"):
        suite.find("quik")
    with pytest.raises(InputError, match="does not exist"):
        suite.find("missing.toml")


def test_shipped_suites_say_what_they_are() -> None:
    assert {"quick", "full"} <= set(suite.shipped())
    assert all(suite.summary_of(path) for path in suite.shipped().values())


def test_a_parallel_benchmark_refuses_plain_text() -> None:
    chosen = suite.declare(["raw_bytes"], ["sample:prose"], [{"name": "fairness", "corpora": ["sample:prose"]}])
    with pytest.raises(InputError, match=r"'fairness'.*'parallel'"):
        suite.plan(chosen)


def test_a_decimal_on_the_command_line_is_a_number() -> None:
    assert suite.benchmark("distribution?alpha=1.5,2") == {"name": "distribution", "alpha": [1.5, 2]}


def test_a_benchmark_is_one_text_or_a_table_everywhere(tmp_path: Path) -> None:
    table = {"name": "distribution", "alpha": [1, 2.5], "corpora": ["sample"]}
    (selection,) = suite.selections([table])
    text = "distribution?alpha=1,2.5&corpora=sample"
    assert suite.selections([text]) == (selection,)
    assert suite.declare(["raw_bytes"], ["sample"], [text]).selections == (selection,)
    path = written(tmp_path, f'tokenizers = ["raw_bytes"]\ncorpora = ["sample"]\nbenchmarks = ["{text}"]\n')
    assert suite.read(path).selections == (selection,)
    with pytest.raises(InputError, match="gives alpha= twice"):
        suite.selections(["distribution?alpha=1&alpha=2"])


def test_nothing_to_run_is_said() -> None:
    with pytest.raises(InputError, match="nothing to run"):
        suite.plan(suite.declare(["raw_bytes"], ["sample:prose"], ["fairness"]))


def test_names_given_replace_those_of_the_suite() -> None:
    quick = suite.read(suite.find("quick"))
    narrowed = suite.declare(["raw_bytes"], ["sample:prose"], (), quick)
    assert [entry.label for entry in narrowed.tokenizers] == ["raw_bytes"]
    assert narrowed.reference is None
    assert suite.plan(narrowed).cases
    assert narrowed.digest != quick.digest


def written_twice(folder: Path) -> suite.Suite:
    path = written(
        folder,
        """
        tokenizers = ["raw_bytes", { name = "again", spec = "raw_bytes" }]
        corpora = ["sample:prose", "sample:code"]
        reference = "again"
        benchmarks = [
          { name = "compression", tokenizers = ["agian"] }, { name = "throughput", corpora = ["sample:prse"] },
          { name = "latency", tokenizers = ["again"], corpora = ["sample:code"] },
        ]
        """,
    )
    return suite.read(path)


@pytest.mark.parametrize("given", [{}, {"tokenizers": ["raw_bytes"]}, {"corpora": ["sample:prose"]}])
def test_unknown_labels_are_never_dropped(tmp_path: Path, given: dict[str, list[str]]) -> None:
    with pytest.raises(InputError) as caught:
        suite.plan(suite.declare(base=written_twice(tmp_path), **given))  # type: ignore[arg-type]
    for label in ("agian", "sample:prse"):
        assert f"{label!r}; " in str(caught.value)
    assert ("did you mean 'again'?" in str(caught.value)) == ("tokenizers" not in given)


def test_an_unknown_reference_is_never_dropped(tmp_path: Path) -> None:
    base = replace(written_twice(tmp_path), selections=(suite.Selection("compression"),), reference="agian")
    for rows in ((), ["raw_bytes"]):
        with pytest.raises(InputError, match="unknown reference 'agian'"):
            suite.plan(suite.declare(rows, base=base))


def test_an_unknown_row_in_rounds_is_one_problem() -> None:
    chosen = suite.declare(["raw_byte"], ["sample"], [{"name": "latency", "rounds": 2}])
    with pytest.raises(InputError) as caught:
        suite.plan(chosen)
    assert str(caught.value).splitlines() == ["unknown tokenizer 'raw_byte'; did you mean 'raw_bytes'?"]


def test_unknown_labels_given_beside_a_suite_are_errors(tmp_path: Path) -> None:
    base = replace(written_twice(tmp_path), selections=(suite.Selection("compression"),))
    with pytest.raises(InputError, match="unknown tokenizer 'agian'; did you mean 'again'"):
        suite.plan(suite.declare(benchmarks=[{"name": "compression", "tokenizers": ["agian"]}], base=base))


def test_labels_that_were_replaced_are_dropped(tmp_path: Path) -> None:
    base = replace(written_twice(tmp_path), selections=written_twice(tmp_path).selections[2:])
    narrowed = suite.declare(["raw_bytes"], ["sample:prose"], base=base)
    assert narrowed.selections == (suite.Selection("latency"),)
    assert narrowed.reference is None
    kept = suite.declare(benchmarks=["latency"], base=base)
    assert kept.reference == "again"


def test_a_bare_string_from_python_is_refused() -> None:
    with pytest.raises(InputError, match=r"tokenizers = 'raw_bytes'.*tokenizers = \["):
        session.run("raw_bytes")
    with pytest.raises(InputError, match=r"corpora = 'sample'.*corpora = \["):
        session.run(["raw_bytes"], "sample")


def test_a_folder_does_not_hide_a_shipped_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick").mkdir()
    assert suite.find("quick") == suite.shipped()["quick"]
    with pytest.raises(InputError, match=r"'\./quick'.*folder"):
        suite.find("./quick")
    (tmp_path / "full").write_text("", encoding="utf-8")
    assert suite.find("full") == suite.shipped()["full"]
    assert suite.find("./full") == Path("./full")
    (tmp_path / "own").write_text("", encoding="utf-8")
    assert suite.find("own") == Path("own")


def test_what_a_record_cannot_hold_is_found_out_before_measuring() -> None:
    chosen = suite.declare(["raw_bytes"], ["sample:prose"], ["load"])
    with pytest.raises(InputError, match=r"suite 'custom'.*\binf\b"):
        suite.plan(replace(chosen, time_limit_seconds=float("inf")))


def test_the_default_suite_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object, **named: object) -> NoReturn:
        raise AssertionError("the network was asked")

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("socket.socket.connect", refuse)
    rows = {row.label: load(row.spec) for row in suite.read(suite.find("quick")).tokenizers}
    assert {"o200k_base", "cl100k_base"} < set(rows)
    assert all(len(row.encode_batch(["hello world"]).ids) for row in rows.values())
