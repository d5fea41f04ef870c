"""What a worker is asked, and what it answers, which is checked where it crosses: nothing of its process is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pyharness import store
from pyharness.store.json_lines import Encoded
from pyharness.store.shape import Misshapen, check_values, get
from pyharness.types import Case, CaseResult, Failure, Measurement


@dataclass(frozen=True, slots=True)
class CaseAnswer:
    """What a worker says of a case."""

    line: bytes  # its result as a line of the record: JSON
    result: Mapping[str, Any]  # the values in it
    beside: Mapping[str, Any]  # facts of the row, and a fingerprint of what was timed


_OF_A_RESULT = {*store.case_as_json(Case("", "", None)), "status", "reason", "measurements", "details"}
_OF_A_MEASUREMENT = frozenset(field.name for field in fields(Measurement))


def result_of(case: Case, answer: CaseAnswer) -> tuple[CaseResult, Encoded]:
    """Result of a case, and its text for the record; raises ``Misshapen`` for what no worker of ours says."""
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
        raise Misshapen("it holds what is no part of a result")
    return result, text


def has_failed(answer: CaseAnswer) -> bool:
    """Say whether a case failed, be it by an exception or by what its benchmark found."""
    return answer.result.get("status") == "failed"


def fingerprint_of(answer: CaseAnswer) -> str:
    """What stands for the ids or files that a worker has timed; empty where its benchmark gives none."""
    return str(get(answer.beside, "fingerprint", str, default=""))


def facts_of(answer: CaseAnswer) -> dict[str, Any] | None:
    """Facts of the tokenizer that a worker has loaded, checked."""
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
    """A case, the specifications behind its labels, and the paths of what it reads and leaves."""

    case: Case
    tokenizer: str
    corpus: str | None
    threads: int
    device: str = "cpu"
    expected: str | None = None  # ids of the row this vocabulary is compared with
    keep_ids: str | None = None  # where to leave ids for other rows to be compared with
    keep_state: str | None = None  # where to leave the integers that the numbers are computed from
    traceback: bool = False  # whether a failure keeps its traceback
