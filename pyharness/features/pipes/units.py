"""Tokens or units that rows cut a text into: their ids, bytes and merges; and those that another text lacks."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pyharness import bpe, suite, tokenizers
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.strings import shorten_apart, visible
from pyharness.tokenizers.segmenting import segmenter
from pyharness.types import (
    Format,
    HasMergeModel,
    HasVocabulary,
    InputError,
    MergeModel,
    Tokenizer,
    TokenizerSpec,
    Unsupported,
    counted,
)

LONGEST = 1 << 20  # bytes of a text
MOST_LISTED = 200  # units in a table for people
SPACE = "·"  # a space in tables
SEPARATOR = "|"
NAME_WIDTH = 24
HIGHLIGHT = "\x1b[1;7m{}\x1b[0m"  # for moved units; brackets mark them as well, with colours or without
BANDS = ("\x1b[48;5;153m\x1b[30m{}\x1b[0m", "\x1b[48;5;223m\x1b[30m{}\x1b[0m")


@dataclass(frozen=True, slots=True)
class Unit:
    """A token, or a unit of a row without a vocabulary."""

    id: int | None
    data: bytes  # its bytes
    merges: tuple[tuple[bytes, bytes], ...] | None  # merges that build it, in their order; None: unknown
    moved: bool = False  # not in the other text

    @property
    def text(self) -> str:
        """Text for people: a part of a character as escapes, a space as a dot."""
        return _string(self.data)


@dataclass(frozen=True, slots=True)
class CutText:
    """The units of one row on one of the texts."""

    row: str
    number: int  # of the text
    size: int  # of the text, in bytes
    units: tuple[Unit, ...]
    spells: bool  # whether the joined units equal the text, or a space and the text


def show(rows: Sequence[str], texts: Sequence[str]) -> list[CutText]:
    """Cut one or two texts into the units of some rows, text by text; of two, mark units that the other lacks as moved.

    Raises:
        InputError: there is no such row, it cannot run, or a text is too long.
        Unsupported: a row hides something that is shown.
    """
    for text in texts:
        if len(text.encode()) > LONGEST:
            raise InputError(f"a text of more than {LONGEST:,} bytes is too long to be shown")
    cuts = [(label, _cut(tokenizers.obtain(spec), texts)) for label, spec in map(_parse, rows)]
    by_row = [[_show(label, number, text, units) for number, (text, units) in enumerate(zip(texts, cut, strict=True))]
              for label, cut in cuts]  # fmt: skip
    if len(texts) > 1:
        by_row = [_mark_moved(one, other) for one, other in by_row]
    return [shown for number in range(len(texts)) for shown in (row[number] for row in by_row)]


def _parse(row: str) -> tuple[str, str]:
    """Return label and specification; the path of an existing file is not a name."""
    is_file = os.path.exists(row)  # noqa: PTH110 -- Path raises for names that are too long
    name, spec = (None, row) if is_file else suite.named(row)
    return name or spec, spec


def _show(name: str, number: int, text: str, units: tuple[Unit, ...]) -> CutText:
    data = text.encode()
    return CutText(name, number, len(data), units, b"".join(unit.data for unit in units) in (data, b" " + data))


def _cut(spec: TokenizerSpec, texts: Sequence[str]) -> list[tuple[Unit, ...]]:
    if spec.instead is None:
        return _tokens(tokenizers.load(spec), texts)
    segments = segmenter(spec, lambda: tokenizers.load(spec)).segment_batch(texts)
    parts = [pairwise([0, *segments.document(index).tolist()]) for index in range(len(texts))]
    return [tuple(Unit(None, text.encode()[start:end], None) for start, end in bounds)
            for text, bounds in zip(texts, parts, strict=True)]  # fmt: skip


def _tokens(tokenizer: Tokenizer, texts: Sequence[str]) -> list[tuple[Unit, ...]]:
    if not isinstance(tokenizer, HasVocabulary):
        raise Unsupported("this engine does not expose the bytes of its tokens; show the row without the engine")
    vocabulary, tokens = tokenizer.vocabulary(), tokenizer.encode_batch(texts)
    merges = _Merges(tokenizer.merge_model()) if isinstance(tokenizer, HasMergeModel) else None
    ids = [tokens.document(index).tolist() for index in range(len(texts))]
    return [tuple(Unit(token, vocabulary[token], None if merges is None else merges.of(token)) for token in one)
            for one in ids]  # fmt: skip


class _Merges:
    """The merges that build each token of a model."""

    def __init__(self, model: MergeModel) -> None:
        self.model = model
        self.parts: NDArray[np.uint32] = bpe.self_tokenization(model).parts
        ranks = {} if model.rules is None else {tuple(rule): rank for rank, rule in enumerate(model.rules.tolist())}
        self.ranks: dict[tuple[int, ...], int] = ranks

    def of(self, token: int) -> tuple[tuple[bytes, bytes], ...] | None:
        """Return the merges of a token; None if merging does not give it, or it has no string to merge."""
        if token >= len(self.parts) or not (self.model.tested[token] or self.model.atomic[token]):
            return None
        merges = sorted(self._find(token))
        if not merges and not self.model.atomic[token]:
            return None
        return tuple((self.model[left], self.model[right]) for _, left, right in merges)

    def _find(self, token: int) -> Iterator[tuple[int, int, int]]:
        waiting, ranks = [token], self.model.ranks
        while waiting:
            made = waiting.pop()
            left, right = self.parts[made].tolist()
            if left != bpe.NEVER:
                rank = self.ranks.get((left, right, made), bpe.NEVER) if ranks is None else int(ranks[made])
                yield rank, left, right
                waiting += [left, right]


def _mark_moved(one: CutText, other: CutText) -> list[CutText]:
    """Mark the units in which the texts differ."""
    mine, theirs = ([(unit.id, unit.data) for unit in shown.units] for shown in (one, other))
    matcher = difflib.SequenceMatcher(None, mine, theirs, autojunk=False)
    kept: tuple[set[int], set[int]] = (set(), set())
    for block in matcher.get_matching_blocks():
        kept[0].update(range(block.a, block.a + block.size))
        kept[1].update(range(block.b, block.b + block.size))
    return [
        CutText(shown.row, shown.number, shown.size, tuple(
            Unit(unit.id, unit.data, unit.merges, index not in same) for index, unit in enumerate(shown.units)
        ), shown.spells)
        for shown, same in zip((one, other), kept, strict=True)
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------- for people, programs


def lines(found: Sequence[CutText], *, color: bool = False) -> str:
    """Return each text cut by every row, a line for each: bars between units, brackets around moved ones."""
    names = shorten_apart([shown.row for shown in found], NAME_WIDTH)
    width = max(len(name) for name in names.values())
    written = []
    for index, shown in enumerate(found):
        if index and shown.number != found[index - 1].number:
            written.append("")
        units = SEPARATOR.join(_mark(unit, index, color=color) for index, unit in enumerate(shown.units))
        written.append(f"{visible(names[shown.row]):{width}}  {len(shown.units):>5,}  {units}")
    return "\n".join(written) + "\n"


def _mark(unit: Unit, index: int, *, color: bool) -> str:
    text = f"[{unit.text}]" if unit.moved else unit.text
    if not color:
        return text
    return (HIGHLIGHT if unit.moved else BANDS[index % 2]).format(text)


def sheets(found: Sequence[CutText]) -> list[Sheet]:
    """Return a table of the units of each row and text."""
    headings = (Heading("id"), Heading("text", "word"), Heading("bytes", "prose"), Heading("merges", "prose"))
    return [Sheet(_title(shown), headings, tuple(map(_row, shown.units[:MOST_LISTED])), tuple(_notes(shown)))
            for shown in found]  # fmt: skip


def _title(shown: CutText) -> str:
    count = len(shown.units)
    what = "token" if any(unit.id is not None for unit in shown.units) else "unit"
    ratio = f", {shown.size / count:.3f} bytes/{what}" if count else ""
    return f"{shown.row}: {counted(count, what)} for {counted(shown.size, 'byte')}{ratio}"


def _row(unit: Unit) -> tuple[Cell, ...]:
    text = f"[{unit.text}]" if unit.moved else unit.text
    joined = None if unit.merges is None else ", ".join("+".join(map(_string, pair)) for pair in unit.merges)
    return Cell(unit.id, Format("{}")), Cell(text), Cell(unit.data.hex(" ")), Cell(joined or None)


def _string(data: bytes) -> str:
    return visible(data.decode("utf-8", "backslashreplace")).replace(" ", SPACE)


def _notes(shown: CutText) -> Iterator[str]:
    if len(shown.units) > MOST_LISTED:
        yield f"{len(shown.units) - MOST_LISTED:,} more are not listed: --format json has all."
    if not shown.spells:
        yield "These units do not spell the text: the tokenizer changes it."


def as_json(found: Sequence[CutText], texts: Sequence[str]) -> dict[str, object]:
    """Return all data for programs: bytes in hexadecimal digits."""
    return {
        "texts": list(texts),
        "rows": [
            {
                "tokenizer": shown.row,
                "text": shown.number,
                "bytes": shown.size,
                "spells_text": shown.spells,
                "units": [
                    {
                        "id": unit.id,
                        "text": unit.data.decode("utf-8", "backslashreplace"),
                        "bytes": unit.data.hex(),
                        "merges": None
                        if unit.merges is None
                        else [[one.hex() for one in pair] for pair in unit.merges],
                        **({"moved": unit.moved} if len(texts) > 1 else {}),
                    }
                    for unit in shown.units
                ],
            }
            for shown in found
        ],
    }
