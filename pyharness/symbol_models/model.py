"""An interpolated n-gram over ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.symbol_models import file_format
from pyharness.symbol_models.file_format import HIGHEST_ORDER, LARGEST_ALPHABET, SymbolTrie
from pyharness.system import atomic_file
from pyharness.types import InputError, Offsets

SymbolIds: TypeAlias = NDArray[np.uint8] | NDArray[np.uint32]
MOST_BYTES = 4 << 30  # of the tables of n-grams, while a model is trained


@dataclass(frozen=True, slots=True)
class Scores:
    """What a model says of the symbols of some documents, in nats."""

    entropy: NDArray[np.float64]  # [symbols], of the prediction of symbol i from those before it in its document
    nll: NDArray[np.float64]  # [symbols], -ln P(symbol i | those before it in its document)
    next_entropy: NDArray[np.float64]  # [documents], of the prediction of a symbol after the last


class SymbolModel:
    """Probabilities of the next symbol after the ``order - 1`` symbols before it: an n-gram with n = ``order``.

    Symbols are ids 0..``alphabet_size - 1``: bytes, or tokens of any vocabulary. The model is Witten's and Bell's,
    interpolated down to the uniform distribution, so every symbol of the alphabet has a probability; its entropies are
    exact sums over the alphabet. Neither threads nor batches change a bit of it, or of what it says.

    Source: docs/algorithms.md "Symbol models".

    >>> import numpy as np
    >>> text = np.frombuffer(b"abracadabra", np.uint8)
    >>> model = SymbolModel.train([(text, np.array([0, len(text)]))], alphabet_size=256, order=2)
    >>> scores = model.score(np.frombuffer(b"abc", np.uint8), np.array([0, 3]))
    >>> scores.nll.round(3).tolist(), scores.entropy.round(3).tolist()
    ([1.159, 1.079, 3.852], [3.292, 2.389, 1.574])
    """

    def __init__(self, native: _core.SymbolModel) -> None:
        """Take a native model; :meth:`train` and :meth:`load` make one."""
        self._native = native

    @classmethod
    def train(
        cls,
        batches: Iterable[tuple[SymbolIds, Offsets]],
        alphabet_size: int,
        order: int = 3,
        threads: int = 2,
        max_bytes: int = MOST_BYTES,
    ) -> SymbolModel:
        """Count the n-grams of documents that come in batches. Memory grows with the distinct ones, not with the text.

        Args:
            batches: ids (uint8 or uint32 [symbols]) of documents end to end, and their offsets (int64
                [documents + 1]). No n-gram crosses the end of a document.
            alphabet_size: 1..2**25; symbols that never occur have probabilities, too.
            order: 1..5; ``order - 1`` symbols before are looked at.
            threads: 1..1024.
            max_bytes: what the counts may take before training is refused.

        Raises:
            InputError: order or alphabet are out of range; an id is not of the alphabet; there is no symbol at all; the
                distinct n-grams take more than ``max_bytes``.
            TypeError: an array has another dtype.
        """
        check(alphabet_size, order)
        with _native_errors():
            counter = _core.SymbolCounter(alphabet_size, order, max_bytes)
            for ids, offsets in batches:
                counter.add(ids, offsets, threads)
            if not counter.symbols():
                raise InputError("there is no symbol to train a symbol model on: every document is empty")
            return cls(counter.take_model(threads))

    @classmethod
    def load(cls, path: Path, alphabet_size: int | None = None, threads: int = 1) -> SymbolModel:
        """Read a model that :meth:`save` wrote; with ``alphabet_size``, of that alphabet only.

        Raises:
            InputError: there is none, it was cut off or altered, or its alphabet is another. Sizes are checked before
                memory is taken for them.
        """
        trie = file_format.read(path, alphabet_size)
        try:
            return cls(_core.SymbolModel(trie, threads))
        except ValueError as error:  # somebody made counts up, and the digest to them
            raise InputError(f"{str(path)!r} is no symbol model: {error}") from None

    def save(self, path: Path, *, overwrite: bool = False) -> None:
        """Write the counts into one file, whole or not at all.

        Raises:
            InputError: it cannot be written, or is there and ``overwrite`` is not set.
        """
        content = b"".join(file_format.parts(self._trie))
        atomic_file.write(path, content, overwrite=overwrite, advice="replace it with --force, or choose another --out")

    @property
    def _trie(self) -> SymbolTrie:
        return SymbolTrie(*self._native.trie())

    @property
    def alphabet_size(self) -> int:
        """How many symbols there are."""
        return self._trie.alphabet_size

    @property
    def order(self) -> int:
        """The longest n-gram: one symbol more than are looked at."""
        return len(self._trie.level_sizes)

    @property
    def distinct_ngrams(self) -> tuple[int, ...]:
        """How many n-grams of 1, 2, .. ``order`` symbols were seen."""
        return tuple(self._trie.level_sizes.tolist())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of alphabet, order and counts, in hexadecimal: the same for the same text, however it came."""
        return file_format.digest_of(self._trie).hex()

    def score(self, ids: SymbolIds, offsets: Offsets, threads: int = 1) -> Scores:
        """Entropy and negative log-likelihood of every symbol of some documents, in nats.

        Args:
            ids: uint8 or uint32 [symbols], all documents end to end.
            offsets: int64 [documents + 1]. Nothing of a document is known in the next.
            threads: 1..1024.

        Raises:
            InputError: an id is not of the alphabet, or offsets do not fit.
            TypeError: an array has another dtype.
        """
        with _native_errors():
            return Scores(*self._native.score(ids, offsets, threads))

    def probabilities(self, context: Sequence[int]) -> NDArray[np.float64]:
        """Probability of every symbol after these (float64 [alphabet_size]), from the counts: in time of the alphabet.

        Raises:
            InputError: a symbol is not of the alphabet.
        """
        if any(not 0 <= symbol < self.alphabet_size for symbol in context):
            raise InputError(f"a symbol of the context is not one of 0..{self.alphabet_size - 1}")
        return self._native.probabilities(np.array(context, np.uint32))


def check(alphabet_size: int, order: int) -> None:
    """Refuse a model that cannot be.

    Raises:
        InputError: order or alphabet are out of range.
    """
    if not 1 <= order <= HIGHEST_ORDER:
        raise InputError(
            f"a symbol model of order {order} cannot be trained; choose 1..{HIGHEST_ORDER} (order n looks at n - 1 "
            "symbols before)"
        )
    if not 1 <= alphabet_size <= LARGEST_ALPHABET:
        raise InputError(f"an alphabet of {alphabet_size:,} symbols is out of range: 1..{LARGEST_ALPHABET:,}")


@contextmanager
def _native_errors() -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        advice = ": train on less text, or with a lower order" if "distinct n-grams" in str(error) else ""
        raise InputError(f"{error}{advice}") from None
