"""Witnesses: the shortest texts that show a difference of two tokenizers, each with its cause.

The cause is the first stage at which the two part: added tokens, normaliser, split pattern, then the model. A witness
is shrunk until no character can go without the difference, or its cause, being lost.
"""

from __future__ import annotations

import bisect
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from pyharness.features.audit.differences.changes import Change, shown
from pyharness.features.audit.differences.definitions import (
    ADDED,
    NORMALISER,
    OPTIONS,
    OTHER,
    PATTERN,
    POST_PROCESSOR,
    Rule,
)
from pyharness.features.audit.differences.sides import Reading, Side, cut_otherwise, normalised_otherwise, unequal
from pyharness.features.audit.differences.texts_of_changes import (
    LENGTH,
    LONGEST_VARIED,
    OF_ADDED,
    REPRESENTATIVES,
    around,
    completed,
    is_text,
    of_lengths,
    of_stage,
    spread,
)

Judge: TypeAlias = Callable[[Sequence[str]], list[bool]]  # whether each text still shows a cause
MOST_STARTS = 4  # texts from which a witness is sought, for each cause; the shortest result is kept
MOST_CHANGES = 60  # changes of a kind that texts are made for
MOST_NEIGHBOURS = 40  # rules next to a changed one, on each side
MOST_ATTRIBUTED = 300  # texts that differ, whose cause is determined
MOST_WORDS = 1024  # words of the vocabulary that are put before a piece, until its id appears
MOST_OF_A_PLACE = 128  # of these words, at each place of a text that is cut otherwise
MOST_CUT = 16  # texts that are cut otherwise, to which words are added
OF_TOKENS = ("token added", "token gone", "id moved")  # changes of one token, whose id a text must have to show it
STAGES = (NORMALISER, PATTERN, OPTIONS, "kind of file")  # changes that may be of any text
_AT_ONCE = 64
_DRAWN = 4000
_LONGEST_DRAWN = 9


@dataclass(frozen=True, slots=True)
class Cause:
    """Where two sides part on a text. ``name``: the added token, if it is one."""

    stage: str
    reading: Reading
    name: str = ""


@dataclass(frozen=True, slots=True)
class Witness:
    """A text with other ids: both libraries have encoded it, alone, after it was shrunk."""

    cause: Cause
    text: str
    first: tuple[tuple[int, str], ...]  # ids with their tokens
    second: tuple[tuple[int, str], ...]


def cause_of(one: Side, other: Side, text: str, reading: Reading) -> Cause | None:
    """Return the first stage at which the sides part on a text; None if their ids are equal."""
    mine, theirs = one.encode([text], reading).ids, other.encode([text], reading).ids
    if mine.tolist() == theirs.tolist():
        return None
    if reading == "template" and not unequal(one, other, [text])[0]:
        return Cause(POST_PROCESSOR, reading)
    if ADDED not in one.equal_stages:
        spans = [side.added(text, reading) for side in (one, other)]
        if None not in spans and spans[0] != spans[1]:
            return Cause(ADDED, reading, _first_of_one(spans[0] or [], spans[1] or []))
    # To look for them takes an encoding.
    parts = [] if one.equal_stages >= {NORMALISER, PATTERN} else one.between(text, reading)
    if NORMALISER not in one.equal_stages and any(normalised_otherwise(one, other, part) for part in parts):
        return Cause(NORMALISER, reading)
    if PATTERN not in one.equal_stages and any(cut_otherwise(one, other, part) for part in parts):
        return Cause(PATTERN, reading)
    return Cause(_of_tokens(one, other, one.keys(mine), other.keys(theirs)), reading)


def _first_of_one(mine: Sequence[tuple[int, int, str]], theirs: Sequence[tuple[int, int, str]]) -> str:
    """Return the first added token that only one side matches at its place."""
    differing = [span for span in (*mine, *theirs) if span not in mine or span not in theirs]
    return min(differing)[2]


def _of_tokens(one: Side, other: Side, mine: Sequence[object], theirs: Sequence[object]) -> str:
    """Return the cause where pieces are equal: only the ids moved, one side lacks a token, or the rules differ."""
    if mine == theirs:
        return "id moved"
    if any(key not in one.known for key in theirs):
        return "token added"
    if any(key not in other.known for key in mine):
        return "token gone"
    return "library" if one.definition is other.definition else "rules"


# ---------------------------------------------------------------------------------------------- shrinking


