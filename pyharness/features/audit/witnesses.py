"""Witnesses: the shortest texts that show a difference of two tokenizers, each with its cause.

The cause is the first stage at which the two part: added tokens, normaliser, split pattern, then the model. A witness
is shrunk until no character can go without the difference, or its cause, being lost.
"""

from __future__ import annotations

import itertools
import random
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyharness.features.audit.changes import Change, shown
from pyharness.features.audit.definitions import Rule
from pyharness.features.audit.sides import Judge, Reading, Side, unequal

MOST_STARTS = 4  # texts from which a witness is sought, for each cause; the shortest result is kept
MOST_CHANGES = 60  # changes of a kind that texts are made for
MOST_NEIGHBOURS = 40  # rules next to a changed one, on each side
MOST_ATTRIBUTED = 300  # texts that differ, whose cause is determined
OF_ADDED = ("added token", "special flag", "added token flags")  # changes whose cause is one added token
STAGES = ("normaliser", "split pattern", "model option", "kind of file")  # changes that may be of any text
_AT_ONCE = 64
# One character of each class that split patterns and normalisers distinguish, and the ends of contractions.
REPRESENTATIVES = (
    "a", "A", "1", " ", "\n", "\r", "\t", ".", "'", "/", "_", "é", "\u0301", "中", "ا", "ﬁ", "Ａ", "K", "か", "\u3000",
    "s", "ll", "T", "😀", "²", "-", "▁", "ß", "\u200d", "ก", "İ", "\u0e33", "º", "€", "0", "e\u0301",
)  # fmt: skip
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
        return Cause("post-processor", reading)
    spans = [side.added(text, reading) for side in (one, other)]
    if None not in spans and spans[0] != spans[1]:
        return Cause("added token", reading, _first_of_one(spans[0] or [], spans[1] or []))
    normal = [side.normal(text) for side in (one, other)]
    if None not in normal and normal[0] != normal[1]:
        return Cause("normaliser", reading)
    pieces = [side.pieces(text if normal[0] is None else normal[0]) for side in (one, other)]
    if None not in pieces and pieces[0] != pieces[1]:
        return Cause("split pattern", reading)
    return Cause(_of_tokens(one, other, one.keys(mine), other.keys(theirs)), reading)


def _first_of_one(mine: Sequence[tuple[int, int, str]], theirs: Sequence[tuple[int, int, str]]) -> str:
    differing = [span for span in (*mine, *theirs) if span not in mine or span not in theirs]
    return min(differing)[2]


def _of_tokens(one: Side, other: Side, mine: Sequence[object], theirs: Sequence[object]) -> str:
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

    texts = [shrink(start, holds) if start else start for start in sorted(starts, key=len)[:MOST_STARTS]]
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
    rules = _Neighbours(one, other)
    for change in changes:
        by_kind[change.kind] += 1
        if change.token is None or by_kind[change.kind] > MOST_CHANGES:
            continue
        group = f"{change.kind} {change.name}" if change.kind in OF_ADDED else change.kind
        texts = rules.around(change.rule) if change.rule is not None else _around(change)
        groups.setdefault(group, {}).update(dict.fromkeys(texts))
    if any(change.kind in STAGES for change in changes):
        groups["tokens"] = dict.fromkeys(_texts_of(one, other))
    return {group: [text for text in texts if _is_text(text)] for group, texts in groups.items()}


def _texts_of(one: Side, other: Side) -> Iterator[str]:
    """Yield the texts of all tokens: another cut or spelling changes ids only if it goes through a token."""
    for string, _ in sorted(one.definition.by_bytes.keys() | other.definition.by_bytes.keys()):
        try:
            yield string.decode()
        except UnicodeDecodeError:  # a part of a character
            continue


def general_texts() -> Iterator[str]:
    """Yield short texts over all classes of characters: all of up to three, and drawn longer ones."""
    for count in (1, 2):
        yield from map("".join, itertools.product(REPRESENTATIVES, repeat=count))
    yield from map("".join, itertools.product(REPRESENTATIVES[:13], repeat=3))
    draw = random.Random(0)  # noqa: S311 -- the same texts each time
    for _ in range(_DRAWN):
        yield "".join(draw.choices(REPRESENTATIVES, k=draw.randint(4, _LONGEST_DRAWN)))


def _around(change: Change) -> Iterator[str]:
    """Yield texts with the token of a change: alone, next to letters, spaces and itself, and normalised otherwise."""
    string = shown(change.token or b"").replace("▁", " ")
    bare = string.removeprefix("##").removesuffix("</w>")
    for text in dict.fromkeys((string, bare, bare.strip(), string.replace("▁", ""))):
        yield from (text, f" {text}", f"a{text}", f"{text}a", f"a {text} a", f"a  {text}  a", f"{text}{text}")
        if change.kind in OF_ADDED:
            yield from (f"{text} {text}", f"a\n{text}\na", f"1{text}1", f".{text}.", f"_{text}_")
            yield from _normalised(text)


def _normalised(text: str) -> Iterator[str]:
    """Yield spellings that a normaliser may turn into the text."""
    for other in (text.upper(), text.lower(), text.swapcase(), *(unicodedata.normalize(form, text) for form in
                  ("NFD", "NFC", "NFKD", "NFKC"))):  # fmt: skip
        yield from (other, f"a{other}a")
    yield from (text[:at] + "\u0301" + text[at:] for at in range(1, len(text)))
    wide: dict[int, str | int] = {ord(" "): "\u3000", **{code: code + 0xFEE0 for code in range(0x21, 0x7F)}}
    yield text.translate(wide)
    for at, letter in enumerate(text):
        yield text[:at] + letter.translate(wide) + text[at + 1 :]
        if letter == "K":
            yield text[:at] + "\u212a" + text[at + 1 :]


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


def _is_text(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)
