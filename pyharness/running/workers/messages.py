"""Requests to a worker, and its answers. The parent checks every answer: it trusts nothing from that process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pyharness import store
from pyharness.store.json_values import Encoded, Misshapen, check_values, get
from pyharness.types import Case, CaseResult, Failure, Measurement


@dataclass(frozen=True, slots=True)
class CaseAnswer:
    """A worker's answer about a case."""

    line: bytes  # its result as a line of the record: JSON
    result: Mapping[str, Any]  # the values in it
    beside: Mapping[str, Any]  # facts of the row, and a fingerprint of what was timed


_OF_A_RESULT = {*store.case_as_json(Case("", "", None)), "status", "reason", "measurements", "details"}
_OF_A_MEASUREMENT = frozenset(field.name for field in fields(Measurement))


def result_of(case: Case, answer: CaseAnswer) -> tuple[CaseResult, Encoded]:
    """Return the result of a case, and its text for the record; raise ``Misshapen`` if the answer is malformed."""
    check_values([[answer.result, answer.beside]])  # as deep as it stands in the record
    result, text = store.result_from_json(answer.result), Encoded(answer.line.decode())
    # Parameters 1, 1.0 and true are equal, and their keys differ.
    if result.case != case or not answer.result.get("key") == result.case.key == case.key:
        raise Misshapen("it is about another case")
    if result.status != "ok" and (not result.reason or result.measurements):
        raise Misshapen(f"the status {result.status!r} lacks a reason, or has measurements")
    if result.status == "failed" and result.failure is None:
        raise Misshapen(f"'failure' of its details is not one of {', '.join(Failure)}")
    expected = all(one.keys() <= _OF_A_MEASUREMENT for one in answer.result["measurements"])
    if not expected or answer.result.keys() != _OF_A_RESULT or "\r" in text:  # which would end a line of the journal
        raise Misshapen("it holds something that is not part of a result")
    return result, text


def has_failed(answer: CaseAnswer) -> bool:
    """Return whether a case failed, by an exception or by the findings of its benchmark."""
    return answer.result.get("status") == "failed"


def fingerprint_of(answer: CaseAnswer) -> str:
    """Return the digest of the ids or files that a worker timed; "" if the benchmark gives none.

    Raises:
        Misshapen: it is not text.
    """
    return str(get(answer.beside, "fingerprint", str, default=""))


def facts_of(answer: CaseAnswer) -> dict[str, Any] | None:
    """Return the facts of the tokenizer that a worker has loaded; None if there are none.

    Raises:
        Misshapen: a fact is missing, or of a wrong type.
    """
    if (facts := get(answer.beside, "facts", dict, None, default=None)) is None:
        return None
    get(facts, "vocab_size", int, default=0)
    others = (get(facts, name, dict, default=None) for name in ("units", "codec"))
    if all(other is None for other in others):  # rows that cut text, or write actions, have these and no vocabulary
        for name in ("vocab_size", "id_limit"):
            get(facts, name, int)
        get(facts, "round_trip", str)
    if not all(isinstance(note, str) for note in get(facts, "notes", list)):
        raise Misshapen("a note is not text")
    return dict(facts)


@dataclass(frozen=True, slots=True)
class Request:
    """A case, the specifications of its row and corpus, and paths of its inputs and outputs."""

    case: Case
    tokenizer: str
    corpus: str | None
    threads: int
    device: str = "cpu"
    expected: str | None = None  # file with the ids that this row must give
    keep_ids: str | None = None  # file to write, with ids for other rows to be compared with
    keep_state: str | None = None  # file to write, with the integers that the numbers are computed from
    keep_part: str | None = None  # file to write, with the pass over the corpus, which is a part: no number is computed
    # Such files of all parts, in order, "" for one that is left out: passes are added up, and the text is not read.
    parts: tuple[str, ...] = ()
    traceback: bool = False  # whether a failure by an unexpected exception keeps its traceback