def shrink(text: str, holds: Judge) -> str:
    """Remove characters while the text holds: first lines, then ever shorter runs, until no single one can go.

    ``holds`` must be true of the text itself. Source: delta debugging (Zeller and Hildebrandt 2002, "Simplifying and
    isolating failure-inducing input").
    """
    lines = sorted(dict.fromkeys(text.splitlines(keepends=True)), key=len)
    text = _first_that_holds(lines, holds) or text
    size = max(len(text) // 2, 1)
    while True:
        shorter = _first_that_holds((text[:at] + text[at + size :] for at in range(0, len(text), size)), holds)
        if shorter is not None:
            text, size = shorter, min(size, max(len(shorter) // 2, 1))
        elif size == 1:
            return text
        else:
            size //= 2


def _first_that_holds(texts: Iterator[str] | Sequence[str], holds: Judge) -> str | None:
    texts = iter(texts)
    while batch := list(itertools.islice(texts, _AT_ONCE)):
        for text, held in zip(batch, holds(batch), strict=True):
            if held and text:
                return text
    return None


def witness(one: Side, other: Side, starts: Sequence[str], cause: Cause) -> Witness:
    """Shrink several texts with one cause, and return the shortest result, encoded again by both libraries."""

    def holds(texts: Sequence[str]) -> list[bool]:
        differing = unequal(one, other, texts, cause.reading)
        return [
            differs and cause_of(one, other, text, cause.reading) == cause
            for text, differs in zip(texts, differing, strict=True)
        ]

    starts = sorted(starts, key=len)
    most = MOST_STARTS if len(starts[0]) <= LONGEST_VARIED else 1  # to shrink takes time with the square of the length
    texts = [shrink(start, holds) if start else start for start in starts[:most]]
    text = min(texts, key=lambda text: (len(text.encode()), text))
    sides = [
        tuple((token, shown(side.spelled[token][0]) if token in side.spelled else "")
              for token in side.encode([text], cause.reading).ids.tolist())
        for side in (one, other)
    ]  # fmt: skip
    return Witness(cause, text, *sides)


# ---------------------------------------------------------------------------------------------- texts to try


def candidates(one: Side, other: Side, changes: Sequence[Change]) -> dict[str, list[str]]:
    """Return texts that are likely to differ, by what they were made for: general ones, and some for each change."""
    groups: dict[str, dict[str, None]] = {"general": dict.fromkeys(("", *general_texts()))}
    by_kind: Counter[str] = Counter()
    rules, tokens = _Neighbours(one, other), Appearing(one, other)
    for change in changes:
        by_kind[change.kind] += 1
        if change.name == LENGTH:
            groups[LENGTH] = dict.fromkeys(of_lengths(change))
        if change.token is None or by_kind[change.kind] > MOST_CHANGES:
            continue
        group = f"{change.kind} {change.name}" if change.kind in OF_ADDED else change.kind
        texts = rules.around(change.rule) if change.rule is not None else tokens.around(change)
        groups.setdefault(group, {}).update(dict.fromkeys(texts))
    chosen = {group: [text for text in texts if is_text(text)] for group, texts in groups.items()}
    written_otherwise = not changes and (one.definition != other.definition or one.definition.kind == OTHER)
    if written_otherwise or any(change.kind in STAGES for change in changes):
        chosen["tokens"] = tokens.texts()
    chosen["stages"] = [text for change in changes if change.kind in STAGES for text in of_stage(change)]
    if PATTERN not in one.equal_stages:
        chosen["cuts"] = tokens.with_words(_cut_texts(one, other, [*chosen["general"], *chosen["stages"]]))
    return chosen


def _cut_texts(one: Side, other: Side, texts: Sequence[str]) -> list[str]:
    """Return texts that the split patterns cut otherwise, shrunk: their ids may be equal only by their letters."""

    def holds(some: Sequence[str]) -> list[bool]:
        return [cut_otherwise(one, other, text) for text in some]

    parts = (texts[start::_AT_ONCE] for start in range(_AT_ONCE))
    cut = itertools.chain.from_iterable(itertools.compress(part, holds(part)) for part in parts)
    some = sorted(itertools.islice(cut, MOST_CUT * MOST_CUT), key=len)  # more would cost a pass over all texts
    return [*dict.fromkeys(shrink(text, holds) for text in spread(some, MOST_CUT) if text)]


def general_texts() -> Iterator[str]:
    """Yield short texts over all classes of characters: all of up to three, runs of one, and drawn longer ones."""
    for count in (1, 2):
        yield from map("".join, itertools.product(REPRESENTATIVES, repeat=count))
    yield from map("".join, itertools.product(REPRESENTATIVES[:13], repeat=3))
    yield from (letter * count for letter in REPRESENTATIVES for count in range(4, _LONGEST_DRAWN + 1))
    draw = random.Random(0)  # noqa: S311 -- the same texts each time
    for _ in range(_DRAWN):
        yield "".join(draw.choices(REPRESENTATIVES, k=draw.randint(4, _LONGEST_DRAWN)))


class Appearing:
    """Texts in which the id of a changed token appears: most pieces do so alone, others only behind a word."""

    def __init__(self, one: Side, other: Side) -> None:
        self._sides = (one, other)
        self._strings = sorted({string for string, _ in (*one.definition.by_bytes, *other.definition.by_bytes)})
        self._joined, self._ends = b"".join(self._strings), [*itertools.accumulate(map(len, self._strings))]
        words = dict.fromkeys(filter(bytes.isalpha, map(bytes.strip, self._strings)))  # of ASCII letters
        self._words = spread([word.decode() for word in words], MOST_WORDS)

    @cached_property
    def _backwards(self) -> list[bytes]:
        return sorted(string[::-1] for string in self._strings)

    def texts(self) -> list[str]:
        """Return the texts of all tokens: another cut or spelling changes ids only if it goes through a token."""
        texts = []
        for string in self._strings:
            try:
                texts.append(string.decode())
            except UnicodeDecodeError:  # a part of a character
                continue
        return texts

    def with_words(self, texts: Sequence[str]) -> list[str]:
        """Return each text with words of the vocabulary at each of its places."""
        places = [(text[:at], text[at:]) for text in texts for at in range(len(text) + 1)]
        return [before + word + after for before, after in places for word in spread(self._words, MOST_OF_A_PLACE)]

    def around(self, change: Change) -> list[str]:
        """Return texts around the token of a change, and if none has its id, longer ones with the first that has."""
        texts = [*dict.fromkeys(around(change))]
        is_scored = bool(self._sides[0].definition.scores)  # its pieces compete, those of an added token among them
        if change.kind == "score changed" or (change.kind in OF_ADDED and is_scored):
            texts += (text for string in self._overlapping(change.token or b"") for text in _spellings(string))
        if change.kind not in OF_TOKENS or self._first_with(change, texts) is not None:
            return texts
        token = change.token or b""
        longer = [text for text in (*self._containing(token), *self._behind_words(token)) if is_text(text)]
        found = self._first_with(change, longer)
        return texts if found is None else [*texts, found]

    def _first_with(self, change: Change, texts: Sequence[str]) -> str | None:
        side, token = (self._sides[0], change.before) if change.before is not None else (self._sides[1], change.after)
        for start in range(0, len(texts), _AT_ONCE):
            batch = [text for text in texts[start : start + _AT_ONCE] if is_text(text)]
            tokens = side.encode(batch)
            for index, text in enumerate(batch):
                if np.any(tokens.document(index) == token):
                    return text
        return None

    def _containing(self, token: bytes) -> Iterator[str]:
        """Yield whole characters and tokens that contain the bytes of a part of a character."""
        try:
            token.decode()
        except UnicodeDecodeError:
            for string in (*completed(token), *self.holding(token)):
                yield from _spellings(string)

    def holding(self, part: bytes) -> Iterator[bytes]:
        """Yield the tokens that contain these bytes: one search in all of them takes a fraction of one in each."""
        at = self._joined.find(part)
        while at >= 0:
            index = bisect.bisect_right(self._ends, at)
            is_inside = at + len(part) <= self._ends[index]
            if is_inside:
                yield self._strings[index]
            at = self._joined.find(part, self._ends[index] if is_inside else at + 1)

    def _overlapping(self, token: bytes) -> Iterator[bytes]:
        """Yield strings in which another token wants a part of this one: its end, or its beginning."""
        token = token.replace("▁".encode(), b" ")
        for at in range(1, len(token)):
            head, tail = token[:at], token[at:]
            yield from (head + string for string in _beginning(self._strings, tail))
            yield from (string[::-1] + tail for string in _beginning(self._backwards, head[::-1]))

    def _behind_words(self, token: bytes) -> Iterator[str]:
        bare = shown(token).removeprefix("##").removesuffix("</w>").replace("▁", " ")
        return (word + bare for word in self._words)


def _beginning(strings: Sequence[bytes], head: bytes) -> Sequence[bytes]:
    """Return some of the sorted strings that begin with these bytes."""
    some = strings[bisect.bisect_left(strings, head) : bisect.bisect_left(strings, head + b"\xff")]
    return spread(some, MOST_NEIGHBOURS)


class _Neighbours:
    """Rules by what they start and end with: a rule shows its rank where a neighbour wants the same symbol."""

    def __init__(self, one: Side, other: Side) -> None:
        self._by_left: dict[bytes, list[Rule]] = {}
        self._by_right: dict[bytes, list[Rule]] = {}
        self._wholes: dict[bytes, list[bytes]] = {}
        for rule in dict.fromkeys((*one.definition.rules, *other.definition.rules)):
            self._by_left.setdefault(rule[0], []).append(rule)
            self._by_right.setdefault(rule[1], []).append(rule)
            for part in rule:
                self._wholes.setdefault(part, []).append(rule[0] + rule[1])

    def around(self, rule: Rule) -> Iterator[str]:
        """Yield texts in which a rule competes with others, the result of the rule, and results that contain it."""
        left, right = rule
        result = left + right
        strings = [result, b" " + result, *self._wholes.get(result, ())[:MOST_NEIGHBOURS]]
        for _, after in self._by_left.get(right, ())[:MOST_NEIGHBOURS]:
            strings.append(result + after)
        for before, _ in self._by_right.get(left, ())[:MOST_NEIGHBOURS]:
            strings.append(before + result)
        for string in dict.fromkeys(strings):
            yield from _spellings(string)


def _spellings(string: bytes) -> Iterator[str]:
    try:
        text = string.decode().replace("▁", " ").replace("</w>", "")
    except UnicodeDecodeError:
        return
    yield from (text, f" {text}", text.strip())
