"""How an old tokenizer writes the tokens of a new one: in its own symbols, so that no token has to be a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from pyharness.bpe import BpeEncoder, BpeModel, BpeTokenizer
from pyharness.bpe.analysis.unused_pieces import expansion_of_unused
from pyharness.features.adaptation.surgery.token_matches import alike
from pyharness.types import InputError, offsets_of


def constituents(old: BpeModel, new: BpeModel, tokens: Sequence[int]) -> list[list[int]]:
    """Old ids of each of these new tokens; none where the old tokenizer has nothing for it.

    The symbols that a token starts from are merged by the old rules: no text is split, and no whole piece looked up.
    Added tokens are no strings of the model: their content is encoded as a text.

    Raises:
        InputError: the new tokenizer numbers symbols otherwise than tokens (Scaffold-BPE).
    """
    if new.expansion is not None or old.expansion is not None:
        raise InputError("Scaffold-BPE writes other ids than it merges: name its rows in a map of ids")
    contents = {token.id: token.content for token in new.added}
    texts = [token for token in tokens if token in contents]
    encoded = BpeTokenizer(old).encode_batch([contents[token] for token in texts])
    ids = {token: encoded.document(index).tolist() for index, token in enumerate(texts)}
    strings = [token for token in tokens if token not in contents]
    ids.update(zip(strings, _of_strings(old, new, strings), strict=True))
    return [ids[token] for token in tokens]


def _of_strings(old: BpeModel, new: BpeModel, tokens: Sequence[int]) -> Iterator[list[int]]:
    symbols = _translated(old, new, tokens) if alike(old, new) else [_symbols(old, new.vocabulary[t]) for t in tokens]
    flat = np.array([symbol for group in symbols for symbol in group], np.uint32)
    merged = BpeEncoder(old.merges).encode_batch(flat, offsets_of([len(group) for group in symbols]))
    expansion = expansion_of_unused(old)
    for index in range(len(tokens)):
        ids = merged.document(index).tolist()
        if expansion is not None:
            ids = [int(part) for token in ids for part in expansion[0][expansion[1][token] : expansion[1][token + 1]]]
        yield ids


def _translated(old: BpeModel, new: BpeModel, tokens: Iterable[int]) -> list[list[int]]:
    """Symbols of new tokens, as the old model numbers them."""
    names = {token: name for name, token in new.alphabet.items()}
    fallback = {token: byte for byte, token in enumerate(new.fallback)}
    base, offsets = new.merges.base, new.merges.base_offsets

    def symbols(symbol: int) -> list[int]:
        if symbol in names:
            return _symbol(old, names[symbol])
        return _of_bytes(old, bytes([fallback[symbol]])) if symbol in fallback else _unknown(old)

    known = {symbol: symbols(symbol) for symbol in np.unique(base).tolist()}
    return [[part for symbol in base[offsets[t] : offsets[t + 1]].tolist() for part in known[symbol]] for t in tokens]


def _symbols(old: BpeModel, data: bytes) -> list[int]:
    """Symbols of what a token adds to a text, where the models are of different sorts."""
    if old.symbols == "bytes":
        return [part for byte in data for part in _symbol(old, bytes([byte]))]
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _of_bytes(old, data)
    if b" " not in old.alphabet:
        text = text.replace(" ", "▁")
    names = [(old.prefix if place else "") + character for place, character in enumerate(text)]
    if old.suffix and names and (names[-1] + old.suffix).encode() in old.alphabet:
        names[-1] += old.suffix
    return [part for name in names for part in _symbol(old, name.encode())]


def _symbol(old: BpeModel, name: bytes) -> list[int]:
    token = old.alphabet.get(name)
    return _of_bytes(old, name) if token is None else [token]


def _of_bytes(old: BpeModel, data: bytes) -> list[int]:
    """What is written for bytes that are no symbol."""
    fallback = [old.fallback[byte] for byte in data] if old.fallback else [-1]
    return _unknown(old) if -1 in fallback else fallback


def _unknown(old: BpeModel) -> list[int]:
    return [] if old.unknown is None else [old.unknown]
