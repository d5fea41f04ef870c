"""Training of byte-pair encodings over weighted pieces: plain BPE, and Scaffold-BPE with its demolition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.types import DemolitionRule, Ids, InputError, Offsets, TieRule, offsets_of


@dataclass(frozen=True, slots=True)
class WeightedPieces:
    """Distinct pieces of a corpus as base symbols, and the count of each.

    Piece ``i`` is ``symbols[offsets[i]:offsets[i + 1]]`` and occurs ``weights[i]`` times. Base symbol ``s`` is the
    bytes ``data[data_offsets[s]:data_offsets[s + 1]]``. The order of the pieces affects only the tie rule
    ``first_seen``.

    >>> pieces = WeightedPieces.of_characters({"née": 2, "en": 1})
    >>> pieces.symbols.tolist(), pieces.offsets.tolist(), pieces.weights.tolist()  # the alphabet is e, n, é
    ([1, 2, 0, 0, 1], [0, 3, 5], [2, 1])
    """

    symbols: Ids  # uint32 [total symbols]
    offsets: Offsets  # int64 [pieces + 1]
    weights: NDArray[np.uint64]  # [pieces]
    data: NDArray[np.uint8]  # [bytes of all base symbols]
    data_offsets: Offsets  # int64 [base symbols + 1]
    prefix: str = ""  # of symbols that do not start a piece; their strings have it
    suffix: str = ""  # of symbols that end a piece
    bare: Ids | None = None  # uint32 [base symbols]: each without prefix and suffix; None: there are no affixes

    @property
    def text_lengths(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return uint64 [base symbols]: bytes of the text that each stands for, and characters that start in it."""
        begun = offsets_of((self.data & 0xC0) != 0x80)
        lengths, characters = np.diff(self.data_offsets), np.diff(begun[self.data_offsets])
        if self.bare is not None:
            lengths, characters = lengths[self.bare], characters[self.bare]
        return lengths.astype(np.uint64), characters.astype(np.uint64)

    @classmethod
    def of_bytes(cls, pieces: Mapping[bytes, int]) -> WeightedPieces:
        """Build pieces over the 256 bytes: base symbol ``b`` is the byte ``b``.

        Raises:
            InputError: a weight is negative, or not below 2^63.
        """
        symbols = np.frombuffer(b"".join(pieces), np.uint8).astype(np.uint32)
        alphabet = np.arange(257, dtype=np.int64)
        return cls(
            symbols, offsets_of(list(map(len, pieces))), _weights(pieces), alphabet[:256].astype(np.uint8), alphabet
        )

    @classmethod
    def of_characters(cls, pieces: Mapping[str, int], alphabet: Sequence[str] | None = None) -> WeightedPieces:
        """Build pieces over characters; base symbols are the ``alphabet``, or all characters in code point order.

        Raises:
            InputError: a piece has a character that is not in the alphabet; a weight is negative, or not below 2^63.
        """
        text = "".join(pieces)
        symbols = sorted(set(text)) if alphabet is None else list(alphabet)
        points = np.array([ord(character) for character in symbols], np.uint32)
        order = np.argsort(points, kind="stable")
        spelled = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        at = np.searchsorted(points, spelled, sorter=order)
        at = order[np.minimum(at, len(order) - 1)] if len(order) else np.zeros(len(spelled), np.int64)
        if len(spelled) and (not len(points) or (wrong := points[at] != spelled).any()):
            missing = text[0] if not len(points) else text[int(np.argmax(wrong))]
            raise InputError(f"the alphabet has no {missing!r}; add it, or train on bytes")
        encoded = [character.encode() for character in symbols]
        data = np.frombuffer(b"".join(encoded), np.uint8)
        offsets = offsets_of([len(piece) for piece in pieces])
        data_offsets = offsets_of([len(data) for data in encoded])
        return cls(at.astype(np.uint32), offsets, _weights(pieces), data, data_offsets)


def _weights(pieces: Mapping[bytes, int] | Mapping[str, int]) -> NDArray[np.uint64]:
    for piece, weight in pieces.items():
        if not 0 <= weight < 1 << 63:
            raise InputError(f"piece {piece!r} has weight {weight}; it must be in 0..2^63 - 1")
    return np.fromiter(pieces.values(), np.uint64, len(pieces))


@dataclass(frozen=True, slots=True)
class ScaffoldEvent:
    """A token that left the vocabulary (``demoted``) or came back (``promoted``), after ``rules`` merges.

    >>> pieces = WeightedPieces.of_bytes({b"low": 10, b"est": 5})
    >>> train(pieces, 258, scaffold=True, keep_events=True).events  # every lo became a low; es occurs 5 times
    (ScaffoldEvent(kind='demoted', token=256, rules=2, frequency=0, head=5),)
    """

    kind: Literal["demoted", "promoted"]
    token: int
    rules: int
    frequency: int  # of the token at that moment
    head: int  # count at the head of the queue at that moment


