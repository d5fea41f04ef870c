"""The process that a tokenizer runs in: ``python -m pyharness.running.worker``.

One JSON object per line, in and out. A library that panics, aborts, leaks or hangs takes this process with it and
nothing else. Standard output belongs to the protocol, so whatever a library prints there goes to standard error.
"""

from __future__ import annotations

import json
import operator
import os
import time
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from pyharness import corpora, tokenizers
from pyharness.benchmarks import Findings, Work, benchmarks
from pyharness.running import answers
from pyharness.system import lifeline
from pyharness.system.environment import version_of
from pyharness.types import Case, Corpus, HasVocabulary, InputError, Tokenizer, Unsupported

PROGRESS_SECONDS = 0.2


@cache
def _load(specification: str) -> Tokenizer:
    tokenizer = tokenizers.load(specification)
    answers.facts(tokenizer)  # before anything is made of what it says
    return tokenizer


@cache
def _open(specification: str) -> Corpus:
    return corpora.open_corpus(specification)


def facts(specification: str) -> dict[str, Any]:
    """Describe a loaded tokenizer, for the record."""
    spec, tokenizer = tokenizers.resolve(specification), _load(specification)
    found = {"library": spec.library, "version": version_of(spec.library), **answers.facts(tokenizer)}
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
            send(self.out, {"progress": operator.index(done)})


def send(out: TextIO, message: dict[str, Any]) -> None:
    """Write one message."""
    out.write(answers.dumped(message))
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
        benchmark = benchmarks()[case.benchmark]
        found = benchmark.run(work)
        result = answers.findings(benchmark, found)
        if request["keep_state"] is not None and found.status == "ok":
            answers.keep_state(benchmark, found, Path(request["keep_state"]), case.key)
        return {"result": result, "facts": None if benchmark.own_process else facts(specification)}
    except Unsupported as reason:
        skipped = Findings(status="skipped", reason=str(reason) or "unsupported")
        return {"result": answers.findings(benchmarks()[case.benchmark], skipped), "facts": None}
    except InputError as error:
        return {"failed": answers.shortened(str(error)), "failure": "input"}
    except answers.WrongValue as error:
        return {"failed": str(error), "failure": "error"}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in Rust arrives as a BaseException
        traced = {"traceback": answers.trace_of(error)} if request["traceback"] else {}
        return {"failed": answers.said_by(error), "failure": "error", **traced}


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
