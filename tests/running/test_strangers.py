"""Plug-ins whose values have no place in a record: each costs one case, and is named."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyharness
from doubles import WRONG_FACTS, WRONG_FINDINGS
from pyharness import report, store, suite
from pyharness.benchmarks import Benchmark, Findings, benchmarks
from pyharness.metrics.counting.state import CorpusMetric, CorpusState, measure
from pyharness.plugins import registry
from pyharness.running.workers import checks, messages, process
from pyharness.statistics.jackknife import GROUPS
from pyharness.store.json_values import encoded
from pyharness.types import Case, CaseResult, InputError, Measurement, Metric

pytestmark = pytest.mark.usefixtures("doubles")


def benchmark() -> Benchmark:
    return benchmarks()["value-text"]


@pytest.mark.parametrize("name", WRONG_FINDINGS)
def test_a_wrong_finding_is_named(name: str) -> None:
    with pytest.raises(checks.WrongValue) as caught:
        checks.findings(benchmarks()[name], WRONG_FINDINGS[name]())
    message = str(caught.value)
    assert name in message
    assert "doubles." in message
    assert len(message) < 400
    assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("value-text", "'doubled' of benchmark 'value-text' .* is 'x'; .*finite number"),
        ("value-huge", "a number of about 401 digits"),
        ("status-own", "gave the status 'great'; known: ok, skipped, failed"),
        ("metric-unknown", "measured 'no_such_metric'"),
        ("metric-twice", "measured 'doubled' twice"),
        ("details-bytes", r"details\['a'\]\['b'\] .* is b'bytes'; .*\bJSON\b"),
        ("details-keys", "has the key 1;"),
        ("details-huge", "larger than 33,554,432 bytes"),
        ("details-many", "larger than 33,554,432 bytes"),
        ("details-deep", "nested more than 48 levels deep"),
    ],
)
def test_what_is_said_of_it(name: str, says: str) -> None:
    with pytest.raises(checks.WrongValue, match=says):
        checks.findings(benchmarks()[name], WRONG_FINDINGS[name]())


def test_numbers_of_numpy_are_numbers() -> None:
    values = Measurement("doubled", np.int64(3), samples=(np.float32(0.5), np.uint8(2)))  # type: ignore[arg-type]
    checked = checks.findings(benchmark(), Findings((values,)))
    assert json.loads(json.dumps(checked["measurements"])) == [{"metric": "doubled", "value": 3, "samples": [0.5, 2]}]


@pytest.mark.parametrize("name", WRONG_FACTS)
def test_a_wrong_attribute_of_a_tokenizer_costs_its_case(name: str) -> None:
    run = pyharness.run([name, "raw_bytes"], ["sample:prose"], ["integrity"])
    by_row = {one.case.tokenizer: one for one in run.record.results}
    assert by_row["raw_bytes"].status == "ok"
    attribute, _ = WRONG_FACTS[name]
    assert str(by_row[name].reason).startswith(f"{attribute} of tokenizer doubles.WrongFacts is ")
    store.Record.from_json(json.loads(store.dump(run.record.data)), "it")


def test_wrong_findings_cost_their_cases_and_the_record_can_be_reported(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    chosen = ["value-text", "value-huge", "status-own", "details-bytes", "details-huge", "reachability"]
    run = pyharness.run(["raw_bytes"], ["sample:prose"], chosen, output=path)
    states = {one.case.benchmark: one.status for one in run.record.results}
    assert states == dict.fromkeys(chosen[:-1], "failed") | {"reachability": states["reachability"]}
    assert states["reachability"] != "failed"
    assert report.to_text(report.sheets(store.read(path)))


def test_a_long_message_is_cut_and_quick() -> None:
    start = time.monotonic()
    run = pyharness.run(["wordy"], ["sample:prose"], ["integrity"], tracebacks=True)
    (result,) = run.record.results
    assert str(result.reason).startswith("ValueError: word word")
    assert len(str(result.reason)) < 2200
    assert "raised in doubles.Wordy.encode_batch" in str(result.reason)
    assert len(result.details["traceback"]) <= 20_000
    assert str(run)
    assert time.monotonic() - start < 15


@pytest.mark.parametrize(("name", "says"), [("listing", "Listing gave a list"), ("short", "Short gave")])
def test_a_tokenizer_that_gives_no_ids_of_each_text_is_named_with_its_promise(name: str, says: str) -> None:
    run = pyharness.run([name], ["sample:prose"], ["integrity"])
    (result,) = run.record.results
    assert all(word in str(result.reason) for word in ("encode_batch", says, "Tokens of"))
    assert "raised in" not in str(result.reason)


def test_a_metric_that_raises_is_named() -> None:
    metric = CorpusMetric(Metric("mine", "x", "none", "mine", primary=True), lambda counts: 1 // 0)
    state = CorpusState.of_sums({"documents": np.ones(GROUPS, np.object_)})
    with pytest.raises(ZeroDivisionError) as caught:
        measure(state, [metric])
    assert "'mine'" in checks.said_by(caught.value)


class Rude(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_an_exception_that_cannot_be_read() -> None:
    assert checks.said_by(Rude()).startswith("Rude: ")
    assert "Rude" in checks.trace_of(Rude())


def text_of(**values: Any) -> str:
    """What a worker says of a case, with other values here and there."""
    sound: dict[str, Any] = {"status": "ok", "reason": None, "measurements": [], "details": {}}
    return json.dumps({**store.case_as_json(Case("b", "t", None)), **sound, **values})


MEASURED = [{"metric": "a", "value": 1}]
ANSWERS = [
    "{}", '{"failed": "x", "failure": "error"}', text_of(status="great"), text_of(status="failed"),
    text_of(measurements=[{"metric": "a", "value": "x"}]), text_of(measurements=[{"metric": "a", "value": 1e300}]),
    text_of(measurements=[{"metric": "a", "value": float("nan")}]), text_of(measurements={}),
    text_of(measurements=[{"metric": "a", "value": 1, "more": 1}]), text_of(more=1), text_of(details={"tally": 3}),
    text_of(status="skipped", reason="x", measurements=MEASURED), text_of(status="failed", reason="x"),
    text_of(status="failed", reason="x", details={"failure": "x"}), text_of(key="b | t | c"), text_of(tokenizer="c"),
    text_of(parameters={"a": 1}), text_of(key=[]), text_of().replace(": ", ":\r"),
    text_of(details=json.loads("[" * 62 + "]" * 62)), text_of(details={"a": json.loads("[" * 62 + "]" * 62)}),
]  # fmt: skip


def answer_of(text: str, **beside: Any) -> messages.CaseAnswer:
    return messages.CaseAnswer(text.encode(), json.loads(text), beside)


@pytest.mark.parametrize("text", ANSWERS)
def test_the_parent_checks_again(text: str) -> None:
    with pytest.raises(store.Misshapen):
        messages.result_of(Case("b", "t", None), answer_of(text))
    assert messages.result_of(Case("b", "t", None), answer_of(text_of()))


def test_what_a_worker_says_comes_back_whole() -> None:
    case = Case("b", "t", None, {"a": 1})
    measured = Measurement("doubled", 0.5, part="p", samples=(1.0, 2.0))
    checked = checks.findings(benchmark(), Findings((measured,), {"a": [1, {"b": "\udc80é"}]}))
    text = encoded(store.case_as_json(case) | checked)
    result, kept = messages.result_of(case, answer_of(text))
    assert result == CaseResult(case, "ok", None, (measured,), {"a": [1, {"b": "\udc80é"}]})
    assert kept == text == encoded(store.result_as_json(result))


def test_a_parameter_that_is_equal_and_another() -> None:
    case = Case("b", "t", None, {"a": 1})
    for value in (True, 1.0):
        answer = answer_of(text_of(key=case.key, parameters={"a": value}))
        with pytest.raises(store.Misshapen, match="another case"):
            messages.result_of(case, answer)


def test_of_what_is_said_beside_results_the_last_is_kept() -> None:
    beside: dict[str, Any] = {}
    for number in range(3):
        assert process._is_news({"beside": {str(number): 0}}, lambda done: None, beside)
    assert beside == {"2": 0}
    assert not process._is_news({"beside": json.loads("[" * 900 + "]" * 900)}, lambda done: None, beside)


FACTS: list[Any] = [
    {}, {"vocab_size": "x"}, [], {"vocab_size": 1, "id_limit": 1, "round_trip": 3},
    {"units": {}, "notes": [], "vocab_size": "x"},
]  # fmt: skip


@pytest.mark.parametrize("facts", FACTS)
def test_the_parent_checks_facts_again(facts: object) -> None:
    with pytest.raises(store.Misshapen):
        messages.facts_of(answer_of(text_of(), facts=facts))


def plugin(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "stranger.py").write_text(
        "from dataclasses import replace\nfrom pyharness.benchmarks import Benchmark, Findings\n"
        "from pyharness.metrics.counting.state import CorpusMetric\nfrom pyharness.corpora import open_corpus\n"
        "from pyharness.types import *\n" + text,
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYHARNESS_PLUGINS", "stranger")
    monkeypatch.delitem(sys.modules, "stranger", raising=False)
    registry.discover.cache_clear()


ROW = "TOKENIZERS = (TokenizerSpec('odd', lambda _: None, library='pyharness', {}),)"
FAMILY = "FAMILIES = (TokenizerFamily('odd', lambda argument, options: {}, 'summary', 'odd:x'),)"
TEXTS = "CORPORA = (CorpusFamily('odd', lambda spec, argument, options: {}, 'summary', 'odd'),)"
SETTLING = "def settle(*_): raise KeyError('settled')\n"


@pytest.mark.parametrize(
    ("text", "row", "corpus", "says"),
    [
        (ROW.format("revision=5"), "odd", "sample", "revision of tokenizer 'odd' is 5; .*text or None"),
        (ROW.format("vocabulary=['x']"), "odd", "sample", r"vocabulary of tokenizer 'odd' is \['x'\]"),
        (ROW.format("reference='yes'"), "odd", "sample", "reference of tokenizer 'odd' is 'yes'"),
        (FAMILY.format("1 / 0"), "odd:x", "sample", "tokenizer 'odd:x' cannot be used: ZeroDivisionError: division"),
        (FAMILY.format("exit(3)"), "odd:x", "sample", "tokenizer 'odd:x' cannot be used: SystemExit: 3"),
        (FAMILY.format("None"), "odd:x", "sample", "cannot be used: TypeError"),
        (TEXTS.format("1 / 0"), "raw_bytes", "odd", "corpus 'odd' cannot be used: ZeroDivisionError"),
        (TEXTS.format("'text'"), "raw_bytes", "odd", "corpus 'odd' is 'text', .*Corpus"),
        (TEXTS.format("replace(open_corpus('sample:code'), language=5)"), "raw_bytes", "odd", "language of corpus"),
        ("REPORTED = (Metric('odd', 5, 'none', ''),)", "raw_bytes", "sample", "unit of metric 'odd' is 5"),
        ("REPORTED = (Metric('odd', '', 'up', ''),)", "raw_bytes", "sample", "metric 'odd' has direction 'up'"),
        (
            SETTLING + "BENCHMARKS = (Benchmark('odd', '', None, 'none', (), settle=settle),)",
            "raw_bytes", "sample", "benchmark 'odd' with 'raw_bytes' cannot be used: KeyError: 'settled'",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_before_anything_runs(
    text: str, row: str, corpus: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin(text, tmp_path, monkeypatch)
    chosen = ["odd"] if "BENCHMARKS" in text else ["integrity"]
    with pytest.raises(InputError, match=says):
        suite.plan(suite.declare([row], [corpus], chosen))


def test_a_metric_that_returns_text_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "METRICS = (CorpusMetric(Metric('odd', '', 'none', ''), lambda counts: 'text'),)"
    plugin(text, tmp_path, monkeypatch)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    run = pyharness.run(["raw_bytes"], ["sample:prose"], ["compression", "reachability"])
    by_name = {one.case.benchmark: one for one in run.record.results}
    reason = str(by_name["compression"].reason)
    assert re.search(r"metric 'odd' \(stranger\.<lambda>\) is 'text'; .*\b1e\+150\b", reason)
    assert by_name["integrity"].status == "ok"


def test_tracebacks_on_request(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "pyharness", "run", "-t", "panicking", "-c", "sample:prose"]
    command += ["-b", "integrity", "-q"]
    for asked in ([], ["--traceback"]):
        done = subprocess.run(
            [*command, *asked, "-o", str(tmp_path / f"{len(asked)}.json")], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert ("in encode_batch" in done.stderr) == bool(asked)
        (result,) = store.read(tmp_path / f"{len(asked)}.json").results
        assert ("traceback" in result.details) == bool(asked)
