"""States as integer arrays by name, the form kept with a record, and back.

A histogram by group is sparse: the ids that occur in each group in ascending order, each as the step from the one
before it, with their counts. Sums, which may pass 64 bits, are rows of a lower and an upper half.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import kernels
from pyharness.metrics.counting.state import MOST_IDS, CorpusState, Facts, Sums
from pyharness.statistics.jackknife import GROUPS
from pyharness.types import InputError, State, Tally, Tokens, Vocabulary, offsets_of

_HALF = 1 << 64
_COUNTER = "counter "
_RARE = 255  # the place of ids from which on one byte is too small


def compact(values: NDArray[Any]) -> NDArray[Any]:
    """Return non-negative integers in the smallest unsigned type that holds them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def of_sums(sums: Iterable[int]) -> NDArray[np.uint64]:
    """Return integers from 0 to below 2^128 as uint64 [n, 2]."""
    return np.array([(value % _HALF, value // _HALF) for value in map(int, sums)], np.uint64).reshape(-1, 2)


def sums_of(array: NDArray[Any]) -> Sums:
    """Invert ``of_sums``, for one integer per group; raise ``InputError`` for another shape."""
    if array.shape != (GROUPS, 2):
        raise InputError(f"sums of a state have the shape {array.shape}, not {(GROUPS, 2)}")
    integers = np.empty(GROUPS, np.object_)
    integers[:] = _integers_of(array)
    return integers


def _integers_of(array: NDArray[Any]) -> list[int]:
    return [int(low) + int(high) * _HALF for low, high in array.tolist()]


def of_tally(tally: Tally) -> dict[str, NDArray[np.uint64]]:
    """Return the arrays of a tally of a text that is read from its beginning."""
    counts = (getattr(tally, name) for name in _TALLIED)
    return {"tally": of_sums(counts), "tally beginnings": of_sums(tally.beginnings or ())}


def tally_of(arrays: State) -> Tally:
    """Invert ``of_tally``; raise ``InputError`` for another shape, or for counts that no text has."""
    counts, beginnings = (_integers_of(table(arrays, name, 2)) for name in ("tally", "tally beginnings"))
    # The last count is a digest.
    if len(counts) != len(_TALLIED) or min(*counts, *beginnings) < 0 or max(counts[:-1]) >= _HALF:
        raise InputError(f"a tally is not {len(_TALLIED)} counts that a text may have")
    return Tally(**dict(zip(_TALLIED, counts, strict=True)), beginnings=beginnings)


_TALLIED = ("documents", "bytes", "empty_documents", "cut_documents", "replaced_sequences", "digest")


def of_ids(ids: NDArray[np.uint32], name: str) -> dict[str, NDArray[Any]]:
    """Return ids [n] as the distinct ones, the most frequent first, and the place of every id among them.

    Places are small numbers: packed they take three quarters of what ids take, in half the time. From 255 on they
    are apart.
    """
    counts = np.bincount(ids)
    types = np.flatnonzero(counts)
    types = types[np.argsort(-counts[types], kind="stable")]
    places = np.zeros(len(counts), np.uint32)
    places[types] = np.arange(len(types), dtype=np.uint32)
    each = places[ids]
    rare = compact(each[each >= _RARE] - np.uint32(_RARE))
    return {f"{name} types": compact(types), f"{name} places": compact(np.minimum(each, _RARE)), f"{name} rare": rare}


def ids_of(arrays: State, name: str, id_limit: int) -> NDArray[np.uint32]:
    """Invert ``of_ids``; raise ``InputError`` for ids from ``id_limit`` on, or places that no id has."""
    types, places = taken(arrays, f"{name} types"), taken(arrays, f"{name} places").astype(np.int64)
    rare = np.flatnonzero(places == _RARE)
    places[rare] += taken(arrays, f"{name} rare", len(rare)).astype(np.int64)
    ranges = ((types, id_limit), (places, len(types)))
    if any(len(array) and not 0 <= int(array.min()) <= int(array.max()) < limit for array, limit in ranges):
        raise InputError(f"the ids of {name!r} are of another vocabulary")
    return np.asarray(types.astype(np.uint32)[places])


def of_text(text: str) -> NDArray[np.uint8]:
    """Return the bytes of a text in UTF-8."""
    return np.frombuffer(text.encode(), np.uint8)


def text_of(array: NDArray[Any]) -> str:
    """Invert ``of_text``; raise ``InputError`` for what is not UTF-8."""
    try:
        return array.astype(np.uint8).tobytes().decode()
    except UnicodeDecodeError as error:
        raise InputError(f"a text is not UTF-8: {error}") from None


def of_corpus_state(state: CorpusState, prefix: str = "") -> dict[str, NDArray[Any]]:
    """Return the arrays of a pass over a corpus."""
    vocabulary = state.facts.vocabulary
    arrays = {"facts": _of_facts(state.facts), **_of_histogram(state.histogram), **of_counters(state.counters)}
    if vocabulary is not None:
        arrays["vocabulary bytes"] = vocabulary.data
        arrays["vocabulary lengths"] = compact(np.diff(vocabulary.offsets))
        arrays["vocabulary kinds"] = vocabulary.kinds
    return {prefix + name: array for name, array in arrays.items()}


def corpus_state_of(arrays: State, prefix: str = "") -> CorpusState:
    """Invert ``of_corpus_state``; raise ``InputError`` for arrays that contradict each other."""
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    vocab_size, id_limit, lossy = map(int, taken(own, "facts", 3).tolist())
    if not 0 <= id_limit <= MOST_IDS:
        raise InputError(f"a state of {id_limit:,} ids; at most {MOST_IDS:,} are held in memory")
    vocabulary = _vocabulary(own, id_limit) if "vocabulary kinds" in own else None
    counted = np.ones(id_limit, np.bool_) if vocabulary is None else vocabulary.counted
    facts = Facts(vocab_size, counted, vocabulary, bool(lossy))
    return CorpusState(facts, _histogram(own, id_limit), counters_of(own))


def of_part(state: CorpusState, sampled: Tokens, groups: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a pass over a part of a corpus: the vocabulary is in them by its digest alone.

    Documents of which all ids are kept besides, ``sampled`` and uint8 [documents], are not in the histogram.
    """
    others = np.zeros_like(state.histogram)
    kernels.token_frequency(sampled.ids, sampled.offsets, groups, others)
    np.subtract(state.histogram, others, out=others)
    counts = {**_of_histogram(others), **of_counters(state.counters)}
    return {"facts": _of_facts(state.facts), "vocabulary digest": _digest(state.facts.vocabulary), **counts}


def part_of(arrays: State, facts: Facts, sampled: Tokens, groups: NDArray[np.uint8]) -> CorpusState:
    """Invert ``of_part``; raise ``InputError`` for another vocabulary than that of ``facts``, or a forged histogram."""
    same = np.array_equal(taken(arrays, "facts", 3), _of_facts(facts))
    if not same or not np.array_equal(taken(arrays, "vocabulary digest"), _digest(facts.vocabulary)):
        raise InputError("a part was read with another vocabulary; read all parts with one")
    histogram, counters = _histogram(arrays, len(facts.counted)), counters_of(arrays)
    # As unsigned, a negative count is beyond all tokens.
    counts, tokens = arrays["histogram counts"].astype(np.uint64), sum(counters.get("tokens", ()))
    if int(counts.max(initial=0)) > tokens or int(counts.sum()) + len(sampled.ids) != tokens:
        raise InputError(f"a histogram does not count the {tokens:,} tokens of its part")
    kernels.token_frequency(sampled.ids, sampled.offsets, groups, histogram)
    return CorpusState(facts, histogram, counters)


def _of_facts(facts: Facts) -> NDArray[np.int64]:
    return np.array([facts.vocab_size, len(facts.counted), facts.lossy], np.int64)


def _digest(vocabulary: Vocabulary | None) -> NDArray[np.uint8]:
    """Return the BLAKE2b of a vocabulary, uint8 [16]; no byte if it is hidden."""
    digest = hashlib.blake2b(digest_size=16)
    if vocabulary is None:
        return np.zeros(0, np.uint8)
    for array in (vocabulary.data, vocabulary.offsets, vocabulary.kinds):
        digest.update(np.ascontiguousarray(array).data)
    return np.frombuffer(digest.digest(), np.uint8)


def of_counters(counters: Mapping[str, Sums]) -> dict[str, NDArray[Any]]:
    """Return the arrays of sums by group."""
    return {_COUNTER + name: of_sums(sums) for name, sums in sorted(counters.items())}


def counters_of(arrays: State) -> dict[str, Sums]:
    """Invert ``of_counters``; raise ``InputError`` for another shape."""
    return {name.removeprefix(_COUNTER): sums_of(arrays[name]) for name in arrays if name.startswith(_COUNTER)}


def taken(arrays: Mapping[str, NDArray[Any]], name: str, size: int | None = None) -> NDArray[Any]:
    """Return a required array of one dimension, and of ``size`` values if that is given; else raise ``InputError``."""
    if name not in arrays:
        raise InputError(f"a state has no {name!r}")
    array = arrays[name]
    if array.ndim != 1 or size not in (None, len(array)):
        raise InputError(f"{name!r} of a state has the shape {array.shape}, not {'(n,)' if size is None else (size,)}")
    return array


def table(arrays: State, name: str, columns: int) -> NDArray[Any]:
    """Return a required array of rows of ``columns`` values; raise ``InputError`` for another shape."""
    array = arrays.get(name, np.zeros(0))
    if array.ndim != 2 or array.shape[1] != columns:
        raise InputError(f"{name!r} of a state has the shape {array.shape}, not {('n', columns)}")
    return array


def _of_histogram(histogram: NDArray[np.uint64]) -> dict[str, NDArray[Any]]:
    groups, ids = np.divmod(np.flatnonzero(histogram != 0), max(histogram.shape[1], 1))  # a fourth of nonzero's time
    steps = np.diff(ids, prepend=0)
    firsts = np.flatnonzero(np.diff(groups, prepend=-1))
    steps[firsts] = ids[firsts]
    return {
        "histogram types": np.bincount(groups, minlength=GROUPS).astype(np.int64),
        "histogram steps": compact(steps),
        "histogram counts": compact(histogram[groups, ids]),
    }


def _histogram(arrays: State, id_limit: int) -> NDArray[np.uint64]:
    types, steps, counts = (taken(arrays, f"histogram {name}") for name in ("types", "steps", "counts"))
    if len(types) != GROUPS or int(types.sum()) != len(steps) or len(steps) != len(counts):
        raise InputError("the parts of a histogram are not of one size")
    if not 0 <= int(types.min()) <= int(types.max()) <= id_limit:
        raise InputError("a histogram has more ids than the vocabulary")
    ends = np.cumsum(types)
    run = np.cumsum(steps.astype(np.int64))
    before = np.where(ends > types, run[np.minimum(ends - types, len(run)) - 1], 0) if len(run) else ends
    ids = run - np.repeat(before, types)
    if len(ids) and (ids.min() < 0 or ids.max() >= id_limit):
        raise InputError("a histogram has ids beyond those of the vocabulary")
    histogram = np.zeros((GROUPS, id_limit), np.uint64)
    histogram[np.repeat(np.arange(GROUPS), types), ids] = counts
    return histogram


def _vocabulary(arrays: State, id_limit: int) -> Vocabulary:
    lengths = taken(arrays, "vocabulary lengths", id_limit).astype(np.int64)
    data, kinds = taken(arrays, "vocabulary bytes"), taken(arrays, "vocabulary kinds", id_limit)
    offsets = offsets_of(lengths)
    if (lengths < 0).any() or offsets[-1] != len(data):
        raise InputError("the lengths of a vocabulary are not those of its bytes")
    return Vocabulary(data.astype(np.uint8), offsets, kinds.astype(np.uint8))