@dataclass(frozen=True, slots=True)
class TrainedBpe:
    """Result of a training. Tokens are numbered: base symbols first, then one per new string, in rank order.

    Token ``t`` is the bytes ``data[offsets[t]:offsets[t + 1]]``. Rule ``r`` merges ``rules[r, 0]`` and ``rules[r, 1]``
    into ``rules[r, 2]``; its pair had ``counts[r]`` occurrences when it was chosen. ``complete`` is False if pairs ran
    out before the vocabulary had its size.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> trained.rules.tolist(), trained.counts.tolist(), trained.complete
    ([[117, 103, 256], [104, 256, 257], [112, 256, 258]], [8, 5, 3], True)
    >>> trained[257], len(trained), trained.vocab_size
    (b'hug', 259, 259)
    """

    data: NDArray[np.uint8]
    offsets: Offsets
    rules: NDArray[np.uint32]  # [rules, 3]
    counts: NDArray[np.uint64]  # [rules]
    scaffold: NDArray[np.bool_]  # [tokens]: intermediate tokens, never in the output; all False in plain BPE
    events: tuple[ScaffoldEvent, ...]
    complete: bool
    alphabet_size: int  # base symbols: the first tokens
    prefix: str = ""  # of the pieces, like the following fields
    suffix: str = ""
    bare: Ids | None = None

    def __len__(self) -> int:
        """Number of tokens, scaffold ones included."""
        return len(self.offsets) - 1

    @property
    def vocab_size(self) -> int:
        """Number of tokens, without the scaffold ones."""
        return len(self) - int(self.scaffold.sum())

    def __getitem__(self, token: int) -> bytes:
        return self.data[self.offsets[token] : self.offsets[token + 1]].tobytes()

    def demolition(self, rule: DemolitionRule = "eq6") -> tuple[Ids, Offsets]:
        """Return the output of each token: token ``t`` becomes ``ids[offsets[t]:offsets[t + 1]]``.

        ``eq6``: the parts it was merged from, in turn (arXiv 2404.17808, Eq. 6). ``shortest``: the fewest normal tokens
        with its bytes, then the smallest ids; an ablation, not the paper's.
        """
        return _core.demolition(
            data=self.data, token_offsets=self.offsets, rules=self.rules, scaffold=self.scaffold, rule=rule
        )


def train(
    pieces: WeightedPieces,
    vocab_size: int,
    *,
    scaffold: bool = False,
    tie_rule: TieRule = "smallest_ids",
    min_frequency: int = 1,
    max_token_length: int | None = None,
    max_token_characters: int | None = None,
    keep_events: bool = False,
    progress: Callable[[int], None] | None = None,
) -> TrainedBpe:
    """Merge the most frequent pair repeatedly, until there are ``vocab_size`` tokens or no pairs left.

    Counts are exact: a pair occurs wherever its parts are adjacent, and the result equals a complete recount before
    each merge. With ``scaffold``, tokens are demoted if their own merges made them rarer than the next candidate;
    they do not count towards ``vocab_size``.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 258)
    >>> [trained[token] for token in (256, 257)]
    [b'ug', b'hug']
    >>> scaffold = train(WeightedPieces.of_bytes({b"low": 10, b"est": 5}), 258, scaffold=True)
    >>> [scaffold[token] for token in range(256, len(scaffold))], scaffold.scaffold[256:].tolist()
    ([b'lo', b'low', b'es'], [True, False, False])

    Args:
        pieces: the training data; no pair crosses pieces.
        vocab_size: number of tokens, base symbols included.
        scaffold: train Scaffold-BPE.
        tie_rule: of pairs with equal counts, ``smallest_ids`` takes the smallest ids (as ``tokenizers``).
            ``first_seen`` takes the first in the text as merged so far (as minbpe). ``lexicographic`` takes the
            smallest bytes of the left, then the right part. ``sentencepiece`` takes the shortest piece in code points,
            then the smallest bytes.
        min_frequency: pairs that occur less often are not merged.
        max_token_length: in bytes, without prefixes and suffixes; longer tokens are not made.
        max_token_characters: in characters that start in a token; longer tokens are not made.
        keep_events: record every demotion and promotion.
        progress: called repeatedly with the number of tokens so far.

    Raises:
        InputError: ``vocab_size`` is smaller than the alphabet, an option is out of range, or ``scaffold`` is combined
            with affixes or another tie rule than ``smallest_ids``.
        ValueError: the arrays of the pieces do not fit each other, or the tie rule is unknown.

    Source: docs/algorithms.md "Byte-pair encoding" and "Scaffold-BPE" (arXiv 2404.17808, Algorithm 1).
    """
    base = len(pieces.data_offsets) - 1
    if not base <= vocab_size < 1 << 31:
        raise InputError(
            f"vocab_size is {vocab_size}; it must be at least {base}, the size of the alphabet, below 2^31"
        )
    for name, value in (
        ("min_frequency", min_frequency),
        ("max_token_length", max_token_length),
        ("max_token_characters", max_token_characters),
    ):
        if value is not None and not 1 <= value < 1 << 63:
            raise InputError(f"{name} is {value:,}; it must be at least 1 and below 2^63")
    if scaffold and tie_rule != "smallest_ids":
        raise InputError(f"Scaffold-BPE is defined for the tie rule 'smallest_ids', not {tie_rule!r}")
    if scaffold and pieces.bare is not None:
        raise InputError("Scaffold-BPE is defined for symbols without prefix and suffix")
    result = _core.train_bpe(
        symbols=pieces.symbols, offsets=pieces.offsets, weights=pieces.weights,
        data=pieces.data, token_offsets=pieces.data_offsets,
        vocabulary_size=vocab_size, min_frequency=min_frequency, max_token_length=max_token_length or 0,
        max_token_characters=max_token_characters or 0, prefix=pieces.prefix, text_lengths=pieces.text_lengths,
        tie_rule=tie_rule, scaffold=scaffold, keep_events=keep_events, progress=progress,
    )  # fmt: skip
    tokens = len(result["offsets"]) - 1
    flags = result.get("scaffold", np.zeros(tokens, np.bool_))
    return TrainedBpe(
        result["data"], result["offsets"], result["rules"], result["counts"], flags,
        tuple(ScaffoldEvent(*event) for event in result.get("events", ())),
        complete=tokens - int(flags.sum()) >= vocab_size,
        alphabet_size=base, prefix=pieces.prefix, suffix=pieces.suffix, bare=pieces.bare,
    )  # fmt: skip
