"""Markers: strings of a tokenizer's file that mean more than their text, such as ``<|im_start|>`` or ``[INST]``.

A marker is a *control token* if a model reads it as an order: the file calls it special, or it has the brackets of
one. Added tokens such as runs of spaces are words. The unknown token is one, too: odd text gives it anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from pyharness.bpe.formats.imports import import_model
from pyharness.features.serving.calls import RowFile
from pyharness.system import bounded_file
from pyharness.tokenizers.families import tiktoken
from pyharness.tokenizers.source import VocabularyFile
from pyharness.types import TokenizerSpec, Unsupported
from pyharness.vocabularies import encodings
from pyharness.vocabularies.files.json_file import parse_json
from pyharness.vocabularies.huggingface.file import HuggingFaceFile, read_file
from pyharness.vocabularies.huggingface.vocabulary import unknown_id
from pyharness.vocabularies.sentencepiece_file import PieceType, read_model

Origin: TypeAlias = Literal["special", "not flagged special"]
MOST_MARKERS = 2000  # of a row; of more, every n-th is tried
LARGEST_TEMPLATE = 4 << 20  # bytes
_BRACKETS = re.compile(r"[<>\[\]{}|｜]")
# Words of a template that are shaped like markers: <|im_start|>, <start_of_turn>, [INST], <<SYS>>, ### Instruction:
_SHAPED = re.compile(r"<<?/?[^<>\s'\"%{}]{1,64}>>?|\[/?[A-Z][A-Z_0-9 ]{1,40}\]|#{2,4} ?[A-Z]\w{2,30}:")


@dataclass(frozen=True, slots=True)
class Marker:
    """A string, the id that the file gives it, and whether the file flags it."""

    text: str
    id: int
    origin: Origin
    is_control: bool


@dataclass(frozen=True, slots=True)
class Markers:
    """The markers that are tried, and how many the file has."""

    tried: tuple[Marker, ...]
    in_file: int
    plain: tuple[str, ...] = ()  # of a template, without an id of their own: no call tells them from a user's text

    @classmethod
    def of(cls, row_file: RowFile) -> Markers:
        """Collect the markers of a row's file, and of the chat template next to it.

        Raises:
            InputError: the file or the template is damaged.
            Unsupported: nothing says which markers the row has.
        """
        row, file = row_file.row, row_file.file
        of_file = list(_of_name(row) if file is None else _of_file(file, row_file.data))
        ids = {marker.text: marker for marker in of_file}
        words = template_words(Path(row.path)) if row.path is not None and file is not None else ()
        of_template = {word: replace(ids[word], is_control=True) for word in words if word in ids}
        plain = tuple(word for word in words if word not in ids)
        return cls(_chosen([*(ids | of_template).values()]), len(ids), plain)


def _chosen(markers: Sequence[Marker]) -> tuple[Marker, ...]:
    """Return up to ``MOST_MARKERS``: what no flag protects first, then every n-th of the rest."""
    first = [one for one in markers if one.is_control and one.origin != "special"][: MOST_MARKERS // 2]
    chosen = set(first)
    rest = [one for one in markers if one not in chosen]
    step = -(-len(rest) // (MOST_MARKERS - len(first)))
    return (*first, *rest[:: max(step, 1)])


def _of_name(row: TokenizerSpec) -> Iterator[Marker]:
    """Yield the special tokens of a published vocabulary that a library carries in itself."""
    published = encodings.OPENAI_ENCODINGS.get(str(row.vocabulary))
    if published is None:
        raise Unsupported(f"row {row.name!r} has no vocabulary file: its control tokens are unknown")
    yield from _special(published.special)


def _of_file(file: VocabularyFile, data: bytes) -> Iterator[Marker]:
    if file.kind == "huggingface":
        yield from _added(read_file(data, file.label))
    elif file.kind == "sentencepiece":
        model = read_model(data, file.label)
        for number, (piece, kind) in enumerate(zip(model.pieces, model.types, strict=True)):
            if kind is PieceType.CONTROL:
                yield Marker(piece, number, "special", True)
            elif kind is PieceType.USER_DEFINED:
                yield Marker(piece, number, "not flagged special", is_shaped(piece))
    elif file.kind in ("rank_file", "tekken"):
        yield from _special(tiktoken.read(file).special)
    else:
        yield from _special(import_model(data, label=file.label).special)


def _special(tokens: Mapping[str, int]) -> Iterator[Marker]:
    for text, number in tokens.items():
        yield Marker(text, number, "special", True)


def _added(file: HuggingFaceFile) -> Iterator[Marker]:
    unknown = unknown_id(file)
    for token in file.added:
        is_control = (token.special or is_shaped(token.content)) and token.id != unknown
        yield Marker(token.content, token.id, "special" if token.special else "not flagged special", is_control)


def is_shaped(text: str) -> bool:
    """Return whether text has the brackets of a control token.

    >>> [is_shaped(text) for text in ("<|EOT|>", "[INST]", "    ", "Hello")]
    [True, True, False, False]
    """
    return _BRACKETS.search(text) is not None


# ---------------------------------------------------------------------------------------------------- chat templates


def template_words(path: Path) -> tuple[str, ...]:
    """Return the words of the chat template next to a file that are shaped like markers; () without one.

    The template is searched and never run.

    Raises:
        InputError: it is too large, or no JSON.
    """
    return marker_words("\n".join(_templates(path if path.is_dir() else path.parent)))


def marker_words(template: str) -> tuple[str, ...]:
    """Return the distinct words of a template that are shaped like markers, in their order.

    >>> marker_words("{{ '<|im_start|>' + m['role'] }}[INST] {{ m.content }} [/INST]")
    ('<|im_start|>', '[INST]', '[/INST]')
    """
    return tuple(dict.fromkeys(_SHAPED.findall(template)))


def _templates(folder: Path) -> Iterator[str]:
    written = folder / "chat_template.jinja"
    if written.is_file():
        yield bounded_file.read(written, LARGEST_TEMPLATE, repr(str(written))).decode("utf-8", "replace")
    configuration = folder / "tokenizer_config.json"
    if configuration.is_file():
        data = bounded_file.read(configuration, LARGEST_TEMPLATE, repr(str(configuration)))
        template = parse_json(data, repr(str(configuration))).get("chat_template")
        if isinstance(template, str):
            yield template
        for one in template if isinstance(template, list) else ():  # several, by name
            if isinstance(one, dict) and isinstance(one.get("template"), str):
                yield one["template"]
