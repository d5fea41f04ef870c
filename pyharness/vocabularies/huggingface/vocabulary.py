"""Bytes, kinds and merge rules of a tokenizer.json, without the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.types import InputError, MergeModel, TokenKind, Vocabulary
from pyharness.vocabularies.files.byte_alphabet import BYTE_ALPHABET, alphabet_bytes, byte_of
from pyharness.vocabularies.files.merge_model import byte_level_model, character_symbols, symbol_model
from pyharness.vocabularies.huggingface.file import HuggingFaceFile
from pyharness.vocabularies.huggingface.traits import is_byte_level

_ABSENT = np.iinfo(np.uint32).max
LONGEST = 1 << 16  # characters of a token that a decoder rewrites; published files replace characters one by one


def vocabulary(file: HuggingFaceFile) -> Vocabulary:
    """Return bytes and kind of every id.

    Raises:
        InputError: the decoder makes a token too long.
    """
    spell = _spelling(file)
    tokens = {number: spell(token) for token, number in file.vocab.items()}
    kinds = {number: TokenKind.BYTE_FALLBACK for number in fallback_ids(file) if number >= 0}
    for added in file.added:
        tokens[added.id] = alphabet_bytes(added.content) if is_byte_level(file) else added.content.encode()
        kinds[added.id] = TokenKind.SPECIAL if added.special else TokenKind.ADDED
    if (unknown := unknown_id(file)) is not None:
        kinds[unknown] = TokenKind.UNKNOWN
    return Vocabulary.from_tokens(tokens, kinds)


def fallback_ids(file: HuggingFaceFile) -> tuple[int, ...]:
    """Return the id of the ``<0xNN>`` token of each of the 256 bytes (-1: none); empty without byte fallback."""
    ids = tuple(file.vocab.get(f"<0x{byte:02X}>", -1) for byte in range(256))
    return ids if file.model.get("byte_fallback") and max(ids) >= 0 else ()


def unknown_id(file: HuggingFaceFile) -> int | None:
    """Return the id of the unknown token; None if the model has none."""
    if file.model_type == "Unigram":
        number = file.model.get("unk_id")
        return None if number is None else int(number)
    return file.vocab.get(file.model.get("unk_token") or "")


def _spelling(file: HuggingFaceFile) -> Callable[[str], bytes]:
    suffix = file.model.get("end_of_word_suffix") or ""
    prefix = (file.model.get("continuing_subword_prefix") or "") if file.model_type in ("WordPiece", "BPE") else ""
    if is_byte_level(file):
        return lambda token: alphabet_bytes(token.removesuffix(suffix).removeprefix(prefix))
    steps = _replacements(file)
    fallback = bool(fallback_ids(file))

    def spell(token: str) -> bytes:
        byte = byte_of(token) if fallback else None
        if byte is not None:
            return bytes([byte])
        token = token.removesuffix(suffix).removeprefix(prefix)
        for old, new in steps:
            if len(token) + token.count(old) * (len(new) - len(old)) > max(LONGEST, len(token)):
                raise InputError(f"the decoder makes more than {LONGEST:,} characters of the token {token[:40]!r}")
            token = token.replace(old, new)
        return token.encode(errors="surrogatepass")

    return spell


def _replacements(file: HuggingFaceFile) -> list[tuple[str, str]]:
    steps: list[tuple[str, str]] = []
    for step in file.stages("decoder"):
        if step["type"] == "Metaspace":
            steps.append((str(step.get("replacement", "▁")), " "))
        elif step["type"] == "Replace" and "String" in _pattern(step):
            steps.append((str(_pattern(step)["String"]), str(step.get("content", ""))))
    return steps


def _pattern(step: Mapping[str, Any]) -> Mapping[str, Any]:
    pattern = step.get("pattern")
    return pattern if isinstance(pattern, dict) else {}


def merge_model(file: HuggingFaceFile, table: Vocabulary, *, in_bytes: bool | None = None) -> MergeModel:
    """Return a BPE model in rules form. ``in_bytes``: symbols are bytes, not characters (default: where byte-level)."""
    rules = _rules(file)
    in_bytes = is_byte_level(file) if in_bytes is None else in_bytes
    if in_bytes and _affixes(file) == ("", ""):
        symbols = [file.vocab.get(BYTE_ALPHABET[byte], _ABSENT) for byte in range(256)]
        present = np.bincount(table.data, minlength=256) > 0
        if not any(present[byte] for byte, symbol in enumerate(symbols) if symbol == _ABSENT):
            return byte_level_model(table, np.array(symbols, np.uint32), rules=rules)
    return _symbol_model(file, table, rules, in_bytes=in_bytes)


def _rules(file: HuggingFaceFile) -> NDArray[np.uint32]:
    prefix = len(file.model.get("continuing_subword_prefix") or "")
    vocab = file.vocab
    # Of a rule that is listed twice the library keeps the last.
    last = {pair: number for number, pair in enumerate(file.merges)}
    pairs = file.merges if len(last) == len(file.merges) else sorted(last, key=last.__getitem__)
    flat = [number for left, right in pairs for number in (vocab[left], vocab[right], vocab[left + right[prefix:]])]
    return np.array(flat, np.uint32).reshape(-1, 3)


def _symbol_model(file: HuggingFaceFile, table: Vocabulary, rules: NDArray[np.uint32], *, in_bytes: bool) -> MergeModel:
    _, suffix = affixes = _affixes(file)
    fallback = fallback_ids(file)
    unknown = unknown_id(file)
    strings = [b""] * len(table)
    base: list[list[int]] = [[] for _ in range(len(table))]
    spell = alphabet_bytes if in_bytes else str.encode
    symbols = character_symbols(file.vocab.get, fallback, 0 if unknown is None else unknown)
    for token, number in file.vocab.items():
        strings[number] = spell(token.removesuffix(suffix))
        if table.kinds[number] == TokenKind.BYTE_FALLBACK:
            base[number] = [number]
        else:
            base[number] = symbols(_symbols_of(token, *affixes))
    return symbol_model(strings, base, table.kinds, rules=rules)


def _symbols_of(token: str, prefix: str, suffix: str) -> list[str]:
    """Split a token into its symbols: characters, with the prefix on all but the first and the suffix on the last.

    If the token itself begins with the prefix, its first symbol has it, too.
    """
    behind = suffix if token != suffix and token.endswith(suffix) else ""
    body = token.removesuffix(behind)
    goes_on = bool(prefix) and body != prefix and body.startswith(prefix)
    symbols = (
        [prefix + character for character in body.removeprefix(prefix)]
        if goes_on
        else [prefix * (place > 0) + character for place, character in enumerate(body)]
    )
    return [*symbols[:-1], *(symbol + behind for symbol in symbols[-1:])]


def _affixes(file: HuggingFaceFile) -> tuple[str, str]:
    return file.model.get("continuing_subword_prefix") or "", file.model.get("end_of_word_suffix") or ""
