"""Slow references of continued BPE: all pieces are encoded again after every new rule."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from oracles.bpe import Rule, characters_in, encode, encode_ranks, merge_pair, order_of_ties, pair_counts, train


@dataclass
class Grown:
    """Strings by id, rules (rules form) or ranks (ranks form) of a model and of what it has learnt."""

    strings: dict[int, bytes]
    rules: list[Rule] | None = None
    ranks: dict[int, int] | None = None
    whole_pieces: bool = False
    learnt: list[Rule] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)

    def encode(self, piece: bytes) -> list[int]:
        ids: dict[bytes, int] = {}
        for token in sorted(self.strings, reverse=True):
            ids[self.strings[token]] = token
        if self.whole_pieces and piece in ids:
            return [ids[piece]]
        base = [ids[bytes([byte])] for byte in piece]
        if self.rules is not None:
            return encode(base, self.rules)
        assert self.ranks is not None
        return encode_ranks(base, self.strings, self.ranks)

    def learn(self, left: int, right: int, count: int, base_ids: int) -> None:
        ids = {string: token for token, string in reversed([*self.strings.items()])}
        string = self.strings[left] + self.strings[right]
        if (result := ids.get(string)) is None:
            result = base_ids + len(self.added)
            self.strings[result] = string
            self.added.append(result)
            if self.ranks is not None:
                self.ranks[result] = 1 + max((rank for rank in self.ranks.values()), default=0)
        self.learnt.append((left, right, result))
        self.counts.append(count)
        if self.rules is not None:
            self.rules.append((left, right, result))


def extend(
    base: Grown,
    base_ids: int,
    words: Mapping[bytes, int],
    tokens: int,
    *,
    ties: str = "smallest_ids",
    min_frequency: int = 1,
    max_length: int | None = None,
    max_characters: int | None = None,
    denies: Callable[[bytes], bool] = lambda _: False,
) -> Grown:
    """Choose the most frequent pair of what the model as extended so far makes of the words, again and again."""
    model = Grown(
        dict(base.strings), None if base.rules is None else list(base.rules),
        None if base.ranks is None else dict(base.ranks), base.whole_pieces,
    )  # fmt: skip
    while len(model.added) < tokens:
        counts = pair_counts([model.encode(word) for word in words], words.values())
        ruled = {(left, right) for left, right, _ in model.rules or ()}
        allowed = {}
        for pair, count in counts.items():
            string = model.strings[pair[0]] + model.strings[pair[1]]
            if (
                count >= max(1, min_frequency)
                and pair not in ruled
                and (max_length is None or len(string) <= max_length)
                and (max_characters is None or characters_in(string) <= max_characters)
                and not denies(string)
            ):
                allowed[pair] = count
        if not allowed:
            break
        order = order_of_ties(ties, model.strings, allowed)
        left, right = min(allowed, key=lambda pair: (-allowed[pair], order(pair)))
        model.learn(left, right, allowed[left, right], base_ids)
    return model


def continued(
    strings: Mapping[int, bytes],
    rules: Sequence[Rule],
    words: Mapping[bytes, int],
    tokens: int,
    min_frequency: int = 1,
    ties: str = "smallest_ids",
) -> tuple[dict[int, bytes], list[Rule], list[int]]:
    """The reading of the specification: nothing merges what a rule makes of a string that the model has."""
    vocabulary, ruled = dict(strings), {(left, right) for left, right, _ in rules}
    ids = {string: token for token, string in vocabulary.items()}
    atoms = {string[0]: token for string, token in ids.items() if len(string) == 1}
    sequences = [encode([atoms[byte] for byte in word], rules) for word in words]
    learnt: list[Rule] = []
    counted: list[int] = []
    added = 0
    while added < tokens:
        counts = {
            pair: count
            for pair, count in pair_counts(sequences, words.values()).items()
            if count >= max(1, min_frequency) and pair not in ruled
        }
        if not counts:
            break
        order = order_of_ties(ties, vocabulary, counts)
        pair = min(counts, key=lambda p: (-counts[p], order(p)))
        string = vocabulary[pair[0]] + vocabulary[pair[1]]
        if (new := ids.get(string)) is None:
            new = max(vocabulary) + 1
            vocabulary[new] = string
            ids[string] = new
            added += 1
        learnt.append((*pair, new))
        counted.append(counts[pair])
        ruled.add(pair)
        sequences = [merge_pair(sequence, pair, new) for sequence in sequences]
    return vocabulary, learnt, counted


def naive(
    strings: Mapping[int, bytes],
    rules: Sequence[Rule],
    words: Mapping[bytes, int],
    tokens: int,
    auxiliary_size: int,
    min_frequency: int = 1,
    taken: Collection[bytes] = (),
) -> tuple[list[bytes], list[Rule]]:
    """Strings of another training that are new, and every rule that they can have."""
    other, _ = train(words, auxiliary_size, min_frequency=min_frequency)
    vocabulary = dict(strings)
    ids = {string: token for token, string in vocabulary.items()}
    added: list[int] = []
    for token in sorted(other):
        if len(added) < tokens and other[token] not in ids and other[token] not in taken:
            new = max(vocabulary) + 1
            vocabulary[new] = other[token]
            ids[other[token]] = new
            added.append(new)
    ruled = {(left, right) for left, right, _ in rules}
    learnt: list[Rule] = []
    for token in added:
        string = vocabulary[token]
        pairs = [(ids.get(string[:cut]), ids.get(string[cut:])) for cut in range(1, len(string))]
        for left, right in reversed(pairs):  # the longer left part first
            if left is not None and right is not None and (left, right) not in ruled:
                ruled.add((left, right))
                learnt.append((left, right, token))
    return [vocabulary[token] for token in added], learnt
