"""Round trips: what is decoded is encoded once more, also where it is the same text."""

from __future__ import annotations

from collections.abc import Sequence

from pyharness.benchmarks.checks import round_trips
from pyharness.benchmarks.checks.round_trips import RoundTrips
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.types import Ids, Tokens


class Changing(RawBytes):
    """Encodes "drift" otherwise from the second call on, and decodes "qq" to something that is longer each time."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        self.calls += 1
        late = {"drift": "drifted"} if self.calls > 1 else {}
        return super().encode_batch([late.get(text, text) for text in texts], threads)

    def decode(self, ids: Ids) -> bytes:
        return super().decode(ids).replace(b"qq", b"qqq")


def test_a_tokenizer_that_gives_other_ids_each_time_is_not_idempotent() -> None:
    texts = ["plain", "drift", "qq", ""]
    tokenizer = Changing()
    trips = RoundTrips(tokenizer)
    trips.check(texts, tokenizer.encode_batch(texts))
    found = {one.metric: one.value for one in round_trips.measurements(trips.arrays())}
    assert (found["exact_round_trip_share"], found["idempotent_share"]) == (3 / 4, 2 / 4)
