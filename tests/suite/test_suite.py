"""Suites: reading, the product of axes, and everything wrong reported at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from pyharness import suite
from pyharness.commands import session
from pyharness.suite import parameters as suite_parameters
from pyharness.tokenizers import load
from pyharness.types import InputError


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


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
        ('tokenizers = [{ name = "a" }]\nbenchmarks = []', "needs the keys 'spec'"),
        ("tokenizers = [1]\nbenchmarks = []", "not laid out like one"),
        ('tokenizers = "raw_bytes"\nbenchmarks = []', r'text where a list is due: write tokenizers = \["raw_bytes"\]'),
        ("tokenizers = 3\nbenchmarks = []", "a list is due"),
        ('tokenizers = []\ncorpora = "sample"\nbenchmarks = []', r'write corpora = \["sample"\]'),
        ('tokenizers = []\nbenchmarks = "load"', r'write benchmarks = \["load"\]'),
        ("tokenizers = []\nbenchmarks = [1]", "not laid out like one"),
        ("tokenizers = []\nbenchmarks = [{ bytes = 1 }]", "lacks the key 'name'"),
        ('tokenizers = []\nbenchmarks = [{ name = "load", tokenizers = "x" }]', r'write tokenizers = \["x"\]'),
        ('tokenizers = []\nbenchmarks = [{ name = "load", tokenizers = [1] }]', "of benchmark 'load' is not text"),
        ('tokenizers = []\nbenchmarks = [{ name = "load", corpora = [] }]', "corpora = .. of benchmark 'load' leaves"),
        ("tokenizers = [{ spec = 1 }]\nbenchmarks = []", "spec = 1 in tokenizers is not text"),
        ("reference = 1\ntokenizers = []\nbenchmarks = []", "reference = 1 is not text"),
        ("oversubscribe = 1\ntokenizers = []\nbenchmarks = []", "neither true nor false"),
        (f"reference = 0x{'f' * 5000}\ntokenizers = []\nbenchmarks = []", "reference = a number is not text"),
        (f"reference = {'9' * 5000}\ntokenizers = []\nbenchmarks = []", "not valid TOML"),
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
    assert {"algorithms", "quick", "full", "engines", "training"} <= set(suite.shipped())
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
        suite.plan(session.declare(base=written_twice(tmp_path), **given))  # type: ignore[arg-type]
    for label in ("agian", "sample:prse"):
        assert f"{label!r}; " in str(caught.value)
    assert ("did you mean 'again'?" in str(caught.value)) == ("tokenizers" not in given)


def test_an_unknown_reference_is_never_dropped(tmp_path: Path) -> None:
    base = replace(written_twice(tmp_path), selections=(suite.Selection("compression"),), reference="agian")
    for rows in ((), ["raw_bytes"]):
        with pytest.raises(InputError, match="unknown reference 'agian'"):
            suite.plan(session.declare(rows, base=base))


def test_unknown_labels_given_beside_a_suite_are_errors(tmp_path: Path) -> None:
    base = replace(written_twice(tmp_path), selections=(suite.Selection("compression"),))
    with pytest.raises(InputError, match="unknown tokenizer 'agian'; did you mean 'again'"):
        suite.plan(session.declare(benchmarks=[{"name": "compression", "tokenizers": ["agian"]}], base=base))


def test_labels_that_were_replaced_are_dropped(tmp_path: Path) -> None:
    base = replace(written_twice(tmp_path), selections=written_twice(tmp_path).selections[2:])
    narrowed = session.declare(["raw_bytes"], ["sample:prose"], base=base)
    assert narrowed.selections == (suite.Selection("latency"),)
    assert narrowed.reference is None
    kept = session.declare(benchmarks=["latency"], base=base)
    assert kept.reference == "again"


def test_powers_of_two() -> None:
    assert [suite.powers_of_two(n) for n in (1, 2, 3, 8)] == [[1], [1, 2], [1, 2], [1, 2, 4, 8]]


def plain(folder: Path, line: str) -> suite.Suite:
    return suite.read(written(folder, f"{line}\ntokenizers = []\nbenchmarks = []"))


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "0", "-1", "true", '"120"', "1" + "0" * 400, "2020-01-01"])
def test_a_time_limit_is_finite_and_above_zero(tmp_path: Path, value: str) -> None:
    with pytest.raises(InputError, match=r"time_limit_seconds = .* is not a finite number above 0"):
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
    assert session.declare(["raw_bytes"], memory_limit="1MB").memory_limit == 1_000_000
    for value in ("0", "-1", "true", "1.5", '"lots"', '"0"', "[]", '"-1"'):
        with pytest.raises(InputError, match="memory_limit"):
            plain(tmp_path, f"memory_limit = {value}")


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "-q", "a b", "a*", "[a]", "ä", "x" * 65, "a\\n"])
def test_a_name_is_fit_for_a_file_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be part of a file name"):
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
    chosen = session.declare(["raw_bytes"], ["sample:prose"], [{"name": benchmark, **parameters}])
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
    with pytest.raises(InputError, match="threads = 8 is more than this process has cores"):
        suite.plan(suite.read(written(tmp_path, text)))
    allowed = suite.plan(suite.read(written(tmp_path, "oversubscribe = true\n" + text)))
    assert [case.parameters["threads"] for case in allowed.cases] == [1, 8]


def test_a_bare_string_from_python_is_refused() -> None:
    with pytest.raises(InputError, match=r"tokenizers = .raw_bytes. is text where a list is due"):
        session.run("raw_bytes")
    with pytest.raises(InputError, match="corpora = 'sample' is text where a list is due"):
        session.run(["raw_bytes"], "sample")


def test_a_folder_does_not_hide_a_shipped_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick").mkdir()
    assert suite.find("quick") == suite.shipped()["quick"]
    with pytest.raises(InputError, match="is a folder, not a suite file"):
        suite.find("./quick")
    (tmp_path / "full").write_text("", encoding="utf-8")
    assert suite.find("full") == suite.shipped()["full"]
    assert suite.find("./full") == Path("./full")
    (tmp_path / "own").write_text("", encoding="utf-8")
    assert suite.find("own") == Path("own")


def test_what_a_record_cannot_hold_is_found_out_before_measuring() -> None:
    chosen = session.declare(["raw_bytes"], ["sample:prose"], ["load"])
    with pytest.raises(InputError, match="suite 'custom': a record cannot hold this"):
        suite.plan(replace(chosen, time_limit_seconds=float("inf")))


def test_the_default_suite_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object, **named: object) -> NoReturn:
        raise AssertionError("the network was asked")

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("socket.socket.connect", refuse)
    rows = {row.label: load(row.spec) for row in suite.read(suite.find("quick")).tokenizers}
    assert {"o200k_base", "cl100k_base"} < set(rows)
    assert all(len(row.encode_batch(["hello world"]).ids) for row in rows.values())
