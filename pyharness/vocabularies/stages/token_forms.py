"""Forms in which the tokens of a vocabulary stand in the text that the pre-tokenizer gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import AnyStr

from pyharness.types import Vocabulary
from pyharness.vocabularies.files.byte_alphabet import alphabet_bytes
from pyharness.vocabularies.huggingface.file import HuggingFaceFile
from pyharness.vocabularies.huggingface.traits import is_byte_level
from pyharness.vocabularies.huggingface.vocabulary import fallback_ids, unknown_id
from pyharness.vocabularies.stages.stages import TokenForm


def byte_forms(vocabulary: Vocabulary) -> Callable[[int], Sequence[TokenForm]]:
    """Function from a token, whose bytes are those of the text, to its form."""

    def forms(token: int) -> Sequence[TokenForm]:
        try:
            text = vocabulary[token].decode()
        except UnicodeDecodeError:
            return ()
        return [TokenForm(text)] if text else ()

    return forms


def spelled_once(
    string: Callable[[int], AnyStr], fallback: Sequence[int], unknown: int | None
) -> Callable[[int], bool]:
    """Function from a token of a BPE model to whether only its own characters can be merged into it.

    ``<0xC3>`` and the unknown token are symbols that stand for other text, and merge like any other: a token whose
    string holds that of one may come of it. A symbol of one character is that character.
    """
    others = {string(number) for number in (*fallback, *(() if unknown is None else (unknown,))) if number >= 0}
    longer = [other for other in others if len(other) != 1]
    return lambda token: not any(other in string(token) for other in longer)


def huggingface_spelled_once(file: HuggingFaceFile) -> Callable[[int], bool]:
    """Function from a token of a tokenizer.json to whether only its own characters can be merged into it."""
    if file.model.get("continuing_subword_prefix"):
        # A rule cuts as many characters off its right part, be they the prefix or not; and a text may spell the prefix.
        return lambda _: False
    strings = {number: token for token, number in file.vocab.items()}
    return spelled_once(lambda token: strings.get(token, ""), fallback_ids(file), unknown_id(file))


def huggingface_forms(file: HuggingFaceFile) -> Callable[[int], Sequence[TokenForm]]:
    """Function from a token of a tokenizer.json to its forms."""
    strings = {number: token for token, number in file.vocab.items()}
    prefix = file.model.get("continuing_subword_prefix") or ""
    suffix = file.model.get("end_of_word_suffix") or ""
    word_piece = file.model_type == "WordPiece"
    unknown = file.model_type not in ("BPE", "Unigram", "WordPiece") or bool(prefix and not word_piece)
    # A normaliser that writes bytes in the alphabet shows the pre-tokenizer other text than the token's.
    unknown |= any(step["type"] == "ByteLevel" for step in file.stages("normalizer"))
    spelled = is_byte_level(file)

    def forms(token: int) -> Sequence[TokenForm]:
        string = strings.get(token, "")
        if unknown or not string:
            return ()
        goes_on = bool(suffix) and not string.endswith(suffix)
        variants = [TokenForm(string, True if word_piece else None, goes_on)]
        if prefix and string.startswith(prefix) and len(string) > len(prefix):
            variants.append(TokenForm(string.removeprefix(prefix), starts=False))
        if suffix and string.endswith(suffix) and len(string) > len(suffix):
            variants.append(TokenForm(string.removesuffix(suffix)))  # the text may also spell the suffix
        try:
            return (
                [replace(form, text=alphabet_bytes(form.text).decode()) for form in variants] if spelled else variants
            )
        except UnicodeDecodeError:
            return ()

    return forms
