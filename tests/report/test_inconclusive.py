"""What few documents say of two records: signed ranks where they decide, and else no pass."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compared_records import BENCHMARKS, ROW, TEXT, case_of, edited, gated, reasons
from pyharness import store
from pyharness.benchmarks import Work, benchmarks
from pyharness.cli import main
from pyharness.corpora import open_corpus
from pyharness.report import comparison
from pyharness.report.differences import Difference
from pyharness.running.run_record import _about_metrics
from pyharness.running.workers.checks import findings
from pyharness.system import bounded_file
from pyharness.tokenizers import resolve
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.types import Case, Tokens, digest_of

OF_TOKENS = {"bytes_per_token", "bytes_per_token_macro", "chars_per_token", "tokens_per_word"}
OF_TOKENS |= {"tokens_per_whitespace_word"}
JUDGED = "signed-rank test over {} documents in which A and B differ"
Longer = Callable[[int], int]  # number of a document -> ids more than it has bytes


class Padded(RawBytes):
    """An id for every byte, and the first of a document some more times: its first four digits say which it is."""

    def __init__(self, longer: Longer) -> None:
        self.longer = longer

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        tokens = super().encode_batch(texts, threads)
        ids = [tokens.document(number).tolist() for number in range(len(texts))]
        return Tokens.from_lists(
            [
                np.array(one + one[:1] * self.longer(int(text[:4])), np.uint32)
                for one, text in zip(ids, texts, strict=True)
            ]
        )


def write(path: Path, documents: int, longer: Longer, options: str = "") -> Path:
    """A record of one case with its state."""
    text = path.with_name(f"{documents}.jsonl")
    rows = (
        {"text": f"{number:04d} " + "lorem ipsum " * (9 + number), "book": number // 3} for number in range(documents)
    )
    text.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    case = Case("compression", ROW, TEXT, BENCHMARKS["compression"])
    work = Work(case, resolve("raw_bytes"), lambda: Padded(longer), open_corpus(f"path:{text}{options}"), 1)
    found = benchmarks()["compression"].run(work)
    values = findings(benchmarks()["compression"], found)
    about = {"key": case.key, "benchmark": "compression", "tokenizer": ROW, "corpus": TEXT}
    assert found.state is not None
    with store.states.StateWriter(store.path_beside(path)) as states:
        states.add(case.key, found.state)
    beside = store.path_beside(path)
    data = {
        "kind": store.KIND, "schema": store.SCHEMA, "created": "2026-01-01T00:00:00+00:00", "seconds": 1.5,
        "complete": True, "suite": {}, "environment": {}, "tokenizers": {ROW: {"vocabulary": None}}, "corpora": {},
        "metrics": {}, "results": [about | {"parameters": BENCHMARKS["compression"]} | values],
        "state": {"file": beside.name, "bytes": beside.stat().st_size, "sha256": bounded_file.digest(beside)},
    }  # fmt: skip
    data["metrics"] = _about_metrics(store.Record.from_json(data, "made").results)
    path.write_text(store.dump(data), "utf-8")
    return path


def two(folder: Path, documents: int, longer: Longer, options: str = "") -> tuple[Path, Path]:
    sides = (
        write(folder / "a.json", documents, lambda _: 0, options),
        write(folder / "b.json", documents, longer, options),
    )
    for side in sides:  # entropies are not what is asked here
        edited(side, lambda data: case_of(data, "compression").update(measurements=[
            one for one in case_of(data, "compression")["measurements"] if one["metric"] in OF_TOKENS
        ]))  # fmt: skip
    return sides


def compared(a: Path, b: Path) -> list[Difference]:
    return comparison.records(store.read(a), store.read(b))


@pytest.mark.parametrize(
    ("documents", "longer", "status", "word"),
    [
        (22, lambda number: 40 + number, 1, "worse"),
        (6, lambda number: 1 + number, 1, "worse"),
        (5, lambda number: 40 + number, 3, "inconclusive"),
        (22, lambda number: 40 * (number < 5), 3, "inconclusive"),
        (22, lambda _: 0, 0, "same"),
    ],
)
def test_few_documents_judge_once_or_leave_it_open(
    tmp_path: Path, documents: int, longer: Longer, status: int, word: str
) -> None:
    a, b = two(tmp_path, documents, longer)
    found = compared(a, b)
    assert {one.metric for one in found} == OF_TOKENS
    primary = [one for one in found if one.primary]
    assert {one.metric for one in primary} == {"bytes_per_token", "tokens_per_word"}
    assert {one.verdict for one in primary} == {word}
    done = gated(a, b)
    assert done.exit_code == status, done.output
    assert len(reasons(done.output, word)) == (word != "same"), "one judgement of a case, however many numbers"
    assert gated(b, a).exit_code == 0, "what looks better can never fail"
    assert gated(a, b, fail_on="any").exit_code == (status != 0)
    if word == "worse":
        assert all(one.judged_by.startswith(JUDGED.format(documents)) for one in found)
        assert {one.verdict for one in compared(b, a)} == {"better"}


def test_documents_that_disagree_leave_it_open(tmp_path: Path) -> None:
    a = write(tmp_path / "a.json", 22, lambda number: 40 * (number % 2))
    b = write(tmp_path / "b.json", 22, lambda number: 42 * (number % 2 == 0))
    (one,) = (one for one in compared(a, b) if one.metric == "bytes_per_token")
    assert one.verdict == "inconclusive"
    assert one.no_interval is not None
    assert JUDGED.format(22) in one.no_interval


def test_a_number_that_goes_the_other_way_than_its_documents_is_open(tmp_path: Path) -> None:
    """Twenty-one documents are a little longer in B, and one is a hundred times as long in A."""
    a = write(tmp_path / "a.json", 22, lambda number: 90_000 * (number == 0))
    b = write(tmp_path / "b.json", 22, lambda number: 30 * (number > 0))
    (one,) = (one for one in compared(a, b) if one.metric == "bytes_per_token")
    assert one.ranks is not None
    assert one.ranks.decides
    assert one.verdict == "inconclusive"
    assert one.no_interval is not None
    assert "other sign" in one.no_interval


def test_documents_of_one_work_are_one_and_pieces_of_one_document_too(tmp_path: Path) -> None:
    a, b = two(tmp_path, 15, lambda number: 40 + number, "?work=book")
    assert gated(a, b).exit_code == 3, "five works"
    more = tmp_path / "more"
    more.mkdir()
    a, b = two(more, 18, lambda number: 40 + number, "?work=book")
    assert gated(a, b).exit_code == 1
    assert compared(a, b)[0].judged_by.startswith(JUDGED.format(6))


def test_without_states_or_with_older_ones_it_is_open_and_says_so(tmp_path: Path) -> None:
    a, b = two(tmp_path, 22, lambda number: 40 + number)
    beside = store.path_beside(b)
    kept = beside.read_bytes()
    beside.unlink()
    done = gated(a, b)
    assert done.exit_code == 3
    assert all(beside.name in line for line in reasons(done.output, "inconclusive"))
    beside.write_bytes(kept)
    with store.states.StateReader(beside) as states:
        key = case_of(json.loads(b.read_text()), "compression")["key"]
        arrays = {name: array for name, array in states.of(key).items() if name != "ids units"}
    with store.states.StateWriter(beside) as states:
        states.add(key, arrays)
    about = {"file": beside.name, "bytes": beside.stat().st_size, "sha256": bounded_file.digest(beside)}
    edited(b, lambda data: data.update(state=about))
    done = gated(a, b)
    assert done.exit_code == 3
    assert all("older pyharness" in line for line in reasons(done.output, "inconclusive"))


def test_an_interval_judges_where_there_is_one_and_its_loss_is_made_good(tmp_path: Path) -> None:
    a, b = two(tmp_path, 70, lambda number: 4 + number % 3)
    assert {one.judged_by for one in compared(a, b)} == {"interval"}

    def without(data: dict[str, Any]) -> None:
        for one in case_of(data, "compression")["measurements"]:
            one.update(replicates=[], no_interval="few")

    edited(a, without)
    edited(b, without)
    assert {one.judged_by.partition(",")[0] for one in compared(a, b)} == {JUDGED.format(70)}
    assert gated(a, b).exit_code == 1


def test_what_is_primary_and_has_no_judge_is_inconclusive_and_other_numbers_are_a_note(tmp_path: Path) -> None:
    a, b = two(tmp_path, 22, lambda _: 0)
    for metric, primary, worse in (
        ("renyi_efficiency", True, 0.4), ("renyi_efficiency", True, 0.6),
        ("continued_word_share", False, 0.6), ("continued_word_share", False, 0.4),
    ):  # fmt: skip
        for side, value in ((a, 0.5), (b, worse)):

            def planted(
                data: dict[str, Any], value: float = value, metric: str = metric, primary: bool = primary
            ) -> None:
                like = data["metrics"]["bytes_per_token"] | {"primary": primary, "counts_tokens": False}
                data["metrics"][metric] = like | {"direction": "higher" if primary else "lower"}
                numbers = case_of(data, "compression")["measurements"]
                numbers[:] = [one for one in numbers if one["metric"] in OF_TOKENS]
                numbers.append({"metric": metric, "value": value})

            edited(side, planted)
        done = gated(a, b)
        looks_worse = primary == (worse < 0.5)
        assert done.exit_code == (3 if primary and looks_worse else 0)
        kind = "inconclusive" if primary else "note"
        assert len(reasons(done.output, kind)) == looks_worse
        assert "not judged" in done.output


def test_what_is_worse_goes_before_what_is_open_and_what_cannot_be_compared_too(tmp_path: Path) -> None:
    a, b = two(tmp_path, 5, lambda number: 40 + number)
    lost = {"metric": "parity", "value": 1.0}
    edited(a, lambda data: data["metrics"].update(parity=data["metrics"]["bytes_per_token"]))
    edited(a, lambda data: case_of(data, "compression")["measurements"].append(lost))
    done = gated(a, b)
    assert done.exit_code == 2
    kinds = [
        line.split()[0] for line in done.output.splitlines() if line.startswith(("inconclusive ", "not compared "))
    ]
    assert kinds == ["inconclusive", "not"], "what nothing judges is said first"
    exact = {"tolerance": 0.0, "exact": True}
    edited(b, lambda data: case_of(data, "compression")["measurements"].append(lost | {"value": 0.5}))
    for side in (a, b):
        edited(side, lambda data: data["metrics"].update(parity=data["metrics"]["bytes_per_token"] | exact))
    assert gated(a, b).exit_code == 1


def test_every_format_names_the_test_and_a_comment_begins_with_what_is_open(tmp_path: Path) -> None:
    a, b = two(tmp_path, 22, lambda number: 40 + number)
    for form in ("text", "markdown", "html"):
        assert JUDGED.format(22) in " ".join(gated(a, b, "--format", form).output.split())
    out = tmp_path / "out.json"
    gated(a, b, "--format", "json", "-o", str(out))
    (row,) = (row for row in json.loads(out.read_text()) if row["metric"] == "bytes_per_token")
    assert (row["verdict"], row["documents"], row["low"]) == ("worse", 22, None)
    assert row["judged_by"].startswith(JUDGED.format(22))
    assert 0 < row["p"] < 1e-5
    few = tmp_path / "few"
    few.mkdir()
    a, b = two(few, 5, lambda number: 40 + number)
    done = gated(a, b, "--format", "markdown", "--for", "pr")
    first, _, _, _, reason, *_ = done.output.splitlines()
    assert done.exit_code == 3
    assert "inconclusive" in first
    assert reason.startswith("- inconclusive: ")
    opened, _, folded = done.output.partition("<details>")
    assert "| inconclusive |" in opened
    assert "inconclusive" not in folded


@pytest.mark.parametrize("more", [[], ["-o", "out.txt"], ["--format", "html"]])
def test_a_bad_argument_ends_in_a_line_and_with_two(
    tmp_path: Path, more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    monkeypatch.chdir(tmp_path)
    a, _ = two(tmp_path, 5, lambda _: 0)
    for arguments in ([str(a), ""], ["", str(a)], [str(a), "/"], [str(a), ".."], [str(a), ROW, ""], [str(a), ROW, ROW]):
        done = CliRunner().invoke(main, ["compare", *arguments, "--fail-on", "worse", *more])
        assert done.exit_code == 2, arguments
        assert isinstance(done.exception, SystemExit), arguments
        assert len(done.output.splitlines()) == 1, done.output


def test_digest_of_a_unit_is_that_of_the_document(tmp_path: Path) -> None:
    """Ten pieces of a cut document are one unit, by the digest of the whole."""
    path = tmp_path / "long.txt"
    path.write_text("0001 " + "x" * 95, "utf-8")
    case = Case("compression", ROW, TEXT, BENCHMARKS["compression"])
    corpus = open_corpus(f"path:{path}?max_document_bytes=10")
    work = Work(case, resolve("raw_bytes"), RawBytes, corpus, 1)
    state = benchmarks()["compression"].run(work).state
    assert state is not None
    units = state["ids units"].astype(np.uint64) ^ state["ids keys"]
    assert {int(one) for one in units} == {int(np.frombuffer(digest_of(path.read_text()), "<u8")[0])}
