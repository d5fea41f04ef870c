"""PickyBPE (Chizhov et al. 2024, arXiv 2409.04599): BPE that takes tokens out again which others have used up.

After a merge of a and b, each of them that is no byte is removed if its IoS (intersection over self), the share of its
occurrences that the merge took, is above the threshold. What is left of it in the text is written as its parts, which
may merge again. Counts are exact. Ties, and what the authors' code does otherwise: docs/algorithms.md "PickyBPE".
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pyharness.bpe import WeightedPieces
from pyharness.features.paper_trainers.event_model import Event
from pyharness.features.training.trainers.likelihood import Pair, merge_pair
from pyharness.types import cut


class PairQueue:
    """Counts of pairs, and the pair with the highest count; of several, the one that has been here longest.

    A pair comes in when it is first counted, be it 0 times. It goes when a merge leaves nothing of it, and comes in
    again if it is counted again.
    """

    def __init__(self) -> None:
        self._counts: dict[Pair, int] = {}
        self._arrivals: dict[Pair, int] = {}
        self._arrived = 0
        self._heap: list[tuple[int, int, Pair]] = []  # some are out of date

    def add(self, pair: Pair, count: int) -> None:
        """Count a pair further, or let it in."""
        if pair not in self._counts:
            self._counts[pair] = 0
            self._arrivals[pair] = self._arrived = self._arrived + 1
        self._counts[pair] += count
        heapq.heappush(self._heap, (-self._counts[pair], self._arrivals[pair], pair))

    def take(self, pair: Pair, count: int) -> None:
        """Lower the count of a pair, which goes if nothing is left."""
        self._counts[pair] -= count
        if self._counts[pair] <= 0:
            del self._counts[pair]

    def remove(self, pair: Pair) -> None:
        """Let a pair go."""
        del self._counts[pair]

    def first(self) -> tuple[Pair, int] | None:
        """Return the pair to merge and its count; None if no pair occurs."""
        while self._heap:
            negative, arrival, pair = self._heap[0]
            count = self._counts.get(pair, 0)
            if arrival != self._arrivals[pair] or not count:
                heapq.heappop(self._heap)
            elif count != -negative:
                heapq.heapreplace(self._heap, (-count, arrival, pair))
            else:
                return pair, count
        return None

    def skip(self) -> None:
        """Never return the first pair again, unless it is counted further."""
        heapq.heappop(self._heap)


class PickyTraining:
    """The text as merged so far, the tokens and the events that made them.

    >>> pieces = WeightedPieces.of_bytes({b"low": 10, b"est": 5})
    >>> training = PickyTraining(pieces, threshold=0.9)
    >>> for _ in range(2):
    ...     _ = training.merge()
    >>> training.strings[256:], training.present[256:], training.size
    ([b'lo', b'low'], [False, True], 257)

    Args:
        pieces: over the 256 bytes, in their order.
        threshold: IoS above which a token is removed.
        max_token_length: in bytes; longer tokens are not made.
    """

    def __init__(self, pieces: WeightedPieces, threshold: float, max_token_length: int | None = None) -> None:
        symbols, ends = pieces.symbols.tolist(), pieces.offsets.tolist()
        self.strings = cut(pieces.data.tobytes(), pieces.data_offsets)
        base = len(self.strings)
        self.present = [True] * base
        self.events: list[Event] = []
        self.size = base  # tokens that are present
        self._base, self._threshold, self._longest = base, threshold, max_token_length
        self._numbers = {string: number for number, string in enumerate(self.strings)}
        self._parts: list[Pair] = [(number, number) for number in range(base)]  # of each token when it was first made
        self._texts = [symbols[start:end] for start, end in pairwise(ends)]
        self._weights: list[int] = pieces.weights.tolist()
        self._frequency = [0] * base  # in the text as merged so far
        self._holders: list[set[int]] = [set() for _ in range(base)]  # pieces that a token came into; none for bytes
        self._places: dict[Pair, set[int]] = {}  # pieces that a pair came into
        self._counts = PairQueue()
        first: Counter[Pair] = Counter()
        for place, (text, weight) in enumerate(zip(self._texts, self._weights, strict=True)):
            for symbol in text:
                self._frequency[symbol] += weight
            for pair in pairwise(text):
                first[pair] += weight
                self._places.setdefault(pair, set()).add(place)
        for pair, count in first.items():
            self._counts.add(pair, count)

    def merge(self) -> bool:
        """Merge the first pair, and remove what it has used up; return False if there is no pair to merge."""
        while (head := self._counts.first()) is not None:
            left, right = pair = head[0]
            string = self.strings[left] + self.strings[right]
            if self._longest is None or len(string) <= self._longest:
                break
            self._counts.skip()
        else:
            return False
        token = self._token_of(string, pair)
        self.events.append(Event(pair, (token,)))
        merged = self._replace(pair, token)
        self._frequency[token] += merged
        if left == right:
            self._frequency[left] -= 2 * merged
            self._remove_if_used_up(left, merged)
        else:
            for part in pair:
                self._frequency[part] -= merged
                self._remove_if_used_up(part, merged)
        return True

    def _token_of(self, string: bytes, pair: Pair) -> int:
        token = self._numbers.setdefault(string, len(self.strings))
        if token == len(self.strings):
            self.strings.append(string)
            self.present.append(False)
            self._parts.append(pair)
            self._frequency.append(0)
            self._holders.append(set())
        if not self.present[token]:
            self.present[token] = True
            self.size += 1
        return token

    def _replace(self, pair: Pair, token: int) -> int:
        """Merge a pair wherever it occurs; return how often that was."""
        gains: dict[Pair, int] = {}
        losses: dict[Pair, int] = {}
        merged = 0
        self._counts.remove(pair)
        for place in sorted(self._places.pop(pair)):
            before = self._texts[place]
            after = merge_pair(before, pair, token)
            if len(after) == len(before):
                continue  # the pair came into it, and has gone
            weight = self._weights[place]
            merged += (len(before) - len(after)) * weight
            old, new = Counter(pairwise(before)), Counter(pairwise(after))
            for one, count in (new - old).items():
                gains[one] = gains.get(one, 0) + count * weight
                self._places.setdefault(one, set()).add(place)
            for one, count in (old - new).items():
                if one != pair:
                    losses[one] = losses.get(one, 0) + count * weight
            self._texts[place] = after
            self._holders[token].add(place)
        for one, count in gains.items():
            self._counts.add(one, count)
        for one, count in losses.items():
            self._counts.take(one, count)
        return merged

    def _remove_if_used_up(self, token: int, merged: int) -> None:
        rest = self._frequency[token]
        if token < self._base or not merged / (rest + merged) > self._threshold:
            return
        self.present[token] = False
        self.size -= 1
        parts = tuple(self._present_parts(token))
        self.events.append(Event((token,), parts))
        self._frequency[token] = 0
        for part in parts:
            self._frequency[part] += rest
        for pair in pairwise(parts):
            self._counts.add(pair, rest)
        moved: dict[Pair, int] = {}
        for place in sorted(self._holders[token]):
            self._write_parts(place, token, parts, moved)
        self._holders[token] = set()
        for pair, count in moved.items():
            left, right = pair
            self._counts.add((parts[-1] if left == token else left, parts[0] if right == token else right), count)
            self._counts.remove(pair)

    def _write_parts(self, place: int, token: int, parts: Sequence[int], moved: dict[Pair, int]) -> None:
        text = self._texts[place]
        if token not in text:
            return
        for pair, count in Counter(pairwise(text)).items():
            if token in pair:
                moved[pair] = moved.get(pair, 0) + count * self._weights[place]
        text = self._texts[place] = [one for symbol in text for one in (parts if symbol == token else (symbol,))]
        for pair in pairwise(text):
            self._places.setdefault(pair, set()).add(place)
        for part in parts:
            if part >= self._base:
                self._holders[part].add(place)

    def _present_parts(self, token: int) -> Iterator[int]:
        """Yield the tokens that a removed one is written as: its parts, and theirs if they are removed too."""
        waiting = [token]
        while waiting:
            token = waiting.pop()
            if self.present[token]:
                yield token
            else:
                waiting.extend(reversed(self._parts[token]))
