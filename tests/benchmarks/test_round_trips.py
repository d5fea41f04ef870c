"""Round trips: what is not encoded again would have given the same ids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyharness.benchmarks.checks import round_trips
from pyharness.benchmarks.checks.round_trips import RoundTrips
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.types import Ids, Tokens


class Swapping(RawBytes):
    """Decodes capitals to small letters, and "qq" to something that is longer each time."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        self.calls += 1
        return super().encode_batch([text.lower() for text in texts], threads)

    def decode(self, ids: Ids) -> bytes:
        return super().decode(ids).replace(b"qq", b"qqq")


def test_shares_are_those_of_encoding_everything_again() -> None:
    batches = [["plain", "text", ""], ["Capital", "plain", "qq", "Qq"], ["é ẞ"]]
    tokenizer = Swapping()
    trips, idempotent = RoundTrips(tokenizer), 0
    for texts in batches:
        tokens = tokenizer.encode_batch(texts)
        trips.check(texts, tokens)
        back = tokenizer.encode_batch(
            [tokenizer.decode(tokens.document(index)).decode() for index in range(len(texts))]
        )
        idempotent += sum(np.array_equal(tokens.document(i), back.document(i)) for i in range(len(texts)))
    found = {one.metric: one.value for one in round_trips.measurements(trips.arrays())}
    assert found["idempotent_share"] == idempotent / 8 == 6 / 8
    assert found["exact_round_trip_share"] == 4 / 8
    assert tokenizer.calls == 2 * len(batches) + 2, "the first batch comes back whole"
