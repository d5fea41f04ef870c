"""Scaffold-BPE by recounting everything before each step (docs/algorithms.md "Scaffold-BPE")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from oracles.bpe import Rule, merge_pair, pair_counts
from oracles.bpe import encode as encode_by_rank

BASE = 256


@dataclass
class Scaffold:
    """The expanded vocabulary, which of it is scaffold, and what happened, as ``ScaffoldEvent`` has it."""

    vocabulary: dict[int, bytes]
    scaffold: set[int] = field(default_factory=set)
    rules: list[Rule] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)  # of each rule's pair when it was chosen
    parts: dict[int, tuple[int, int]] = field(default_factory=dict)
    events: list[tuple[str, int, int, int, int]] = field(default_factory=list)


def train(words: Mapping[bytes, int], n_normal: int) -> Scaffold:
    model = Scaffold({byte: bytes([byte]) for byte in range(BASE)})
    ids = {data: token for token, data in model.vocabulary.items()}
    text = [(list(word), weight) for word, weight in words.items()]
    while len(model.vocabulary) - len(model.scaffold) < n_normal:
        frequency = frequencies(text)
        if (head := head_of(text, frequency, model.scaffold)) is None:
            break
        count, kind, item = head
        if kind == "token":
            model.scaffold.discard(item[0])
            model.events.append(("promoted", item[0], len(model.rules), count, count))
            continue
        data = model.vocabulary[item[0]] + model.vocabulary[item[1]]
        token = ids.setdefault(data, len(model.vocabulary))
        model.vocabulary[token] = data
        model.parts.setdefault(token, (item[0], item[1]))
        model.rules.append((item[0], item[1], token))
        model.counts.append(count)
        text = [(merge_pair(symbols, (item[0], item[1]), token), weight) for symbols, weight in text]
        frequency = frequencies(text)
        after = head_of(text, frequency, model.scaffold)
        highest = after[0] if after else 0
        for part in sorted(set(item)):
            if part >= BASE and part not in model.scaffold and frequency[part] < highest:
                model.scaffold.add(part)
                model.events.append(("demoted", part, len(model.rules), frequency[part], highest))
    return model


def frequencies(text: list[tuple[list[int], int]]) -> Counter[int]:
    found: Counter[int] = Counter()
    for symbols, weight in text:
        for symbol in symbols:
            found[symbol] += weight
    return found


def head_of(
    text: list[tuple[list[int], int]], frequency: Counter[int], scaffold: set[int]
) -> tuple[int, str, tuple[int, ...]] | None:
    """Return the highest count; a scaffold token goes before a pair, then the smallest ids."""
    pairs = pair_counts([symbols for symbols, _ in text], [weight for _, weight in text])
    queue = [(-count, 1, pair) for pair, count in pairs.items() if count > 0]
    tokens = [(-frequency[token], 0, (token,)) for token in scaffold if frequency[token] > 0]
    if not (candidates := [*queue, *tokens]):
        return None
    count, kind, item = min(candidates)
    return -count, ("token", "pair")[kind], item


def demolish(model: Scaffold, token: int) -> list[int]:
    """Equation 6."""
    if token not in model.scaffold:
        return [token]
    left, right = model.parts[token]
    return demolish(model, left) + demolish(model, right)


def encode(model: Scaffold, word: bytes) -> list[int]:
    return [normal for token in encode_by_rank(word, model.rules) for normal in demolish(model, token)]


def shortest(model: Scaffold, data: bytes) -> list[int]:
    """Fewest normal tokens, then the smallest ids."""
    ids = {value: token for token, value in model.vocabulary.items() if token not in model.scaffold}
    best: list[tuple[int, tuple[int, ...]] | None] = [(0, ())] + [None] * len(data)
    for end in range(1, len(data) + 1):
        for begin in range(end):
            if (before := best[begin]) is not None and data[begin:end] in ids:
                candidate = (before[0] + 1, (*before[1], ids[data[begin:end]]))
                best[end] = min(filter(None, (best[end], candidate)))
    found = best[-1]
    assert found is not None
    return list(found[1])
