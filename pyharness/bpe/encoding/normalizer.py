"""Normalisers of model files, as functions of one text. The libraries do the work where it is not trivial."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Literal, TypeAlias

from pyharness.types import InputError
from pyharness.vocabularies.files.byte_alphabet import in_letters
from pyharness.vocabularies.huggingface.file import flat_stages
from pyharness.vocabularies.huggingface.library_stages import library_stage
from pyharness.vocabularies.sentencepiece_file import ModelType, PieceType, SentencePieceNormalizer, written_field

Normalize: TypeAlias = Callable[[str], str]
KeepsStart: TypeAlias = Callable[[str], bool]
Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]
SPACE = "▁"


def huggingface_normalizer(stage: Mapping[str, Any]) -> Normalize:
    """Return the normaliser of a tokenizer.json.

    Raises:
        InputError: ``tokenizers`` refuses it.
    """
    steps = [_step(step) for step in flat_stages(stage)]
    return partial(_in_turn, steps) if len(steps) != 1 else steps[0]


def keeps_start(stage: Mapping[str, Any]) -> bool:
    """Return whether the first character of a normalised text surely comes from the first of the original text."""
    return all(
        step["type"] in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "ByteLevel")
        or (step["type"] == "Replace" and "String" in step["pattern"] and bool(step.get("content")))
        for step in flat_stages(stage)
    )


def start_keeper(stage: Mapping[str, Any]) -> KeepsStart:
    """Return the function that tells whether the first character of a normalised text comes from the text's first.

    ``tokenizers`` knows it from its alignments: a character that replaces others, or precedes one, has its position.

    Raises:
        InputError: ``tokenizers`` refuses the normaliser.
    """
    import tokenizers

    normalizer = library_stage("normalizer", stage)

    def keeps(text: str) -> bool:
        whole = tokenizers.PreTokenizedString(text)
        whole.normalize(normalizer.normalize)
        whole.split(lambda _, part: [part.slice((0, len(part.normalized)))])  # drops the alignment of what was removed
        parts = whole.get_splits(offset_referential="original")
        return not parts or parts[0][1][0] == 0

    return keeps


def _in_turn(steps: Sequence[Normalize], text: str) -> str:
    for step in steps:
        text = step(text)
    return text


def _step(step: Mapping[str, Any]) -> Normalize:
    kind = step["type"]
    if kind in ("NFC", "NFD", "NFKC", "NFKD"):
        return partial(_to_form, kind, _library_step(step))
    if kind == "ByteLevel":
        return lambda text: in_letters(text.encode())
    if kind == "Prepend" and isinstance(step.get("prepend"), str):
        return lambda text: step["prepend"] + text if text else text
    old = step["pattern"].get("String") if kind == "Replace" and isinstance(step.get("pattern"), dict) else None
    if isinstance(old, str) and old and isinstance(step.get("content"), str):
        return lambda text: text.replace(old, step["content"])
    return _library_step(step)


def _library_step(step: Mapping[str, Any]) -> Normalize:
    normalize: Normalize = library_stage("normalizer", step).normalize_str
    return normalize


def _to_form(form: Form, normalize: Normalize, text: str) -> str:
    """Normalise text that is not normal yet. The library takes 25 to 50 ns per byte; asking Python first takes 1."""
    if text.isascii() or (_knows_no_more_than_python() and unicodedata.is_normalized(form, text)):
        return text
    return normalize(text)


@lru_cache(maxsize=1)
def _knows_no_more_than_python() -> bool:
    """Return whether text that is normal to Python is normal to ``tokenizers``.

    A character normalises for ever as it did when it was assigned. So this holds if the library's Unicode version is
    not newer than Python's: to the library, no character that is unknown to Python decomposes or changes places. All
    characters assigned since 2002 that do so are in the first two planes.
    """
    import tokenizers

    probe = "".join(chr(point) + "\u0315\u0316" for point in range(0x20000) if unicodedata.category(chr(point)) == "Cn")
    # Nothing else in it moves: U+0315 and U+0316 are in the wrong order after each, and change places.
    expected = probe.replace("\u0315\u0316", "\u0316\u0315")
    normal: str = tokenizers.normalizers.NFD().normalize_str(probe)
    return normal == expected


def sentencepiece_normalizer(spec: SentencePieceNormalizer, user_defined: Sequence[str]) -> Normalize:
    """Return the normaliser of a SentencePiece model, which leaves user-defined pieces unchanged.

    Raises:
        InputError: the library refuses it.
    """
    if not spec.charsmap and not spec.remove_extra_whitespaces and spec.escape_whitespaces:
        before, behind = ("", SPACE) if spec.whitespace_as_suffix else (SPACE, "")
        if not spec.add_dummy_prefix:
            before = behind = ""
        return lambda text: f"{before}{text.replace(' ', SPACE)}{behind}" if text else text
    import sentencepiece

    processor: Any = sentencepiece.SentencePieceProcessor()
    pieces = [("<unk>", PieceType.UNKNOWN), *((piece, PieceType.USER_DEFINED) for piece in user_defined)]
    try:
        processor.LoadFromSerializedProto(_model_of_normalizer(spec, pieces))
    except (RuntimeError, OSError) as error:
        raise InputError(f"the normaliser {spec.name!r} was refused by sentencepiece: {str(error)[:200]}") from None
    return partial(_normalize_by, processor)


def _normalize_by(processor: Any, text: str) -> str:
    try:
        return str(processor.Normalize(text))
    except RuntimeError:
        text.encode()  # lone surrogates: raises what every other normaliser raises, not "unable to cast"
        raise


def _model_of_normalizer(spec: SentencePieceNormalizer, pieces: Sequence[tuple[str, PieceType]]) -> bytes:
    """Serialise a model with a normaliser and the pieces it must leave unchanged. Fields: sentencepiece_model.proto."""
    flags = (spec.add_dummy_prefix, spec.remove_extra_whitespaces, spec.escape_whitespaces)
    normalizer = written_field(1, spec.name.encode()) + written_field(2, spec.charsmap)
    normalizer += b"".join(written_field(number, flag) for number, flag in enumerate(flags, 3))
    trainer = written_field(3, ModelType.BPE) + written_field(24, spec.whitespace_as_suffix)
    entries = [written_field(1, piece.encode()) + written_field(3, kind) for piece, kind in pieces]
    fields = [*((1, entry) for entry in entries), (2, trainer), (3, normalizer)]
    return b"".join(written_field(number, value) for number, value in fields)
