"""Hostile texts: kinds of text that make tokenizers slow or break them, each of any size and fresh every time.

A *recipe* makes a text from a size and a seed, so that a record can name a text of a megabyte in a few words. Rules of
a row's own split pattern have recipes of their own: a text that one alternative matches to its end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from string import ascii_lowercase, digits
from typing import TypeAlias

from pyharness.features.serving.calls import RowFile
from pyharness.features.serving.markers import Markers
from pyharness.types import InputError
from pyharness.vocabularies.huggingface.file import read_file
from pyharness.vocabularies.patterns.parser import parse
from pyharness.vocabularies.patterns.syntax import Atomic, Characters, Choice, Node, Repeat, Series, Uncompilable
from pyharness.vocabularies.stages import SplitStep, split_steps

Draw: TypeAlias = random.Random
LONGEST_CHARACTER = 4  # bytes: a text is cut between characters
ACCENTS = "\u0301\u0300\u0308\u0327\u0302\u0323"  # combining, the acute accent first
JOINED = ("👩\u200d", "👨\u200d", "🏳️\u200d", "👧🏽\u200d")
ENDING = "!"  # behind what a rule matched: what it has to give back shows
MOST_RULES = 24
MOST_PREFIXES = 50
LONGEST_PREFIX = 64  # characters
LONGEST_REPEAT = 1000  # characters, about: a strange pattern may ask for a thousand times a thousand times a thousand


@dataclass(frozen=True, slots=True)
class TextRecipe:
    """A kind of text: ``make(draw)`` gives pieces whose repetition is the text; ``start`` comes once, before them."""

    kind: str
    make: Callable[[Draw], str]
    start: str = ""
    end: str = ""
    fresh: bool = False  # each repetition is drawn, not only the first

    def text(self, size: int, seed: int) -> str:
        """Return a text of ``size`` bytes of UTF-8, and a few more: another one for every seed."""
        draw = random.Random(f"{self.kind} {size} {seed}")  # noqa: S311 -- texts, not secrets
        room = size - len(self.start.encode()) - len(self.end.encode()) + LONGEST_CHARACTER + seed % 7
        if self.fresh:
            pieces, drawn = [], 0
            while drawn < room:
                pieces.append(self.make(draw) or " ")
                drawn += len(pieces[-1].encode())
            piece = "".join(pieces)
        else:
            piece = self.make(draw) or " "
            piece *= room // len(piece.encode()) + 1
        return self.start + piece.encode()[:room].decode("utf-8", "ignore") + self.end


def _ideograph(draw: Draw) -> str:
    return chr(draw.randrange(0x4E00, 0x9FA6))


def _mixed(draw: Draw) -> str:
    one = draw.choice((ascii_lowercase, " ", "\n", ACCENTS, digits, "東京", "\u200d👩", "<|", "é\u0301"))
    return draw.choice(one) * draw.randrange(1, 40)


FIXED = (
    TextRecipe("one letter", lambda draw: draw.choice(ascii_lowercase)),
    TextRecipe("spaces", lambda _: " "),
    TextRecipe("newlines", lambda draw: draw.choice(("\n", "\r\n", "\n\n"))),
    TextRecipe("combining marks", lambda draw: ACCENTS[0] if draw.random() < 0.5 else draw.choice(ACCENTS), start="a"),
    TextRecipe("joined characters", lambda draw: draw.choice(JOINED)),
    TextRecipe("digits", lambda draw: draw.choice(digits), fresh=True),
    TextRecipe("ideographs", _ideograph, fresh=True),
    TextRecipe("random letters", lambda draw: draw.choice(ascii_lowercase), fresh=True),
    TextRecipe("mixed", _mixed, fresh=True),
)


def recipes(file: RowFile) -> list[TextRecipe]:
    """Return all recipes for a row: fixed kinds, prefixes of its added tokens, and rules of its split pattern."""
    texts = ["<|endoftext|>"]
    with suppress(InputError):
        texts = [marker.text for marker in Markers.of(file).tried] or texts
    prefixes = [text[:LONGEST_PREFIX][:-1] or "<" for text in texts[:MOST_PREFIXES]]
    made = [TextRecipe("prefixes of added tokens", lambda draw: draw.choice(prefixes), fresh=True)]
    return [*FIXED, *made, *rules(_splits(file))]


def _splits(file: RowFile) -> Sequence[SplitStep]:
    if file.file is not None and file.kind == "huggingface":
        return split_steps(read_file(file.data, file.file.label).stages("pre_tokenizer"))[0]
    if file.kind in ("rank_file", "tekken"):
        return (SplitStep(file.ranks().pattern, "fancy_regex"),)
    return ()


def rules(splits: Sequence[SplitStep]) -> list[TextRecipe]:
    """Return a recipe for each alternative of split patterns; patterns that we cannot read have none."""
    made: list[TextRecipe] = []
    for step in splits:
        with suppress(Uncompilable):
            tree = parse(step.expression, step.dialect)
            options = tree.options if isinstance(tree, Choice) else (tree,)
            made += [_of_rule(number, option) for number, option in enumerate(options, len(made) + 1)]
    return made[:MOST_RULES]


def _of_rule(number: int, node: Node) -> TextRecipe:
    """Return the recipe of an alternative: what comes before its first unbounded part once, and that part again."""
    before, repeated = _parts(node)
    draw = random.Random(number)  # noqa: S311
    start = "" if repeated is None else "".join(spelled(one, draw) for one in before)
    body = node if repeated is None else repeated
    return TextRecipe(f"rule {number} of the split pattern", lambda draw: spelled(body, draw), start=start, end=ENDING)


def _parts(node: Node) -> tuple[tuple[Node, ...], Node | None]:
    """Return the nodes before the first unbounded repeat, and the body of that; None if all are bounded."""
    if isinstance(node, Repeat):
        return ((), node.body) if node.most is None else _parts(node.body)
    if isinstance(node, Atomic):
        return _parts(node.body)
    before: tuple[Node, ...] = ()
    for item in node.items if isinstance(node, Series) else node.options if isinstance(node, Choice) else ():
        inner, repeated = _parts(item)
        if repeated is not None:
            return (*before, *inner), repeated
        before = (*before, item) if isinstance(node, Series) else ()
    return (), None


def spelled(node: Node, draw: Draw) -> str:
    """Return a text that a node matches, with as few repetitions as it allows, but one.

    >>> spelled(parse("ab+[c]?", "fancy_regex"), random.Random(1))
    'abc'
    """
    if isinstance(node, Characters):
        return _character(node, draw)
    if isinstance(node, Series):
        return "".join(spelled(item, draw) for item in node.items)
    if isinstance(node, Choice):
        return spelled(draw.choice(node.options), draw)
    if isinstance(node, Repeat):
        text, times = spelled(node.body, draw), 1
        while times < node.least and 0 < len(text) < LONGEST_REPEAT:
            text, times = text + spelled(node.body, draw), times + 1
        return text
    return spelled(node.body, draw) if isinstance(node, Atomic) else ""


def _character(node: Characters, draw: Draw) -> str:
    edges = node.points.edges
    spans = list(zip(edges[::2], edges[1::2], strict=True))[:8]  # the first have the common scripts
    if not spans:
        return ""
    low, high = draw.choice(spans)
    point = draw.randrange(low, min(high, low + 200))
    return "a" if 0xD800 <= point < 0xE000 else chr(point)
