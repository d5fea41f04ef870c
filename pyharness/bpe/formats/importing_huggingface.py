"""Models of tokenizer.json files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyharness.bpe.model.model import BpeModel, Spaces
from pyharness.bpe.splitting.text_splitter import TextSplitter
from pyharness.types import InputError
from pyharness.vocabularies.files.byte_alphabet import BYTE_ALPHABET
from pyharness.vocabularies.huggingface import traits as huggingface_traits
from pyharness.vocabularies.huggingface import vocabulary as huggingface_vocabulary
from pyharness.vocabularies.huggingface.file import HuggingFaceFile, library_ids
from pyharness.vocabularies.huggingface.pre_tokenizer import split_pattern


def model_of_huggingface(file: HuggingFaceFile, label: str) -> BpeModel:
    """Model of a BPE file. What the native splitters cannot express is kept as the file has it.

    Raises:
        InputError: the file is no BPE model, or the library would give other ids than a model can say.
    """
    _check(file, label)
    in_letters = huggingface_traits.writes_bytes(file.content.get("normalizer"))
    in_bytes = huggingface_traits.is_byte_level(file) and not in_letters
    vocabulary = huggingface_vocabulary.vocabulary(file)
    stage = file.content.get("pre_tokenizer")
    round_trip, reasons = huggingface_traits.round_trip(file)
    decoder, drop_space = _decoding(file)
    model = BpeModel(
        vocabulary=vocabulary,
        merges=huggingface_vocabulary.merge_model(file, vocabulary, in_bytes=in_bytes),
        alphabet=_byte_alphabet(file) if in_bytes else _character_alphabet(file),
        symbols="bytes" if in_bytes else "characters",
        splitter=(None if in_letters and huggingface_traits.writes_bytes(stage) else split_pattern(stage))
        or stage
        or "none",
        normalizer=file.content["normalizer"] if file.stages("normalizer") else None,
        decoder=decoder,
        drop_space=drop_space,
        added=file.added,
        unknown=huggingface_vocabulary.unknown_id(file),
        fuse_unknown=bool(file.model.get("fuse_unk")),
        fallback=huggingface_vocabulary.fallback_ids(file),
        prefix=file.model.get("continuing_subword_prefix") or "",
        suffix=file.model.get("end_of_word_suffix") or "",
        whole_pieces=bool(file.model.get("ignore_merges")),
        round_trip=round_trip,
        notes=(*reasons, *huggingface_traits.notes(file)),
    )
    if model.whole_pieces:
        check_whole_pieces(model, (token.content for token in file.added if token.content in file.vocab))
    return model


def _check(file: HuggingFaceFile, label: str) -> None:
    """Refuse what would not give the library's ids."""
    if file.model_type != "BPE":
        raise InputError(f"{label} is a {file.model_type} model, not BPE: it has no merges")
    _check_text(file, label)
    _check_added_ids(file, label)


def _check_text(file: HuggingFaceFile, label: str) -> None:
    texts = [*file.vocab, *(token.content for token in file.added), *(end for pair in _affixes(file) for end in pair)]
    whole = "".join(texts)
    try:
        whole.encode()
    except UnicodeEncodeError as error:
        wrong = next(text for text in texts if whole[error.start] in text)
        raise InputError(f"{label}: token {wrong[:40]!r} has half a surrogate pair: it is no text") from None


def _check_added_ids(file: HuggingFaceFile, label: str) -> None:
    """Refuse ids of added tokens that the library does not go by; it warns of the difference and goes on."""
    for token, number in zip(file.added, library_ids(file.vocab, (token.content for token in file.added)), strict=True):
        if number != token.id:
            raise InputError(
                f"{label}: added token {token.content!r} has id {token.id}, but tokenizers gives it {number}: "
                "write that id, or list the token with its own in the model's 'vocab'"
            )


def check_whole_pieces(model: BpeModel, contents: Iterable[str]) -> None:
    """Refuse added tokens that plain text would become with ``ignore_merges``, which looks up all of the vocabulary."""
    splitter = TextSplitter(model.splitter) if isinstance(model.splitter, str) else None
    for content in contents:
        if splitter is None or len(splitter.split(content)) == 1:
            raise InputError(
                f"tokenizers would take plain text that reads {content!r} for that token: it can be a whole piece, and "
                "whole pieces are looked up among all tokens"
            )


def _byte_alphabet(file: HuggingFaceFile) -> dict[bytes, int]:
    return {
        before.encode() + bytes([byte]) + behind.encode(): file.vocab[before + character + behind]
        for byte, character in BYTE_ALPHABET.items()
        for before, behind in _affixes(file)
        if before + character + behind in file.vocab
    }


def _character_alphabet(file: HuggingFaceFile) -> dict[bytes, int]:
    """Tokens of one character with its affixes."""
    affixes = _affixes(file)
    return {
        token.encode(): number
        for token, number in file.vocab.items()
        if any(
            len(token) == len(before) + 1 + len(behind) and token.startswith(before) and token.endswith(behind)
            for before, behind in affixes
        )
    }


def _affixes(file: HuggingFaceFile) -> list[tuple[str, str]]:
    """What can stand before and behind a symbol: nothing, or the prefix, or the suffix, or both."""
    prefix, suffix = (file.model.get(key) or "" for key in ("continuing_subword_prefix", "end_of_word_suffix"))
    return sorted({(before, behind) for before in ("", prefix) for behind in ("", suffix)})


def _decoding(file: HuggingFaceFile) -> tuple[Mapping[str, Any] | Spaces | None, bool]:
    """Decoder, where joining bytes is not enough, and whether one leading space is dropped."""
    if file.content.get("decoder") is None:
        return "spaces", False
    steps = [_essence(step) for step in file.stages("decoder")]
    if file.model.get("end_of_word_suffix") or file.model.get("continuing_subword_prefix"):
        return file.content.get("decoder"), False
    if huggingface_traits.is_byte_level(file) and steps == [("ByteLevel",)]:
        return None, False
    joins = [("Replace", "▁", " "), ("ByteFallback",), ("Fuse",)]
    if not huggingface_traits.is_byte_level(file) and steps in (joins, [*joins, ("Strip", " ", 1, 0)]):
        return None, len(steps) == 4
    return file.content.get("decoder"), False


def _essence(step: Mapping[str, Any]) -> tuple[Any, ...]:
    """Type and options of a decoder step; a ByteLevel decoder has none that matter."""
    if step["type"] == "Replace":
        pattern = step.get("pattern")
        return "Replace", pattern.get("String") if isinstance(pattern, dict) else pattern, step.get("content")
    if step["type"] == "Strip":
        return "Strip", step.get("content"), step.get("start"), step.get("stop")
    return (step["type"],)
