"""Text that is held out from a training, to judge the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from pyharness.corpora.texts import Text
from pyharness.features.training.trainers.phases import Phases
from pyharness.types import InputError, TrainingProgress, digest_of


@dataclass(slots=True)
class HeldOut:
    """Text to judge a training on, and the digests of its documents: ``apart`` refuses a corpus with any of them."""

    text: Text
    allow: bool = False  # whether documents may also be in the corpus
    digests: set[bytes] = field(default_factory=set)
    bytes: int = 0  # of the text

    @classmethod
    def read(cls, text: Text, *, allow: bool, progress: Callable[[TrainingProgress], None] | None = None) -> HeldOut:
        """Read the text once; ``progress`` gets the amount read.

        Raises:
            InputError: it is empty, or cannot be read.
        """
        held = cls(text, allow)
        report = Phases(progress).gauge("reading held-out text", "bytes")
        for document in text.documents():
            held.digests.add(digest_of(document))
            held.bytes += len(document.encode())
            report(held.bytes)
        if not held.digests:
            raise InputError("the held-out text is empty: there is nothing to judge on")
        return held

    def apart(self, texts: Iterable[str]) -> Iterator[str]:
        """Yield the texts of the corpus.

        Raises:
            InputError: after the last text: documents are both held out and in the corpus, and ``allow`` is not set.
        """
        shared = count = 0
        for text in texts:
            count += 1
            shared += digest_of(text) in self.digests
            yield text
        if shared and not self.allow:
            raise InputError(
                f"{shared:,} of {count:,} documents of the corpus are held out, too: what is learnt from them cannot "
                "be judged on them; leave them out of one, such as with shard:0/5:..., or give --allow-overlap"
            )
