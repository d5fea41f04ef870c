"""The process that a tokenizer runs in: ``python -m pyharness.running.workers.worker``.

One JSON object per line, in and out. A library that panics, aborts, leaks or hangs takes at most this process with it.
Standard output belongs to the protocol, so whatever a library prints there goes to standard error.
"""

from __future__ import annotations

import json
import operator
import os
import sys
import time
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TextIO

from pyharness import corpora, store, tokenizers
from pyharness.benchmarks import Findings, Work, benchmarks
from pyharness.corpora import document_keys
from pyharness.corpora.document_keys import Watched, watched
from pyharness.plugins import registry
from pyharness.running.workers import checks
from pyharness.running.workers.messages import Request
from pyharness.store.json_values import encoded, from_json
from pyharness.system import lifeline
from pyharness.system.environment import version_of
from pyharness.system.process_tree import peak_memory
from pyharness.types import Corpus, Failure, HasVocabulary, InputError, Tokenizer, TokenizerSpec, Unsupported, kind_of

PROGRESS_SECONDS = 0.2


class Row:
    """A tokenizer of this process: its specification, resolved once, and the tokenizer, loaded on first use."""

    def __init__(self, specification: str) -> None:
        self.spec: TokenizerSpec = tokenizers.resolve(specification)
        self._tokenizer: Tokenizer | None = None

    def load(self) -> Tokenizer:
        """Return the tokenizer; load it at the first call."""
        if self._tokenizer is None:
            tokenizer = tokenizers.load(self.spec)
            checks.facts(tokenizer)  # before anything is made of what it says
            self._tokenizer = tokenizer
        return self._tokenizer

    def facts(self) -> dict[str, Any]:
        """Describe the tokenizer, which is loaded if need be, or what replaces it (``instead``), for the record."""
        about: dict[str, Any] = {"library": self.spec.library, "version": version_of(self.spec.library)}
        if (instead := self.spec.instead) is not None:
            return about | checks.facts_instead(instead, instead.make(self.spec))
        tokenizer = self.load()
        about |= checks.facts(tokenizer)
        if isinstance(tokenizer, HasVocabulary):
            about["special"] = int((~tokenizer.vocabulary().counted).sum())
        return about


_row = lru_cache(maxsize=1)(Row)  # cases of a row follow each other; the next row's tokenizer takes its place
_open = cache(corpora.open_corpus)


class Reporter:
    """Sends progress, at most once in ``PROGRESS_SECONDS``."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.sent = 0.0

    def __call__(self, done: int) -> None:
        """Report the bytes read so far, unless the last report is too recent."""
        if time.monotonic() - self.sent > PROGRESS_SECONDS:
            self.sent = time.monotonic()
            send(self.out, {"progress": operator.index(done)})


def send(out: TextIO, message: Mapping[str, Any]) -> None:
    """Write one message."""
    out.write(encoded(message) + "\n")
    out.flush()


def serve(request: Request, out: TextIO) -> None:
    """Run one case. The last message is its result: ``Unsupported`` makes it skipped, any other exception failed.

    ``KeyboardInterrupt`` and ``SystemExit`` pass through, without a message.
    """
    try:
        result, beside = _measure(request, out)
    except Unsupported as reason:
        skipped = Findings(status="skipped", reason=str(reason) or "unsupported")
        result, beside = checks.findings(benchmarks()[request.case.benchmark], skipped), {}
    except InputError as error:
        result, beside = _failure(checks.shortened(str(error)), Failure.INPUT), {}
    except checks.WrongValue as error:
        result, beside = _failure(str(error), Failure.ERROR), {}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in Rust arrives as a BaseException
        traced = {"traceback": checks.trace_of(error)} if request.traceback else {}
        result, beside = _failure(checks.said_by(error), Failure.ERROR, **traced), {}
    send(out, {"beside": beside})
    send(out, store.case_as_json(request.case) | result)


def _failure(reason: str, failure: Failure, **details: str) -> dict[str, Any]:
    return {"status": "failed", "reason": reason, "measurements": [], "details": {**details, "failure": failure}}


def _measure(request: Request, out: TextIO) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the result of a case as JSON values, and the fingerprint and facts that are sent before it."""
    case = request.case
    row, benchmark = _row(request.tokenizer), benchmarks()[case.benchmark]
    corpus = _corpus(request, row.spec)
    work = Work(
        case,
        row.spec,
        row.load,
        corpus,
        request.threads,
        progress=Reporter(out),
        expected=None if request.expected is None else Path(request.expected),
        keep_ids=None if request.keep_ids is None else Path(request.keep_ids),
        device=request.device,
    )
    if request.keep_part is None and not request.parts:
        findings = benchmark.run(work)
    else:
        parts, keep = registry.of_features("pyharness.running", "PARTS")["parts"], request.keep_part
        findings = parts.read(benchmark, work, Path(keep)) if keep else parts.added_up(benchmark, work, request.parts)
    result = checks.findings(benchmark, findings, corpus.met.share if isinstance(corpus, Watched) else None)
    if request.keep_state is not None and findings.status == "ok":
        checks.keep_state(benchmark, findings, Path(request.keep_state), case.key)
    facts = None if benchmark.own_process else row.facts()
    return result, {"fingerprint": findings.fingerprint, "facts": facts, "memory": peak_memory()}


def _corpus(request: Request, row: TokenizerSpec) -> Corpus | None:
    """Return the corpus of a case. If what the row was trained on is known, reading text counts those bytes, too."""
    corpus = None if request.corpus is None else _open(request.corpus)
    if corpus is None or row.trained_on is None or kind_of(corpus) not in ("text", "parallel"):
        return corpus
    return watched(corpus, document_keys.read(row.trained_on))


def main() -> None:
    """Serve requests until standard input ends. A library that reads standard input finds it empty."""
    requests, protocol = os.fdopen(os.dup(0), "r", encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    # What a case prints comes before its answer, and is no reason of a later one.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    lifeline.begin()
    for line in requests:
        serve(from_json(Request, json.loads(line), "request"), protocol)


if __name__ == "__main__":
    main()
