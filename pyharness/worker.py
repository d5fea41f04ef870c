"""The process that a tokenizer runs in: ``python -m pyharness.worker``.

One JSON object per line, in and out. A library that panics, aborts, leaks or hangs takes this process with it and
nothing else. Standard output belongs to the protocol, so whatever a library prints there goes to standard error.
"""

from __future__ import annotations

import json
import os
import time
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from pyharness import corpora, lifeline, tokenizers
from pyharness.benchmarks import Findings, Work, benchmarks
from pyharness.environment import version_of
from pyharness.store import measurement_as_json
from pyharness.types import Case, Corpus, HasVocabulary, InputError, Tokenizer, Unsupported

PROGRESS_SECONDS = 0.2


@cache
def _load(specification: str) -> Tokenizer:
    return tokenizers.load(specification)


@cache
def _open(specification: str) -> Corpus:
    return corpora.open_corpus(specification)


def facts(specification: str) -> dict[str, Any]:
    """Describe a loaded tokenizer, for the record."""
    spec, tokenizer = tokenizers.resolve(specification), _load(specification)
    found = {
        "library": spec.library,
        "version": version_of(spec.library),
        "vocab_size": tokenizer.vocab_size,
        "id_limit": tokenizer.id_limit,
        "round_trip": tokenizer.round_trip,
        "notes": list(tokenizer.notes),
    }
    if isinstance(tokenizer, HasVocabulary):
        found["special"] = int((~tokenizer.vocabulary().counted).sum())
    return found


class Reporter:
    """Sends progress, not more often than a person can read."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.sent = 0.0

    def __call__(self, done: int) -> None:
        """Report bytes of text done."""
        if time.monotonic() - self.sent > PROGRESS_SECONDS:
            self.sent = time.monotonic()
            send(self.out, {"progress": done})


def send(out: TextIO, message: dict[str, Any]) -> None:
    """Write one message."""
    out.write(json.dumps(message, allow_nan=False) + "\n")
    out.flush()


def handle(request: dict[str, Any], out: TextIO) -> dict[str, Any]:
    """Run one case; whatever it raises is its result."""
    case = Case(**request["case"])
    specification = request["tokenizer"]
    try:
        work = Work(
            case,
            tokenizers.resolve(specification),
            lambda: _load(specification),
            None if request["corpus"] is None else _open(request["corpus"]),
            request["threads"],
            Reporter(out),
            None if request["expected"] is None else Path(request["expected"]),
            None if request["keep_ids"] is None else Path(request["keep_ids"]),
            request["device"],
        )
        findings = benchmarks()[case.benchmark].run(work)
        known = None if benchmarks()[case.benchmark].own_process else facts(specification)
        return {"result": as_json(findings), "facts": known}
    except Unsupported as reason:
        return {"result": as_json(Findings(status="skipped", reason=str(reason))), "facts": None}
    except InputError as error:
        return {"failed": str(error), "failure": "input"}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in Rust arrives as a BaseException
        first = (str(error).strip().splitlines() or [""])[0]
        return {"failed": f"{type(error).__name__}: {first}", "failure": "error"}


def as_json(findings: Findings) -> dict[str, Any]:
    """Findings as JSON values."""
    return {
        "status": findings.status,
        "reason": findings.reason,
        "measurements": [measurement_as_json(found) for found in findings.measurements],
        "details": dict(findings.details),
    }


def main() -> None:
    """Serve requests until standard input ends. A library that reads from it finds nothing there."""
    requests, protocol = os.fdopen(os.dup(0), "r", encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    lifeline.begin()
    for line in requests:
        send(protocol, handle(json.loads(line), protocol))


if __name__ == "__main__":
    main()
