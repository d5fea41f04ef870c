"""What a worker is asked, and what it answers, which is checked where it crosses: nothing of its process is trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from pyharness import store
from pyharness.store.shape import Misshapen, check_values, get
from pyharness.types import Case, CaseResult, Failure


def result_of(case: Case, answer: Mapping[str, Any]) -> CaseResult:
    """Turn a worker's message into the result of its case; raises ``Misshapen`` for what no worker of ours says."""
    check_values(answer)
    if "failed" in answer:
        trace = get(answer, "traceback", str, None, default=None)
        details = {} if trace is None else {"traceback": trace}
        return CaseResult(case, "failed", get(answer, "failed", str), details=details, failure=_failure(answer))
    values = get(answer, "result", dict)
    result = store.result_from_json({**values, **_about(case)})
    if result.status != "ok" and (not result.reason or result.measurements):
        raise Misshapen(f"the status {result.status!r} lacks a reason, or has measurements")
    return replace(result, case=case, failure=Failure.WRONG if result.status == "failed" else None)


def has_failed(answer: Mapping[str, Any]) -> bool:
    """Say whether a message is of a case that failed, be it by an exception or by what its benchmark found."""
    result = answer.get("result")
    return "failed" in answer or (isinstance(result, dict) and result.get("status") == "failed")


def _failure(answer: Mapping[str, Any]) -> Failure:
    failure = get(answer, "failure", str)
    if failure not in tuple(Failure):
        raise Misshapen(f"'failure' is {failure!r}; known: {', '.join(Failure)}")
    return Failure(failure)


def fingerprint_of(answer: Mapping[str, Any]) -> str:
    """What stands for the ids or files that a worker has timed; empty where its benchmark gives none."""
    return str(get(get(answer, "result", dict, default={}), "fingerprint", str, default=""))


def facts_of(answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """Facts of the tokenizer that a worker has loaded, checked."""
    if (known := get(answer, "facts", dict, None, default=None)) is None:
        return None
    others = (get(known, name, dict, default=None) for name in ("units", "codec"))
    if all(one is None for one in others):  # rows that cut text, or write actions, have these and no vocabulary
        for name in ("vocab_size", "id_limit"):
            get(known, name, int)
        get(known, "round_trip", str)
    if not all(isinstance(note, str) for note in get(known, "notes", list)):
        raise Misshapen("a note is not text")
    return dict(known)


def _about(case: Case) -> dict[str, Any]:
    parameters = dict(case.parameters)
    return {"benchmark": case.benchmark, "tokenizer": case.tokenizer, "corpus": case.corpus, "parameters": parameters}


def dumped(message: Mapping[str, Any]) -> str:
    """One message as a line."""
    return json.dumps(message, allow_nan=False) + "\n"


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

    def as_json(self) -> dict[str, Any]:
        """JSON values."""
        return asdict(replace(self, case=replace(self.case, parameters=dict(self.case.parameters))))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Request:
        """Inverse of ``as_json``."""
        return cls(**{**data, "case": Case(**data["case"])})
