"""The trainer ``bpe-knockout``: a byte-level BPE without the tokens whose merges join morphemes of gold words.

A merge closes a boundary each time it is applied to a gold word. Its blame ratio is the share of those that are
boundaries of morphemes. A token whose merge has too high a ratio is knocked out: the merges that use it take its parts
instead, in the place they had, and so become merges of three tokens and more (Bauwens and Delobelle 2024).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from pyharness.bpe import BpeModel, TextSplitter, import_model
from pyharness.bpe.model.reachability import canonical_rules
from pyharness.features.morphology.formats import GoldWord
from pyharness.features.morphology.gold import Gold, boundaries, gold_of
from pyharness.features.paper_trainers.declarations import KnockoutOptions
from pyharness.features.paper_trainers.event_model import BYTES, KNOCKOUT, NEVER, Event, EventModel, save_bytes
from pyharness.features.paper_trainers.event_tokenizer import EventEncoder
from pyharness.features.training.trainers import TrainedTokenizer, TrainingRequest
from pyharness.features.training.trainers.feeding import Feed
from pyharness.features.training.trainers.options import located
from pyharness.plugins.specification import check_options
from pyharness.tokenizers.families import file
from pyharness.tokenizers.source import VocabularyFile
from pyharness.types import InputError, TokenKind

MODEL = "model.json"
TRACE = "knockouts.jsonl"
MOST_BYTES = 128 << 20  # of gold words


def train_knockout(request: TrainingRequest[KnockoutOptions]) -> TrainedTokenizer:
    """Knock tokens of the base out; the text of the request is a file of gold words."""
    options, feed = request.options, Feed(request)
    base = _vocabulary_file(options.base)
    model = events_of(_model(base), base.label)
    lines = list(_lines(feed))
    feed.check()
    gold = gold_of(lambda: lines, "the corpus of bpe-knockout", _digest("\n".join(lines).encode()))
    with feed.phases.timed("knocking out"):
        model, trace = knock_out(model, gold.words, options.threshold, options.iterations, space=options.space)
    with feed.phases.timed("writing"):
        gone = model.ids.count(NEVER)
        origin = {
            "base": {"file": base.label, "digest": digest_of(options.base)}, "threshold": options.threshold,
            "space": options.space, "iterations": options.iterations, "gold": _about(request, gold),
        }  # fmt: skip
        model = dataclasses.replace(model, origin=origin)
        files = {MODEL: save_bytes(model), TRACE: "".join(json.dumps(row) + "\n" for row in trace).encode()}
    size = len(model.strings) - gone + len(model.special)
    return TrainedTokenizer(
        files=files,
        vocab_size=size,
        merges=len(model.events),
        complete=True,
        seconds=feed.phases.seconds,
        notes=tuple(_notes(gold)),
        details={
            "documents": feed.documents, "bytes": feed.bytes, "gold_words": len(gold.words), "knocked_out": gone,
            "longest_merge": max((len(event.before) for event in model.events), default=0),
        },
        summary={"knocked out": f"{gone:,} tokens, by {len(gold.words):,} gold words ({gold.format})"},
    )  # fmt: skip


def knock_out(
    model: EventModel, words: Sequence[GoldWord], threshold: float, iterations: int, *, space: bool
) -> tuple[EventModel, list[dict[str, Any]]]:
    """Return the model without the tokens that gold words blame, and a row for each merge that made one."""
    trace: list[dict[str, Any]] = []
    for number in range(iterations):
        blame = blame_of(model, words, space=space)
        blamed = [merge for merge in range(len(model.events)) if blame.ratio(merge) >= threshold]
        if not blamed:
            break
        trace += (_traced(model, merge, blame, number) for merge in blamed)
        model = without(model, frozenset(model.events[merge].after[0] for merge in blamed))
    return model, trace


def without(model: EventModel, tokens: frozenset[int]) -> EventModel:
    """Return the model without some tokens; all others keep their ids."""
    ids = (NEVER if number in tokens else one for number, one in enumerate(model.ids))
    return dataclasses.replace(model, ids=tuple(ids), events=knocked_out(model.events, tokens))


def _lines(feed: Feed) -> Iterator[str]:
    for text in feed:
        if feed.bytes > MOST_BYTES:
            raise InputError(f"gold words are at most {MOST_BYTES:,} bytes: take a part, with max_bytes")
        yield from (line.rstrip("\r") for line in text.split("\n") if line and not line.isspace())


def _about(request: TrainingRequest[KnockoutOptions], gold: Gold) -> dict[str, Any]:
    return {
        **request.source(), "format": gold.format, "sha256": gold.sha256, "words": len(gold.words),
        "left_out": dict(gold.left_out),
    }  # fmt: skip


def _notes(gold: Gold) -> Iterator[str]:
    for reason, count in gold.left_out.items():
        yield f"left out: {count:,} {reason}"


def _traced(model: EventModel, merge: int, blame: Blame, iteration: int) -> dict[str, Any]:
    """Describe a knock-out as JSON, in ASCII; ``hex`` has the bytes."""
    before, (token,) = model.events[merge]
    spelled = [model.strings[number].decode(errors="backslashreplace") for number in (*before, token)]
    return {
        "iteration": iteration, "id": model.ids[token], "token": spelled[-1], "hex": model.strings[token].hex(),
        "parts": spelled[:-1], "closed": blame.closed[merge], "wrong": blame.wrong[merge], "ratio": blame.ratio(merge),
    }  # fmt: skip


# --------------------------------------------------------------------------------------------- blame and knock-outs


@dataclass(frozen=True, slots=True)
class Blame:
    """What the merges of a model did to gold words."""

    closed: Mapping[int, int]  # number of the merge -> boundaries of any kind that it closed
    wrong: Mapping[int, int]  # number of the merge -> boundaries of morphemes among them

    def ratio(self, merge: int) -> float:
        """Return the blame ratio of a merge; 0 if no word uses it."""
        return self.wrong.get(merge, 0) / self.closed[merge] if self.closed.get(merge) else 0.0


def blame_of(model: EventModel, words: Iterable[GoldWord], *, space: bool) -> Blame:
    """Encode gold words, each behind a space or alone, and count what each merge closes."""
    splitter, encoder = TextSplitter(model.splitter, dialect=model.dialect), EventEncoder(model)
    closed: Counter[int] = Counter()
    wrong: Counter[int] = Counter()
    known: dict[bytes, list[int]] = {}
    for word in words:
        data = b" " * space + word.word.encode()
        gold = {space + place for place in boundaries(word.morphemes)}
        for start, end in pairwise([0, *splitter.split_batch([data]).ends.tolist()]):
            piece = data[start:end]
            if piece not in known:
                known[piece] = encoder.closing(piece)
            for place, merge in enumerate(known[piece]):
                if merge >= 0:
                    closed[merge] += 1
                    wrong[merge] += start + place in gold
    return Blame(closed, wrong)


def knocked_out(events: Sequence[Event], tokens: frozenset[int]) -> tuple[Event, ...]:
    """Return merges without those of some tokens, whose parts stand for them in all others.

    >>> ab, abc, abcd = 256, 257, 258
    >>> merges = Event((97, 98), (ab,)), Event((ab, 99), (abc,)), Event((abc, 100), (abcd,))
    >>> knocked_out(merges, frozenset({ab, abc}))
    (Event(before=(97, 98, 99, 100), after=(258,)),)
    """
    parts: dict[int, tuple[int, ...]] = {}
    for event in reversed(events):  # of several merges of a token the first counts
        parts[event.after[0]] = event.before
    return tuple(
        Event(_written(event.before, parts, tokens), event.after) for event in events if event.after[0] not in tokens
    )


def _written(before: Sequence[int], parts: Mapping[int, Sequence[int]], tokens: frozenset[int]) -> tuple[int, ...]:
    written: list[int] = []
    waiting = list(reversed(before))
    while waiting:
        token = waiting.pop()
        if token in tokens:
            waiting.extend(reversed(parts[token]))
        else:
            written.append(token)
    return tuple(written)


# ------------------------------------------------------------------------------------------------------ the base


def digest_of(base: str) -> str:
    """Return the SHA-256 of what a knock-out reads of its base: the file, and the settings of a rank file."""
    fetched = _vocabulary_file(base)
    encoding = fetched.encoding
    settings = "" if encoding is None else f"{encoding.pattern} {sorted(encoding.special.items())}"
    return _digest(fetched.fetch() + settings.encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _vocabulary_file(base: str) -> VocabularyFile:
    path, options = located(base)
    check_options(base, options, ("pattern", "special"))  # dropout would be of no effect
    row = file.row(f"file:{path}", path, options)
    if not isinstance(row.load, VocabularyFile):
        raise InputError(f"{base!r} has no vocabulary file")
    return row.load


def _model(base: VocabularyFile) -> BpeModel:
    special = () if base.encoding is None else tuple(base.encoding.special.items())
    return _read(base.fetch(), base.label, None if base.encoding is None else base.encoding.pattern, special)


@lru_cache(maxsize=1)
def _read(data: bytes, label: str, pattern: str | None, special: tuple[tuple[str, int], ...]) -> BpeModel:
    return import_model(data, label=label, pattern=pattern, special=None if pattern is None else dict(special))


def events_of(model: BpeModel, label: str) -> EventModel:
    """Return a byte-level BPE as events, in the order of its rules, with its ids.

    Raises:
        InputError: it is not byte-level BPE on whole text, or its rules contradict its tokens.
    """
    if (reason := _unfit(model)) is not None:
        raise InputError(f"bpe-knockout takes byte-level BPE of which events can be made; {label} {reason}")
    vocabulary, symbols = model.vocabulary, model.byte_ids
    assert symbols is not None  # noqa: S101 -- checked
    numbers: dict[int, int] = {number: byte for byte, number in enumerate(symbols.tolist())}
    strings, ids = list(BYTES), symbols.tolist()
    for number in np.flatnonzero(vocabulary.kinds == TokenKind.NORMAL).tolist():
        if number not in numbers:
            numbers[number] = len(strings)
            strings.append(vocabulary[number])
            ids.append(number)
    rules = model.merges.rules if model.merges.rules is not None else canonical_rules(model.merges)
    try:
        rows = [tuple(numbers[number] for number in rule) for rule in rules.tolist()]
    except KeyError:
        raise InputError(f"{label} has a merge of special or added tokens, which bpe-knockout does not take") from None
    return EventModel(
        algorithm=KNOCKOUT,
        strings=tuple(strings),
        ids=tuple(ids),
        events=tuple(Event((left, right), (result,)) for left, right, result in rows),
        splitter=str(model.splitter),
        dialect=model.dialect,
        whole_pieces=model.whole_pieces,
        special=dict(model.special),
    )


def _unfit(model: BpeModel) -> str | None:
    symbols = model.byte_ids
    if symbols is None or model.fallback or (symbols == np.iinfo(np.uint32).max).any():
        return "merges characters, or lacks bytes"
    if model.expansion is not None:
        return "has tokens that are never written"
    if model.normalizer is not None or model.decoder is not None or model.drop_space:
        return "changes text before it is split, or after it is decoded"
    if not isinstance(model.splitter, str):
        return "splits text in several steps that have no name here"
    if any(not token.special for token in model.added):
        return "has added tokens that text is searched for"
    return None
