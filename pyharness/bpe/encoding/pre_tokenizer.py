"""Pre-tokenizers of tokenizer.json that equal no native split pattern. Their pieces may change the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import numpy as np

from pyharness import _core
from pyharness.bpe.model.text_splitter import COMPILED, Pieces, TextSplitter, native_errors
from pyharness.types import InputError, offsets_of
from pyharness.vocabularies.files.byte_alphabet import alphabet_bytes
from pyharness.vocabularies.huggingface.file import flat_stages
from pyharness.vocabularies.huggingface.library_stages import library_stage
from pyharness.vocabularies.huggingface.pre_tokenizer import tables_of
from pyharness.vocabularies.patterns.syntax import Uncompilable

PieceStrings: TypeAlias = Callable[[str, bool], Sequence[bytes]]  # (text, whether it starts its document) -> pieces


class PreTokenizer:
    """Splitter by code for ``Metaspace`` steps, or else by tables, or else with ``tokenizers``.

    ``splitter`` is set where it suffices, because the pieces together are the text. ``reason`` says why
    ``tokenizers`` is needed.

    Args:
        stage: the ``pre_tokenizer`` object.
        byte_level: whether its pieces are written in the byte alphabet of GPT-2.

    Raises:
        InputError: ``tokenizers`` is needed and refuses it.
    """

    def __init__(self, stage: Mapping[str, Any], *, byte_level: bool) -> None:
        self._stage = stage
        steps = flat_stages(stage)
        self.splitter: TextSplitter | None = None
        self.reason = ""
        self._tables: _core.CompiledSplitter | None = None
        native = _metaspace(steps[0]) if len(steps) == 1 and not byte_level else None
        self._split = native or self._compile(byte_level)

    @property
    def note(self) -> str:
        """Note on how texts are split; empty where code written for the pattern does it."""
        if self.reason:
            return f"split by tokenizers: {self.reason}"
        return "" if self._tables is None else COMPILED

    def _compile(self, byte_level: bool) -> PieceStrings:
        """Build the tables; without them the library splits."""
        try:
            tables = tables_of(self._stage, byte_level=byte_level)
        except Uncompilable as uncompilable:
            self.reason = str(uncompilable)
            return _of_library(self._stage, byte_level)
        self._tables = _core.CompiledSplitter(tables)
        if self._tables.keeps_all():
            self.splitter = TextSplitter.of_tables("of the pre-tokenizer", tables)
        return _by_tables(self._tables)

    def split(self, texts: Sequence[str | bytes], first: Sequence[bool]) -> tuple[list[bytes], Pieces]:
        """Return the texts of the model's input and the ends of their pieces. ``first``: which start their document.

        Raises:
            InputError, TypeError: as :func:`as_text`; a compiled pattern backtracks over a text without end.
        """
        if self._tables is not None:
            with native_errors():
                data, *edges = _core.split_and_remove(self._tables, texts)
            return data, Pieces(*edges)
        changed: list[bytes] = []
        ends: list[int] = []
        counts: list[int] = []
        for text, is_first in zip(texts, first, strict=True):
            pieces = [piece for piece in self._split(as_text(text), is_first) if piece]
            changed.append(b"".join(pieces))
            counts.append(len(pieces))
            ends.extend(accumulate(map(len, pieces)))
        return changed, Pieces(np.array(ends, np.int64), offsets_of(counts))


def as_text(text: str | bytes) -> str:
    """Return the text of a document.

    Raises:
        InputError: it is not UTF-8.
        TypeError: it is neither ``str`` nor ``bytes``.
    """
    if isinstance(text, str):
        return text
    if not isinstance(text, bytes):
        raise TypeError(f"a text must be str or bytes, not {type(text).__name__}")
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"a text is not UTF-8 at byte {error.start}, and this model works on characters") from None


def puts_mark_first(stage: Mapping[str, Any]) -> bool:
    """Return whether a stage puts a mark only at the start of a document."""
    return any(step.get("prepend_scheme") == "first" for step in flat_stages(stage))


def _metaspace(step: Mapping[str, Any]) -> PieceStrings | None:
    """Return a Metaspace as a function: spaces become a mark, one may be put in front, pieces may start at marks."""
    mark, scheme, split = step.get("replacement"), step.get("prepend_scheme"), step.get("split")
    if step["type"] != "Metaspace" or not isinstance(mark, str) or scheme is None or not isinstance(split, bool):
        return None  # files older than 2024 leave some of it to the library
    at_marks = re.compile(rf"{re.escape(mark)}?[^{re.escape(mark)}]+|{re.escape(mark)}")

    def pieces(text: str, first: bool) -> Sequence[bytes]:
        text = text.replace(" ", mark)
        if text and not text.startswith(mark) and (scheme == "always" or (scheme == "first" and first)):
            text = mark + text
        return [piece.encode() for piece in at_marks.findall(text)] if split else [text.encode()]

    return pieces


def _by_tables(tables: _core.CompiledSplitter) -> PieceStrings:
    def pieces(text: str, _: bool) -> Sequence[bytes]:
        with native_errors():
            (data,), ends, _offsets = _core.split_and_remove(tables, [text])
        return [data[start:end] for start, end in pairwise([0, *ends.tolist()])]

    return pieces


def _of_library(stage: Mapping[str, Any], byte_level: bool) -> PieceStrings:
    at_start, inside = library_stage("pre_tokenizer", stage), library_stage("pre_tokenizer", _inside(stage))
    spell = alphabet_bytes if byte_level else str.encode

    def pieces(text: str, first: bool) -> Sequence[bytes]:
        split: Any = (at_start if first else inside).pre_tokenize_str(text)
        return [spell(piece) for piece, _ in split]

    return pieces


def _inside(stage: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an equivalent stage for text inside a document: the library does not know the position of a text."""
    if stage.get("prepend_scheme") == "first":
        return {**stage, "prepend_scheme": "never"}
    if "pretokenizers" in stage:
        return {**stage, "pretokenizers": [_inside(step) for step in stage["pretokenizers"]]}
    return stage
