"""Workloads of the built-in suites: the call, its argument, and the compared part of its result.

A standalone file that both arms run. It imports only the measured libraries and NumPy, by long-lived names, and only
where a workload needs them. ``driver.py`` documents the format of such a file. Vocabularies are made here from a fixed
amount of text, so no download and no data file is needed, except for pyharness rows that need one.
"""

from __future__ import annotations

import importlib
import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

TRAINING_BYTES = 400_000  # of text, from its beginning
VOCABULARY = 4096
LONGEST_PREFIX = 10  # bytes, in a vocabulary of prefixes
WORDS = re.compile(rb" ?\w+|\s+|[^\s\w]+")
PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""


class Absent(Exception):
    """A library lacks the function that a workload calls."""


@dataclass
class Workload:
    """A workload as the driver expects it."""

    call: Callable[[Any], Any]
    digestible: Callable[[Any], bytes]
    item: Callable[[str], Any] | None = None
    ids: Callable[[Any], Sequence[int]] | None = None


@lru_cache  # called for thousands of results
def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name + ".").startswith(error.name + "."):
            raise Absent(f"{error.name} is not installed") from None
        raise


def _face(module: str, *names: str) -> Any:
    """Return the first of these names that a module has: a public name may have been renamed."""
    library = _library(module)
    for name in names:
        if hasattr(library, name):
            return getattr(library, name)
    raise Absent(f"{module} has no {' or '.join(names)}")


def _adaptation(name: str, *modules: str) -> Any:
    """Return a function that learns or drops tokens, from its module in this version of pyharness or in older ones."""
    places = [f"{room}.{module}" for room in ("pyharness.features.adaptation.bpe", "pyharness.bpe.adapting")
              for module in modules]  # fmt: skip
    for place in places[:-1]:
        with suppress(Absent):
            return _face(place, name)
    return _face(places[-1], name)


def _array(ids: Any) -> bytes:
    return bytes(_library("numpy").asarray(ids).astype("<u4").tobytes())


def _bytes(*arrays: Any) -> bytes:
    return b"".join(len(data := array.tobytes()).to_bytes(8, "little") + data for array in arrays)


TOKENS: dict[str, Any] = {  # of a batch
    "digestible": lambda tokens: _bytes(tokens.ids, tokens.offsets),
    "ids": lambda tokens: tokens.ids.tolist(),
}


def _learned_from(setting: Any) -> str:
    """Return the training text of a vocabulary: ``learned_from`` of the options, or the benchmark's kind."""
    return str(setting.text(setting.options.get("learned_from", setting.kind), TRAINING_BYTES))


@lru_cache(maxsize=4)
def _trained(text: str, size: int, scaffold: bool) -> Any:
    return _face("pyharness.bpe", "train")(_counted()(text), size, scaffold=scaffold)


def _model(setting: Any, scaffold: bool = False) -> Any:
    """Train a model on the beginning of a kind's text."""
    trained = _trained(_learned_from(setting), setting.options.get("vocab_size", VOCABULARY), scaffold)
    return _face("pyharness.bpe", "model_of_training")(trained, "gpt2")


def _tokenizer(setting: Any, scaffold: bool = False) -> Any:
    return _face("pyharness.bpe", "BpeTokenizer")(_model(setting, scaffold))


def encode(setting: Any) -> Workload:
    """Encode one text to ids."""
    tokenizer = _tokenizer(setting, setting.options.get("scaffold", False))
    return Workload(tokenizer.encode, _array, ids=lambda ids: ids.tolist())


def encode_batch(setting: Any) -> Workload:
    """Encode a batch of texts to ids, on the benchmark's threads."""
    tokenizer, threads, parts = _tokenizer(setting), setting.threads, setting.options.get("texts", 16)
    return Workload(lambda texts: tokenizer.encode_batch(texts, threads), item=lambda text: _cut(text, parts), **TOKENS)


