"""Single tokens: by id, by their bytes, and as their file writes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from operator import index

import numpy as np

from pyharness.bpe.model.model import BpeModel
from pyharness.types import InputError, TokenKind
from pyharness.vocabularies.files.byte_alphabet import in_letters

_RANKED = (TokenKind.NORMAL, TokenKind.ADDED, TokenKind.SPECIAL)  # preferred among equal bytes, in this order


class TokenLookup:
    """Look-up of a model's tokens. The tables are built on first use."""

    def __init__(self, model: BpeModel) -> None:
        self._model = model
        self._contents = {token.id: token.content for token in model.added}

    def id_of_bytes(self, data: bytes) -> int:
        """Return the id of the token that is exactly these bytes, added and special ones included.

        Raises:
            InputError: there is no such token.
        """
        token = self._ids_of_bytes.get(data)
        if token is None:
            raise InputError(f"no single token is {data[:60]!r}; encode() gives the tokens of any text")
        return token

    def bytes_of(self, token: int) -> bytes:
        """Return the bytes of a token in the model's vocabulary.

        Raises:
            InputError: no token has the id.
        """
        number = index(token)
        if not self._has(number):
            limit = self._model.id_limit
            raise InputError(f"id {number} is not in the vocabulary (ids are from 0 to {limit - 1:,})")
        return self._model.vocabulary[number]

    def string_of(self, token: int) -> str | None:
        """Return a token as its file writes it; None if no token has the id."""
        number = index(token)
        return self.string(number) if self._has(number) else None

    def id_of_string(self, string: str) -> int | None:
        """Return the id of the token with this spelling in the file; None if there is no such token."""
        return self._ids_of_strings.get(string)

    def string(self, token: int) -> str:
        """Return a token's spelling: its content if added, else in the byte alphabet of byte models, with affixes."""
        if content := self._contents.get(token):
            return content
        model, suffix = self._model, self._model.suffix.encode()
        # With an expansion, the strings of merges have another numbering.
        text = model.merges[token] if model.expansion is None else model.vocabulary[token]
        if model.symbols == "bytes":
            text = in_letters(text).encode()
        if suffix:
            symbols = model.merges.base[model.merges.base_offsets[token] : model.merges.base_offsets[token + 1]]
            if len(symbols) and self._symbols.get(int(symbols[-1]), b"").endswith(suffix):
                text += suffix
        return text.decode(errors="replace")

    def _has(self, token: int) -> bool:
        return 0 <= token < self._model.id_limit and self._model.kind(token) is not TokenKind.ABSENT

    @cached_property
    def _symbols(self) -> Mapping[int, bytes]:
        return {number: key for key, number in self._model.alphabet.items()}

    @cached_property
    def _ids_of_bytes(self) -> Mapping[bytes, int]:
        """Map bytes to ids. Of tokens with equal bytes the kind decides, by ``_RANKED``, and then the lowest id."""
        kinds = self._model.vocabulary.kinds
        order = np.select([kinds == kind for kind in _RANKED], range(len(_RANKED)), len(_RANKED))
        tokens = np.lexsort((np.arange(len(kinds)), order)).tolist()
        table = {token.content.encode(): token.id for token in reversed(self._model.added)}
        for token in reversed(tokens):
            if self._has(token):
                table[self._model.vocabulary[token]] = token
        return table

    @cached_property
    def _ids_of_strings(self) -> Mapping[str, int]:
        """Map strings to ids. Of equal strings an added token precedes the vocabulary, as in ``tokenizers``."""
        tokens = [token for token in range(self._model.id_limit) if self._has(token)]
        table = {self.string(token): token for token in reversed(tokens)}
        return table | {content: token for token, content in self._contents.items()}
