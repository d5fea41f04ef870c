"""An event model as a tokenizer: text to pieces, pieces to tokens by its events, and back."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from pyharness import _core
from pyharness.bpe import TextSplitter
from pyharness.bpe.encoding.added_tokens import all_joined
from pyharness.bpe.encoding.decoder import checked
from pyharness.features.paper_trainers.event_model import KNOCKOUT, NEVER, EventModel, load_bytes
from pyharness.tokenizers.source import Loader, VocabularyFile
from pyharness.types import Ids, RoundTrip, Tokenizer, Tokens, Vocabulary
from pyharness.vocabularies.patterns.syntax import Dialect
from pyharness.vocabularies.stages import SplitStep, Stages, byte_forms

KEPT_PIECES = 1 << 18  # whose tokens are kept
KEPT_BYTES = 64  # of a piece; longer ones seldom come again
_INSIDE = -1  # a place within a token


class EventEncoder:
    """Encoder of pieces by the events of a model.

    Events that apply wait in a queue, by their number and then by place; each that is run may make others apply. The
    time of a piece grows with n log n. Source: docs/algorithms.md "Events".

    >>> from pyharness.features.paper_trainers.event_model import BYTES, PICKY, Event
    >>> low, lo, w = 257, 256, ord("w")
    >>> events = Event((ord("l"), ord("o")), (lo,)), Event((lo, w), (low,)), Event((lo,), (ord("l"), ord("o")))
    >>> model = EventModel(
    ...     algorithm=PICKY, strings=(*BYTES, b"lo", b"low"), ids=(*range(256), -1, 256), events=events, splitter="gpt2"
    ... )
    >>> EventEncoder(model).encode(b"lowlo")
    [257, 108, 111]
    """

    def __init__(self, model: EventModel) -> None:
        self._events = model.events
        self._lengths = [len(string) for string in model.strings]
        self._in_order = model.algorithm != KNOCKOUT
        self._furthest = [0] * len(model.strings)  # place of a token in an event, the last of all
        for event in model.events:
            for at, token in enumerate(event.before):
                self._furthest[token] = max(self._furthest[token], at)
        # By the first token, and by the next one unless the token is taken apart: numbers of events, in their order.
        self._starting: dict[tuple[int, ...], dict[tuple[int, ...], list[int]]] = {}
        for number, event in enumerate(model.events):
            self._starting.setdefault(event.before[:2], {}).setdefault(event.before, []).append(number)

    def encode(self, piece: bytes) -> list[int]:
        """Return the tokens of a piece, by their numbers."""
        return [token for token in self._run(piece)[0] if token != _INSIDE]

    def closing(self, piece: bytes) -> list[int]:
        """Return by place the number of the merge that closed the boundary before each byte; -1 if it is open."""
        return self._run(piece)[1]

    def _run(self, piece: bytes) -> tuple[list[int], list[int]]:
        tokens = list(piece)  # by the place of its first byte
        closed = [-1] * len(tokens)
        previous = list(range(-1, len(tokens)))  # place -> where the token before it starts
        waiting = [one for place in range(len(tokens)) for one in self._applying(tokens, place, 0)]
        heapq.heapify(waiting)
        while waiting:
            number, place = heapq.heappop(waiting)
            if not self._stand(tokens, place, self._events[number].before):
                continue
            self._replace(tokens, closed, previous, place, number)
            for start in self._starts(previous, place, self._events[number].after):
                for one in self._applying(tokens, start, number if self._in_order else 0):
                    heapq.heappush(waiting, one)
        return tokens, closed

    def _applying(self, tokens: Sequence[int], place: int, least: int) -> Iterator[tuple[int, int]]:
        """Yield the next event of each kind that applies at a place."""
        first = tokens[place]
        after = place + self._lengths[first]
        keys = [(first,)] if after >= len(tokens) else [(first,), (first, tokens[after])]
        for key in keys:
            for before, numbers in self._starting.get(key, {}).items():
                at = bisect_left(numbers, least)
                if at < len(numbers) and (len(before) < 3 or self._stand(tokens, place, before)):
                    yield numbers[at], place

    def _stand(self, tokens: Sequence[int], place: int, wanted: Sequence[int]) -> bool:
        for token in wanted:
            if place >= len(tokens) or tokens[place] != token:
                return False
            place += self._lengths[token]
        return True

    def _replace(self, tokens: list[int], closed: list[int], previous: list[int], place: int, number: int) -> None:
        at = place
        for token in self._events[number].before:
            tokens[at], closed[at] = _INSIDE, number
            at += self._lengths[token]
        last, at = previous[place], place
        for token in self._events[number].after:
            tokens[at], closed[at], previous[at] = token, -1, last
            last = at
            at += self._lengths[token]
        previous[at] = last

    def _starts(self, previous: Sequence[int], place: int, made: Sequence[int]) -> Iterator[int]:
        """Yield the places where an event may start that has a new token in it."""
        at = place
        for token in made:
            yield at
            at += self._lengths[token]
        at = place
        for _ in range(max(self._furthest[token] - nth for nth, token in enumerate(made))):
            at = previous[at]
            if at < 0:
                return
            yield at


class EventTokenizer:
    """Tokenizer of an :class:`EventModel`. Special tokens in a text are plain text.

    The ids depend on neither threads nor batches. Pieces are encoded one by one in Python, on one thread, and the
    tokens of short ones are kept.
    """

    round_trip: RoundTrip = "exact"

    def __init__(self, model: EventModel) -> None:
        self.model = model
        self._vocabulary = model.vocabulary()
        self.id_limit = len(self._vocabulary)
        self.vocab_size = int(self._vocabulary.counted.sum())
        self._splitter = TextSplitter(model.splitter, dialect=model.dialect)
        self.notes: tuple[str, ...] = (self._splitter.note,) if self._splitter.note else ()
        self._encoder = EventEncoder(model)
        self._whole: dict[bytes, tuple[int, ...]] = {}
        if model.whole_pieces:
            tokens = zip(model.strings, model.ids, strict=True)
            self._whole = {data: (token,) for data, token in tokens if token != NEVER}
        self._kept: dict[bytes, tuple[int, ...]] = {}

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents. ``threads`` share the splitting alone."""
        try:
            documents = [text.encode() for text in texts]
        except UnicodeEncodeError:
            documents = [text.encode() if isinstance(text, str) else text for text in all_joined(texts)]
        pieces = self._splitter.split_batch(documents, threads)
        lists: list[list[int]] = []
        for index, data in enumerate(documents):
            ids: list[int] = []
            for start, end in pairwise([0, *pieces.of(index).tolist()]):
                ids += self._ids(data[start:end])
            lists.append(ids)
        return Tokens.from_lists(lists)

    def _ids(self, piece: bytes) -> tuple[int, ...]:
        kept = self._whole.get(piece) or self._kept.get(piece)
        if kept is not None:
            return kept
        ids = self._merged(piece)
        if len(piece) <= KEPT_BYTES and len(self._kept) < KEPT_PIECES:
            self._kept[piece] = ids
        return ids

    def _merged(self, piece: bytes) -> tuple[int, ...]:
        return tuple(self.model.ids[token] for token in self._encoder.encode(piece))

    def decode(self, ids: Ids) -> bytes:
        """Decode one document's ids to the bytes of its text; an id in a gap of the vocabulary gives nothing.

        Raises:
            InputError: an id is not in the vocabulary.
        """
        return _core.decode(self._vocabulary.data, self._vocabulary.offsets, checked(ids, self.id_limit))

    def vocabulary(self) -> Vocabulary:
        """Return the bytes and kind of every id."""
        return self._vocabulary

    def encode_model(self, tokens: Ids) -> Tokens:
        """Encode the bytes of each id by the events alone, without the short cut for whole pieces."""
        return Tokens.from_lists([self._merged(self._vocabulary[token]) for token in np.asarray(tokens).tolist()])

    def stages(self) -> Stages:
        """Return the stages before the model as data."""
        dialects: Mapping[str, Dialect] = {"native": "fancy_regex", "compiled": self.model.dialect, "regex": "regex"}
        dialect = dialects[self._splitter.engine]
        return Stages(
            normalize=str,
            normalizer=(),
            splits=tuple(SplitStep(expression, dialect) for expression in self._splitter.expressions),
            added=(),
            forms=byte_forms(self._vocabulary),
            # Without splits, what crosses an end of a token stays: it merges as it does alone, or never.
            model="bpe" if self.model.algorithm == KNOCKOUT else "other",
            whole_pieces=self.model.whole_pieces,
        )


def load(file: VocabularyFile, options: Mapping[str, str]) -> Tokenizer:
    """Load a file.

    Raises:
        InputError: the file is truncated, altered, or contradicts itself.
    """
    del options
    return EventTokenizer(load_bytes(file.fetch(), file.label))


LOADERS = (Loader("events", "pyharness", load),)
