"""Trainers of plain BPE as their libraries offer them, for ``training_table.py``: texts in memory in, merges out.

Every function is called in a process of its own, whose threads the caller has limited. The part that is timed is the
returned call; what it gives is turned into byte strings afterwards.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyharness.bpe import PieceCounter, TextSplitter, TrainedBpe, WeightedPieces, train
from pyharness.vocabularies.patterns.split_patterns import SPLIT_PATTERNS

# The bytes in the order of the characters that stand for them in byte-level files, which is the order of their ids in
# `tokenizers` and gigatoken. Where counts are equal the smaller id wins, so merges depend on it.
PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTE_LEVEL = PRINTABLE + [byte for byte in range(256) if byte not in PRINTABLE]


@dataclass(frozen=True)
class Task:
    texts: Sequence[str]
    pattern: str  # gpt2 or cl100k
    vocab_size: int  # with the 256 bytes
    threads: int


@dataclass(frozen=True)
class Peer:
    prepare: Callable[[Task], Callable[[], Any]]  # what it returns is timed
    # What was merged, in order; a library that tells no more than the tokens has empty right parts. None at all: the
    # result cannot be compared.
    merges: Callable[[Any], list[tuple[bytes, bytes]]]
    tells_pairs: bool = True
    patterns: tuple[str, ...] = ("gpt2", "cl100k")
    byte_level: bool = False  # ids of bytes as in BYTE_LEVEL
    input: str = "list of str"
    note: str = ""


def expression(pattern: str) -> str:
    return SPLIT_PATTERNS[pattern].expressions[0]


# ----------------------------------------------------------------------------------------------------------- ours


def count(task: Task) -> WeightedPieces:
    counter = PieceCounter(TextSplitter(task.pattern))
    counter.add(task.texts, task.threads)
    return counter.pieces()


def made(model: TrainedBpe) -> list[tuple[bytes, bytes]]:
    return [(model[left], model[right]) for left, right, _ in model.rules.tolist()]


def ours(task: Task) -> Callable[[], TrainedBpe]:
    return lambda: train(count(task), task.vocab_size)


def ours_in_byte_level_order(task: Task) -> Callable[[], TrainedBpe]:
    """The same with the ids that `tokenizers` gives the bytes, for comparison."""
    order = np.array(BYTE_LEVEL)

    def run() -> TrainedBpe:
        pieces = count(task)
        symbols = np.argsort(order).astype(np.uint32)[pieces.symbols]
        renamed = WeightedPieces(symbols, pieces.offsets, pieces.weights, order.astype(np.uint8), pieces.data_offsets)
        return train(renamed, task.vocab_size)

    return run


def ours_scaffold(task: Task) -> Callable[[], TrainedBpe]:
    return lambda: train(count(task), task.vocab_size, scaffold=True)


# ---------------------------------------------------------------------------------------------------------- peers


def gigatoken(task: Task) -> Callable[[], Any]:
    from gigatoken import train_bpe

    separator = b"\0"
    joined = separator.join(text.encode() for text in task.texts)
    return lambda: train_bpe(joined, task.vocab_size, [], separator=separator)


def ffbpe(task: Task) -> Callable[[], Any]:
    from ffbpe import BpeTrainer, PreTokenizer

    def run() -> Any:
        counter = PreTokenizer([], pat_str=expression(task.pattern)).word_counter()
        counter.add_source(task.texts, max_records=4096, max_bytes=64 << 20, prefetch=1)
        trainer = BpeTrainer([], unit="byte")
        trainer.add_word_counter(counter)
        trainer.train(task.vocab_size)
        return trainer.validate_model()

    return run


def rustbpe(task: Task) -> Callable[[], Any]:
    from rustbpe import Tokenizer

    def run() -> Any:
        tokenizer = Tokenizer()
        tokenizer.train_from_iterator(iter(task.texts), task.vocab_size, pattern=expression(task.pattern))
        return tokenizer

    return run


def tokenizers(task: Task) -> Callable[[], Any]:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    def run() -> Any:
        tokenizer = Tokenizer(models.BPE())
        if task.pattern == "gpt2":
            tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        else:
            # Its engine takes $ for the end of a line and {1,3}+ for a repeated {1,3}.
            pattern = expression(task.pattern).replace("$", r"\z").replace("}+", "}")
            split = pre_tokenizers.Split(Regex(pattern), "isolated")
            whole = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
            tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, whole])
        trainer = trainers.BpeTrainer(
            vocab_size=task.vocab_size, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
        )
        tokenizer.train_from_iterator(task.texts, trainer)
        return tokenizer

    return run


def tokenizers_merges(tokenizer: Any) -> list[tuple[bytes, bytes]]:
    characters = {
        chr(byte) if rank < len(PRINTABLE) else chr(256 + rank - len(PRINTABLE)): byte
        for rank, byte in enumerate(BYTE_LEVEL)
    }
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [
        (bytes(characters[character] for character in left), bytes(characters[character] for character in right))
        for left, right in merges
    ]


def sentencepiece(task: Task) -> Callable[[], Any]:
    import sentencepiece as library

    lines = [line for text in task.texts for line in text.splitlines() if line]

    def run() -> Any:
        model = io.BytesIO()
        library.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, vocab_size=task.vocab_size, model_type="bpe",
            character_coverage=1.0, byte_fallback=True, hard_vocab_limit=False, num_threads=task.threads,
            max_sentence_length=1 << 20, minloglevel=2,
        )  # fmt: skip
        return model

    return run


def _in_order(vocabulary: Iterable[tuple[Any, int]]) -> list[tuple[bytes, bytes]]:
    return [(bytes(token), b"") for token, _ in sorted(vocabulary, key=lambda entry: entry[1])][256:]


PEERS = {
    "pyharness": Peer(ours, made),
    "pyharness, byte-level ids": Peer(ours_in_byte_level_order, made, byte_level=True),
    "gigatoken": Peer(
        gigatoken, lambda found: [(bytes(left), bytes(right)) for left, right in found[1]],
        patterns=("gpt2",), byte_level=True, input="one bytes object", note="has the GPT-2 pattern only",
    ),
    "ffbpe": Peer(ffbpe, lambda model: _in_order(model.vocab.items()), tells_pairs=False),
    "rustbpe": Peer(rustbpe, lambda tokenizer: _in_order(tokenizer.get_mergeable_ranks()), tells_pairs=False),
    "tokenizers": Peer(tokenizers, tokenizers_merges, byte_level=True),
    "sentencepiece": Peer(
        sentencepiece, lambda _: [], patterns=("gpt2",), input="list of lines",
        note="another algorithm: characters, its own splitting and normalization; not comparable, for scale only",
    ),
    "pyharness, Scaffold-BPE": Peer(ours_scaffold, lambda _: [], note="another algorithm"),
}  # fmt: skip