def _cut(text: str, parts: int) -> list[str]:
    length = -(-len(text) // parts)
    return [text[begin : begin + length] for begin in range(0, len(text), max(length, 1))]


def decode(setting: Any) -> Workload:
    """Decode the ids of one text to bytes."""
    tokenizer = _tokenizer(setting)
    return Workload(tokenizer.decode, bytes, item=tokenizer.encode)


def merge_pieces(setting: Any) -> Workload:
    """Merge pieces to ids, without a cache of pieces."""
    numpy = _library("numpy")
    encoder = _face("pyharness.bpe", "BpeEncoder", "Encoder")(_model(setting).merges)
    splitter = _face("pyharness.bpe", "TextSplitter")("gpt2")

    def item(text: str) -> Any:
        symbols = numpy.frombuffer(text.encode(), numpy.uint8).astype(numpy.uint32)
        return symbols, numpy.concatenate([[0], splitter.split_batch([text]).ends]).astype(numpy.int64)

    return Workload(lambda pieces: encoder.encode_batch(*pieces), item=item, **TOKENS)


def tokenizer_encode(setting: Any) -> Workload:
    """Encode one text, or ``texts`` parts of it, with a pyharness row: the arm's, or ``tokenizer`` of the options."""
    tokenizer, parts, threads = _row(setting), setting.options.get("texts", 1), setting.threads
    single, batch = (_face("pyharness.tokenizers", name) for name in ("timed_single", "timed_call"))
    return Workload(
        _timed,
        lambda kept: _array(_result(kept).ids),
        lambda text: single(tokenizer, text) if parts == 1 else batch(tokenizer, _cut(text, parts), threads),
        lambda kept: _result(kept).ids.tolist(),
    )


def _timed(timed: Any) -> Any:
    """Do the library's own call; return its result after the object that reads the result outside of the clock."""
    return timed, timed.call()


def _result(kept: Any) -> Any:
    timed, result = kept
    return timed.result(result)


def tokenizer_decode(setting: Any) -> Workload:
    """Decode the ids of one text to bytes with a pyharness row."""
    tokenizer = _row(setting)
    timed_decode = _face("pyharness.tokenizers", "timed_decode")
    return Workload(_timed, _result, lambda text: timed_decode(tokenizer, tokenizer.encode_batch([text])))


def _row(setting: Any) -> Any:
    if not setting.options.get("tokenizer"):
        raise Absent("this arm is no tokenizer, and the benchmark names none (tokenizer = ...)")
    return _face("pyharness.tokenizers", "load")(setting.options["tokenizer"])


def split(setting: Any) -> Workload:
    """Split one text to pieces with the split pattern of the options."""
    splitter = _face("pyharness.bpe", "TextSplitter")(setting.options.get("pattern", "gpt2"))
    return Workload(lambda text: splitter.split_batch([text]), lambda pieces: _bytes(pieces.ends))


def _counted() -> Callable[[str], Any]:
    """Return a function that counts the pieces of one text, without state between texts."""
    counter = _face("pyharness.bpe", "PieceCounter")
    splitter = _face("pyharness.bpe", "TextSplitter")("gpt2")

    def counted(text: str) -> Any:
        counts = counter(splitter)
        counts.add([text])
        return counts.pieces()

    return counted


def count_pieces(_: Any) -> Workload:
    """Count the pieces of one text, as for a training."""
    return Workload(_counted(), lambda pieces: _bytes(pieces.symbols, pieces.offsets, pieces.weights))


def text_statistics(_: Any) -> Workload:
    """Count bytes, characters, words and letters of one text: the corpus pass."""
    statistics = _face("pyharness.kernels", "text_statistics")
    return Workload(lambda text: statistics([text]), _bytes)


def pair_histogram(setting: Any) -> Workload:
    """Count adjacent pairs of the ids of one text."""
    histogram = _face("pyharness.kernels", "pair_histogram")
    tokenizer = _tokenizer(setting)
    return Workload(histogram, lambda pairs: _bytes(pairs.left, pairs.right, pairs.count), item=tokenizer.encode)


def entropy(setting: Any) -> Workload:
    """Compute the next-token entropy of synthetic logits, derived from the text."""
    numpy = _library("numpy")
    measured = _face("pyharness.kernels", "entropy")
    rows, columns = setting.options.get("rows", 4), setting.options.get("vocab_size", VOCABULARY)

    def item(text: str) -> Any:
        generator = numpy.random.default_rng(zlib.crc32(text.encode()))
        return generator.standard_normal((rows, columns), numpy.float32) * numpy.float32(4)

    # Rounded: sums by vectors of another width may differ in the last digits.
    return Workload(
        lambda logits: measured(logits, threads=1),
        lambda outputs: numpy.round(outputs.entropy, 4).tobytes(),
        item,
    )


def train(setting: Any) -> Workload:
    """Train a small vocabulary on one text, its pieces already counted; ``scaffold``: with its demolition."""
    trained = _face("pyharness.bpe", "train")
    size, scaffold = setting.options.get("vocab_size", 400), setting.options.get("scaffold", False)

    def call(pieces: Any) -> Any:
        result = trained(pieces, size, scaffold=scaffold)
        return result, result.demolition() if scaffold else ()

    return Workload(call, lambda result: _bytes(result[0].rules, result[0].counts, *result[1]), _counted())


def extend(setting: Any) -> Workload:
    """Extend a given model by tokens of one text, its pieces already counted: continued BPE."""
    model, extended = _model(setting), _adaptation("extend", "extension", "extending")
    return Workload(lambda pieces: extended(model, pieces, 16), lambda new: _bytes(new.rules, new.counts), _counted())


def leaf_order(setting: Any) -> Workload:
    """Compute the order in which leaf pruning drops tokens, by their counts in one text."""
    model, encoded, numpy = _model(setting), _tokenizer(setting).encode, _library("numpy")
    ordered = _adaptation("leaf_order", "pruning")

    def item(text: str) -> Any:
        return numpy.bincount(encoded(text), minlength=model.id_limit).astype(numpy.uint64)

    return Workload(lambda counts: ordered(model, counts), _bytes, item)


def self_tokenization(setting: Any) -> Workload:
    """Run the self-tokenization test over a vocabulary."""
    tested = _face("pyharness.bpe", "self_tokenization")
    merges = _model(setting).merges
    return Workload(lambda _: tested(merges), lambda result: _bytes(result.verdict, result.parts, result.failed))


@lru_cache(maxsize=4)
def _prefixes(text: str, size: int) -> list[bytes]:
    """Make a vocabulary without a library: the bytes, then the most frequent prefixes of words, short ones first."""
    counts: Counter[bytes] = Counter()
    for word, times in Counter(WORDS.findall(text.encode())).items():
        for length in range(2, min(len(word), LONGEST_PREFIX) + 1):
            counts[word[:length]] += times
    chosen = sorted(counts, key=lambda prefix: (-counts[prefix], len(prefix), prefix))[: size - 256]
    return [bytes([byte]) for byte in range(256)] + sorted(chosen, key=len)


def _made_up(setting: Any) -> list[bytes]:
    return _prefixes(_learned_from(setting), setting.options.get("vocab_size", VOCABULARY))


def tiktoken_encode(setting: Any) -> Workload:
    """Encode one text to ids with tiktoken."""
    ranks = {token: rank for rank, token in enumerate(_made_up(setting))}
    made = _face("tiktoken", "Encoding")("made-up", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    return Workload(made.encode_ordinary, _array, ids=list)


def tokenizers_encode(setting: Any) -> Workload:
    """Encode one text to ids with the tokenizers library, without characters beyond Latin-1."""
    tokenizers = _library("tokenizers")
    tokens = [token.decode("latin-1") for token in _made_up(setting)]
    entries = set(tokens)
    merges = [(token[:-1], token[-1]) for token in tokens if len(token) > 1 and token[:-1] in entries]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({token: rank for rank, token in enumerate(tokens)}, merges))
    words = tokenizers.Regex(WORDS.pattern.decode())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(words, "isolated")
    return Workload(tokenizer.encode, lambda done: _array(done.ids), ids=lambda done: done.ids)


def regular_expression(_: Any) -> Workload:
    """Find the words of one text with the standard library's ``re``."""
    find = re.compile(WORDS.pattern.decode()).findall
    return Workload(find, lambda words: "\0".join(words).encode())


def compress(setting: Any) -> Workload:
    """Compress one text with the standard library's ``zlib``."""
    level = setting.options.get("level", 1)
    return Workload(lambda data: zlib.compress(data, level), bytes, item=str.encode)
