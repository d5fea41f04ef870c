"""Trainers of the tokenizers library: BERT's WordPiece, whole words, characters, byte-level BPE and Unigram."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from pyharness.bpe.model.text_splitter import TextSplitter
from pyharness.features.training.trainers import TrainedTokenizer, TrainingRequest
from pyharness.features.training.trainers.declarations import (
    ByteLevelBpeOptions,
    ByteLevelOptions,
    ByteLevelUnigramOptions,
    WordOptions,
    WordPieceOptions,
)
from pyharness.features.training.trainers.feeding import Feed
from pyharness.system.threads import pool_of
from pyharness.types import InputError

FILE = "tokenizer.json"
UNKNOWN = "[UNK]"
MOST = 1 << 24  # the library allocates the requested vocabulary before it reads


def train_bpe(request: TrainingRequest[ByteLevelBpeOptions]) -> TrainedTokenizer:
    """Train byte-level BPE on the pieces of the pattern, in the byte alphabet of GPT-2."""
    from tokenizers import models, trainers

    options = request.options
    tokenizer = byte_level(models.BPE(), options)
    trainer = trainers.BpeTrainer(
        vocab_size=options.vocab_size, min_frequency=options.min_frequency or 1, special_tokens=list(options.special),
        max_token_length=options.max_token_length, initial_alphabet=alphabet(), show_progress=False,
    )  # fmt: skip
    return _train(tokenizer, trainer, request)


def train_unigram(request: TrainingRequest[ByteLevelUnigramOptions]) -> TrainedTokenizer:
    """Train a byte-level Unigram model on the pieces of the pattern."""
    from tokenizers import models, trainers

    tokenizer = byte_level(models.Unigram(), request.options)
    trainer = trainers.UnigramTrainer(
        vocab_size=request.options.vocab_size, special_tokens=list(request.options.special),
        initial_alphabet=alphabet(), max_piece_length=request.options.max_token_length or 16, show_progress=False,
    )  # fmt: skip
    return _train(tokenizer, trainer, request, ["a piece has at most 16 bytes unless max_token_length says otherwise"])


def train_wordpiece(request: TrainingRequest[WordPieceOptions]) -> TrainedTokenizer:
    """Train WordPiece with BERT's normaliser (cased, accents kept) and pre-tokenizer."""
    from tokenizers import decoders, models, trainers

    options, special = request.options, with_unknown(request.options)
    tokenizer = bert_words(models.WordPiece(unk_token=UNKNOWN))
    tokenizer.decoder = decoders.WordPiece()
    limit: Any = {} if options.limit_alphabet is None else {"limit_alphabet": options.limit_alphabet}
    trainer = trainers.WordPieceTrainer(
        vocab_size=options.vocab_size, min_frequency=options.min_frequency or 1, special_tokens=special,
        initial_alphabet=list(options.initial_alphabet), show_progress=False,
        **limit,
    )  # fmt: skip
    note = "not deterministic: ids of ## pieces follow a hash map's order and break ties, so runs differ"
    return _train(tokenizer, trainer, request, [note])


def train_words(request: TrainingRequest[WordOptions]) -> TrainedTokenizer:
    """Keep the most frequent words of BERT's pre-tokenizer; all others become the unknown token."""
    from tokenizers import decoders, models

    tokenizer = bert_words(models.WordLevel(unk_token=UNKNOWN))
    tokenizer.decoder = decoders.WordPiece()  # puts a space between words, none before punctuation
    return _train_whole(tokenizer, request)


def train_characters(request: TrainingRequest[WordOptions]) -> TrainedTokenizer:
    """Keep the most frequent code points; all others become the unknown token."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    tokenizer: Any = Tokenizer(models.WordLevel(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return _train_whole(tokenizer, request)


def _train_whole(tokenizer: Any, request: TrainingRequest[WordOptions]) -> TrainedTokenizer:
    from tokenizers import trainers

    options = request.options
    trainer = trainers.WordLevelTrainer(
        vocab_size=options.vocab_size, min_frequency=options.min_frequency or 1, special_tokens=with_unknown(options),
        show_progress=False,
    )  # fmt: skip
    return _train(tokenizer, trainer, request)


def with_unknown(options: WordOptions) -> list[str]:
    """Return the special tokens, the unknown token first. Refuse a vocabulary without room for more."""
    special = list(dict.fromkeys((UNKNOWN, *options.special)))
    if options.vocab_size <= len(special):
        raise InputError(f"a vocabulary of {options.vocab_size:,} has no room for more than its special tokens")
    return special


def bert_words(model: Any) -> Any:
    """Return a tokenizer with BERT's words, cased: split at white space, punctuation and around Chinese characters."""
    from tokenizers import Tokenizer, normalizers, pre_tokenizers

    tokenizer: Any = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def alphabet() -> list[str]:
    """Return the letters of the 256 bytes in GPT-2's alphabet, sorted."""
    from tokenizers import pre_tokenizers

    return sorted(pre_tokenizers.ByteLevel.alphabet())  # the library's own order is that of a hash map


def byte_level(model: Any, options: ByteLevelOptions) -> Any:
    """Return a tokenizer of the bytes of the pieces of the pattern. Raises ``InputError`` as its regex engine does."""
    from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers

    splitter = TextSplitter(options.pattern or "gpt2")
    tokenizer: Any = Tokenizer(model)
    try:
        splits = [pre_tokenizers.Split(Regex(oniguruma(one)), "isolated") for one in splitter.expressions]
    except Exception as error:
        raise InputError(f"tokenizers cannot compile the split pattern {splitter.name!r}: {error}") from None
    in_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, in_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def oniguruma(expression: str) -> str:
    """Rewrite an expression for the regex engine of tokenizers, which reads ``{1,3}+`` as a repetition, not possessive.

    Of the known patterns only cl100k has it, and there the possessive form cannot change a match.
    """
    return re.sub(r"(\{\d+,\d*\})\+", r"\1", expression)


def _train(tokenizer: Any, trainer: Any, request: TrainingRequest[Any], notes: Iterable[str] = ()) -> TrainedTokenizer:
    feed = Feed(request)
    return train_by(feed, tokenizer, lambda: tokenizer.train_from_iterator(feed, trainer), notes)


def train_by(feed: Feed, tokenizer: Any, train: Callable[[], None], notes: Iterable[str]) -> TrainedTokenizer:
    """Train a tokenizer of the library by a call of it, which reads the feed.

    Raises:
        InputError: the vocabulary is too large; or as the library refuses.
    """
    request = feed.request
    if request.options.vocab_size > MOST:
        raise InputError(f"tokenizers allocates a vocabulary before it reads: at most {MOST:,}, or trainer 'bpe'")
    pool_of("tokenizers", "RAYON_NUM_THREADS").start(request.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if request.threads > 1 else "false"
    with feed.training("tokenizers"):
        train()
    text: str = tokenizer.to_str(pretty=False)
    merges = json.loads(text)["model"].get("merges")
    # WordPiece is trained by merges but keeps none.
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    return feed.result({FILE: text.encode()}, size, None if merges is None else len(merges), notes)
