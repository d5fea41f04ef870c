"""Ids of documents, laid end to end; vocabularies and merge rules as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:  # every module imports these, even for ``--help``, and NumPy takes 0.1 s
    import numpy as np
    from numpy.typing import NDArray

Ids: TypeAlias = "NDArray[np.uint32]"

Offsets: TypeAlias = "NDArray[np.int64]"


def offsets_of(lengths: Sequence[int] | NDArray[Any]) -> Offsets:
    """Return the starts of parts of these lengths, laid end to end, and the end of the last one.

    Args:
        lengths: integers, none negative, [parts]; booleans count as 0 and 1.

    Returns:
        int64 [parts + 1]: part ``k`` is ``offsets[k]:offsets[k + 1]``.

    >>> offsets_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    import numpy as np

    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token ids of a batch of documents, laid end to end.

    Document ``d`` is ``ids[offsets[d]:offsets[d + 1]]``.
    """

    ids: Ids  # uint32 [n_tokens]
    offsets: Offsets  # int64 [n_documents + 1], starts at 0

    @classmethod
    def from_lists(cls, lists: Sequence[Sequence[int] | Ids]) -> Tokens:
        """Concatenate one list (or array) of ids per document."""
        import numpy as np

        offsets = offsets_of([len(ids) for ids in lists])
        ids = np.empty(int(offsets[-1]), np.uint32)
        for document, start, stop in zip(lists, offsets[:-1], offsets[1:], strict=True):
            ids[start:stop] = document
        return cls(ids, offsets)

    def document(self, index: int) -> Ids:
        """Return the ids of one document, without a copy."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1


def cut(data: bytes, offsets: Offsets) -> list[bytes]:
    """Cut bytes at offsets: int64 [n + 1] give n strings.

    >>> import numpy as np
    >>> cut(b"abc", np.array([0, 2, 3]))
    [b'ab', b'c']
    """
    return [data[start:end] for start, end in pairwise(offsets.tolist())]


class TokenKind(IntEnum):
    """Meaning of an id. All kinds but ``SPECIAL``, ``UNKNOWN`` and ``ABSENT`` count towards V."""

    NORMAL = 0
    SPECIAL = 1  # control and special tokens: never added when measuring
    ADDED = 2  # non-special added tokens, user-defined pieces: matched before the model, and counted
    BYTE_FALLBACK = 3  # the 256 <0xNN> pieces of a SentencePiece model
    UNKNOWN = 4
    ABSENT = 5  # a gap: no token has this id
    UNUSED = 6  # SentencePiece "unused" pieces: in the file, never emitted


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Bytes and kind of every id. ``n`` is the largest id + 1; ids may have gaps.

    Token ``t`` contributes ``data[offsets[t]:offsets[t + 1]]`` to decoded text (in the middle of a text):
    ``▁the`` is `` the``, ``##ing`` is ``ing`` and ``<0x41>`` is ``A``.
    """

    data: NDArray[np.uint8]  # [total bytes]
    offsets: Offsets  # int64 [n + 1]
    kinds: NDArray[np.uint8]  # TokenKind [n]

    @classmethod
    def from_tokens(cls, tokens: Mapping[int, bytes], kinds: Mapping[int, TokenKind]) -> Vocabulary:
        """Build from ``id -> bytes``; an id without a kind is NORMAL, one without bytes ABSENT."""
        import numpy as np

        size = max(tokens, default=-1) + 1
        ids = np.fromiter(tokens, np.int64, len(tokens))
        offsets = np.zeros(size + 1, np.int64)
        offsets[ids + 1] = np.fromiter(map(len, tokens.values()), np.int64, len(tokens))
        np.cumsum(offsets, out=offsets)
        table = np.full(size, TokenKind.ABSENT, np.uint8)
        table[ids] = TokenKind.NORMAL
        for token, kind in kinds.items():
            if token in tokens:
                table[token] = kind
        data = b"".join(map(tokens.__getitem__, np.sort(ids).tolist()))
        return cls(np.frombuffer(data, np.uint8), offsets, table)

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, token: int) -> bytes:
        return self.data[self.offsets[token] : self.offsets[token + 1]].tobytes()

    def strings(self) -> list[bytes]:
        """Return the bytes of all ids, faster than one by one."""
        return cut(self.data.tobytes(), self.offsets)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """bool [n]: the ids that make up V (distinct, non-special, not unknown, present)."""
        import numpy as np

        return ~np.isin(self.kinds, (TokenKind.SPECIAL, TokenKind.UNKNOWN, TokenKind.ABSENT))


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class MergeModel:
    """The BPE rules of a tokenizer, in the model's own symbols, for the merge graph and the self-tokenization test.

    The model string of token ``t`` is ``data[offsets[t]:offsets[t + 1]]``. For byte-level models it is the token's
    bytes (each byte one base symbol); for character-level models it is the piece in UTF-8 (``▁the``), each
    character one base symbol. The final character carries the model's suffix (CLIP's ``</w>``) if a token ends with it.

    ``rules`` (a list of merges): uint32 [n_rules, 3] rows (left id, right id, result id) in rank order.
    ``ranks`` (tiktoken, SentencePiece): uint32 [n], lower merges first, 2**32 - 1 = never the result of a merge;
    any two adjacent symbols whose concatenation is in the vocabulary may merge. Exactly one of the two is set.

    ``base`` uint32 [total], ``base_offsets`` int64 [n + 1]: the ids of the base symbols that each token starts from.
    ``tested`` bool [n]: the ids the test is about, all ``NORMAL``, not empty and written in base symbols.
    ``atomic`` bool [n]: the ids that need no rule: base symbols.
    """

    data: NDArray[np.uint8]
    offsets: Offsets
    base: Ids
    base_offsets: Offsets
    tested: NDArray[np.bool_]
    atomic: NDArray[np.bool_]
    rules: NDArray[np.uint32] | None = None
    ranks: NDArray[np.uint32] | None = None

    def __getitem__(self, token: int) -> bytes:
        return self.data[self.offsets[token] : self.offsets[token + 1]].tobytes()

    def strings(self) -> list[bytes]:
        """Return the strings of all tokens, faster than one by one."""
        return cut(self.data.tobytes(), self.offsets)
