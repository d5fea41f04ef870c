"""Calls of the library that must agree: a batch and a loop, one thread and four, ids and offsets."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from pyharness.benchmarks import checks as stress
from pyharness.corpora import open_corpus
from pyharness.features.audit.checks.subjects import AuditFault, AuditSubject, CheckResult, CheckStatus, id_list, quoted
from pyharness.tokenizers.families.huggingface import HuggingFaceTokenizer
from pyharness.tokenizers.families.sentencepiece import SentencePieceTokenizer
from pyharness.tokenizers.families.tiktoken import TiktokenTokenizer
from pyharness.types import Tally, Tokens

MANY_THREADS = 4
_TEXTS = ("sample:prose", "sample:dialogue", "sample:numbers", "sample:code", "sample:unicode")
_ODD = ("", " ", "\n", "a", "  two  ", "e\u0301", "👩‍👩‍👧 family", "naïve café", "日本語", "a" * 500, "\t\tx\r\n")
_REPORT = "report it to the library with this text, and pin the version that agrees"


@cache
def texts() -> Sequence[str]:
    """Return the shipped documents and odd texts."""
    return [*_ODD, *(text for name in _TEXTS for text in open_corpus(name).documents(Tally()))]


def check_batches(subject: AuditSubject) -> CheckResult:
    """Encode all texts at once, in reversed order, and each alone."""
    documents, encode = texts(), subject.loaded.encode_batch
    alone = Tokens.from_lists([encode([text]).ids for text in documents])
    together, reversed_ = encode(documents), encode(documents[::-1])
    back = Tokens.from_lists([reversed_.document(len(documents) - 1 - place) for place in range(len(documents))])
    faults = [
        *_unequal("batch gives other ids", documents, alone, together, ("alone", "in a batch")),
        *_unequal("order changes ids", documents, alone, back, ("alone", "in another order")),
    ]
    return CheckResult(f"{len(documents):,} texts", faults)


def check_threads(subject: AuditSubject) -> CheckResult:
    """Encode all texts on several threads and on one; the library starts its pool with the first call."""
    documents = [*texts(), *texts()]
    several = subject.loaded.encode_batch(documents, MANY_THREADS)
    one = subject.loaded.encode_batch(documents, 1)
    faults = _unequal("threads change ids", documents, one, several, ("1 thread", f"{MANY_THREADS} threads"))
    return CheckResult(f"{len(documents):,} texts on 1 and {MANY_THREADS} threads", tuple(faults))


def _unequal(
    name: str, documents: Sequence[str], one: Tokens, other: Tokens, calls: tuple[str, str]
) -> Iterator[AuditFault]:
    places = [
        place for place in range(len(documents)) if not np.array_equal(one.document(place), other.document(place))
    ]
    if places:
        ids = (id_list(tokens.document(places[0]).tolist()) for tokens in (one, other))
        witness = f"{quoted(documents[places[0]])}: {calls[0]} {next(ids)}, {calls[1]} {next(ids)}"
        yield AuditFault(name, f"{len(places):,} of {len(documents):,} texts", witness, _REPORT)


# ---------------------------------------------------------------------------------------------- offsets


class _Span(NamedTuple):
    """Where a token is in a text, in characters."""

    token: int
    start: int
    end: int


def check_offsets(subject: AuditSubject) -> CheckResult:
    """Check offsets that the library gives: within the text, in order, over all of it, and of the same text."""
    if subject.home is None:
        return CheckResult("this library gives no offsets", absent=True)
    documents = [*texts()[:400], *(one.text for one in stress.samples())]
    faults: dict[str, AuditFault] = {}
    for text in documents:
        for fault in _of_text(subject, text, _spans(subject, text)):
            faults.setdefault(fault.name, fault)
    return CheckResult(f"offsets of {len(documents):,} texts", tuple(faults.values()))


def _spans(subject: AuditSubject, text: str) -> list[_Span]:
    home = subject.home
    if isinstance(home, HuggingFaceTokenizer):
        encoded = home.library.encode(text, add_special_tokens=False)
        return [_Span(token, *offsets) for token, offsets in zip(encoded.ids, encoded.offsets, strict=True)]
    if isinstance(home, SentencePieceTokenizer):
        try:
            mapped = home.processor.encode(text, return_type="offset_mapping")
            return [_Span(token, *offsets) for token, offsets in zip(mapped["ids"], mapped["offsets"], strict=True)]
        except TypeError:  # versions without offset_mapping
            pieces = home.processor.encode(text, out_type="immutable_proto").pieces
            return [_Span(piece.id, piece.begin, piece.end) for piece in pieces]
    if isinstance(home, TiktokenTokenizer):
        ids = home.encoding.encode_ordinary(text)
        starts = home.encoding.decode_with_offsets(ids)[1]
        ends = [*starts[1:], len(text)][: len(starts)]
        return [_Span(*one) for one in zip(ids, starts, ends, strict=True)]
    return []


def _of_text(subject: AuditSubject, text: str, spans: Sequence[_Span]) -> Iterator[AuditFault]:
    where = f"in {quoted(text)}"
    for before, span in zip((None, *spans), spans, strict=False):
        if not 0 <= span.start <= span.end <= len(text):
            yield _wrong("offsets outside text", f"{span} {where}")
        elif before is not None and span.start < before.start:
            yield _wrong("offsets unordered", f"{before} then {span} {where}")
        elif subject.loaded.round_trip == "exact" and (spelled := _spelled(subject, span.token)) is not None:
            there = text[span.start : span.end]
            if there.strip() != spelled.strip():
                yield _wrong("offsets of another text", f"{span} is {quoted(there)}, and the token {quoted(spelled)}")
    bare = _uncovered(text, spans)
    if bare is not None:
        yield _wrong("offsets leave text out", f"character {bare}, {quoted(text[bare])}, {where}", "warn")


def _wrong(name: str, witness: str, status: CheckStatus = "fail") -> AuditFault:
    advice = "do not cut text or place labels by these offsets; report it with this text"
    return AuditFault(name, "as the library gives them", witness, advice, status)


def _spelled(subject: AuditSubject, token: int) -> str | None:
    """Return the text of a token of whole characters."""
    vocabulary = subject.vocabulary
    try:
        return None if vocabulary is None else vocabulary[token].decode()
    except UnicodeDecodeError:
        return None


def _uncovered(text: str, spans: Sequence[_Span]) -> int | None:
    """Return the first character that no token covers, but for spaces, marks and what the normaliser removes."""
    covered = np.zeros(len(text) + 1, np.int64)
    for span in spans:
        if 0 <= span.start <= span.end <= len(text):
            covered[span.start] += 1
            covered[span.end] -= 1
    for place in np.flatnonzero(covered.cumsum()[: len(text)] == 0).tolist():
        if not text[place].isspace() and unicodedata.category(text[place])[0] not in "MC":
            return int(place)
    return None
