"""Trainers of the tokenizers library: WordPiece as BERT has it, whole words, characters, byte-level BPE and Unigram."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from pyharness.bpe.splitting.text_splitter import TextSplitter
from pyharness.system.threads import pool_of
from pyharness.trainers import TrainedTokenizer, TrainerSpec, TrainingRequest
from pyharness.trainers.feeding import Feed
from pyharness.types import InputError

FILE = "tokenizer.json"
UNKNOWN = "[UNK]"
MOST = 1 << 24  # the library allocates for the vocabulary that is asked for, before it reads


def train_bpe(request: TrainingRequest) -> TrainedTokenizer:
    """Train byte-level BPE: pieces of the pattern, in the byte alphabet of GPT-2."""
    from tokenizers import models, trainers

    _room(request, 256)
    tokenizer = _byte_level(models.BPE(), request)
    trainer = trainers.BpeTrainer(
        vocab_size=request.vocab_size, min_frequency=request.min_frequency or 1, special_tokens=list(request.special),
        max_token_length=request.max_token_length, initial_alphabet=_bytes(), show_progress=False,
    )  # fmt: skip
    return _train(tokenizer, trainer, request)


def train_unigram(request: TrainingRequest) -> TrainedTokenizer:
    """Train a byte-level Unigram model on the same pieces."""
    from tokenizers import models, trainers

    _room(request, 256)
    tokenizer = _byte_level(models.Unigram(), request)
    trainer = trainers.UnigramTrainer(
        vocab_size=request.vocab_size, special_tokens=list(request.special), initial_alphabet=_bytes(),
        max_piece_length=request.max_token_length or 16, show_progress=False,
    )  # fmt: skip
    return _train(tokenizer, trainer, request, ["a piece has at most 16 bytes unless max_token_length says otherwise"])


def train_wordpiece(request: TrainingRequest) -> TrainedTokenizer:
    """Train WordPiece with BERT's normaliser (cased, accents kept) and pre-tokenizer."""
    from tokenizers import decoders, models, trainers

    special = with_unknown(request)
    tokenizer = bert_words(models.WordPiece(unk_token=UNKNOWN))
    tokenizer.decoder = decoders.WordPiece()
    limit: Any = {} if request.limit_alphabet is None else {"limit_alphabet": request.limit_alphabet}
    trainer = trainers.WordPieceTrainer(
        vocab_size=request.vocab_size, min_frequency=request.min_frequency or 1, special_tokens=special,
        initial_alphabet=list(request.initial_alphabet), show_progress=False,
        **limit,
    )  # fmt: skip
    note = "not deterministic: ids of ## pieces follow a hash map's order and break ties, so runs differ"
    return _train(tokenizer, trainer, request, [note])


def train_words(request: TrainingRequest) -> TrainedTokenizer:
    """Keep the most frequent words, as BERT's pre-tokenizer finds them; all others are the unknown token."""
    from tokenizers import decoders, models

    tokenizer = bert_words(models.WordLevel(unk_token=UNKNOWN))
    tokenizer.decoder = decoders.WordPiece()  # puts a space between words, none before punctuation
    return _train_whole(tokenizer, request)


def train_characters(request: TrainingRequest) -> TrainedTokenizer:
    """Keep the most frequent code points; all others are the unknown token."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    tokenizer: Any = Tokenizer(models.WordLevel(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return _train_whole(tokenizer, request)


def _train_whole(tokenizer: Any, request: TrainingRequest) -> TrainedTokenizer:
    from tokenizers import trainers

    trainer = trainers.WordLevelTrainer(
        vocab_size=request.vocab_size, min_frequency=request.min_frequency or 1, special_tokens=with_unknown(request),
        show_progress=False,
    )  # fmt: skip
    return _train(tokenizer, trainer, request)


def with_unknown(request: TrainingRequest) -> list[str]:
    """Special tokens, the unknown token first, of a vocabulary with room for more."""
    special = list(dict.fromkeys((UNKNOWN, *request.special)))
    if request.vocab_size <= len(special):
        raise InputError(f"a vocabulary of {request.vocab_size:,} has no room for more than its special tokens")
    return special


def bert_words(model: Any) -> Any:
    """Tokenizer whose words are BERT's: control characters dropped, split at white space and punctuation; cased."""
    from tokenizers import Tokenizer, normalizers, pre_tokenizers

    tokenizer: Any = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def _room(request: TrainingRequest, alphabet: int) -> None:
    needed = alphabet + len(request.special)
    if request.vocab_size < needed:
        raise InputError(
            f"a vocabulary of {request.vocab_size:,} has no room for the alphabet of {alphabet} bytes and "
            f"{len(request.special)} special tokens; ask for at least {needed:,}"
        )


def _bytes() -> list[str]:
    from tokenizers import pre_tokenizers

    return sorted(pre_tokenizers.ByteLevel.alphabet())  # the library's own order is that of a hash map


def _byte_level(model: Any, request: TrainingRequest) -> Any:
    from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers

    splitter = TextSplitter(request.pattern or "gpt2")
    tokenizer: Any = Tokenizer(model)
    try:
        splits = [pre_tokenizers.Split(Regex(oniguruma(one)), "isolated") for one in splitter.expressions]
    except Exception as error:
        raise InputError(f"tokenizers cannot compile the split pattern {splitter.name!r}: {error}") from None
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def oniguruma(expression: str) -> str:
    """Write an expression as the regex engine of tokenizers reads it: there, ``{1,3}+`` repeats instead of possessing.

    Of the known patterns cl100k alone has it, where possessing cannot change a match.
    """
    return re.sub(r"(\{\d+,\d*\})\+", r"\1", expression)


def _train(tokenizer: Any, trainer: Any, request: TrainingRequest, notes: Iterable[str] = ()) -> TrainedTokenizer:
    if request.vocab_size > MOST:
        raise InputError(f"tokenizers allocates a vocabulary before it reads: at most {MOST:,}, or trainer 'bpe'")
    feed = Feed(request)
    pool_of("tokenizers", "RAYON_NUM_THREADS").start(request.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if request.threads > 1 else "false"
    with feed.training("tokenizers"):
        tokenizer.train_from_iterator(feed, trainer)
    text: str = tokenizer.to_str(pretty=False)
    merges = json.loads(text)["model"].get("merges")
    # WordPiece is trained by merges but keeps none.
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    return feed.result({FILE: text.encode()}, size, None if merges is None else len(merges), notes)


_OF_LIBRARY = partial(TrainerSpec, library="tokenizers")
_OF_WORDS = partial(_OF_LIBRARY, patterns=())
TRAINERS = (
    _OF_WORDS(
        name="wordpiece",
        train=train_wordpiece,
        summary="WordPiece as BERT has it: BertNormalizer (cased), BertPreTokenizer, ##",
        algorithm="wordpiece",
        options=frozenset({"min_frequency", "special", "initial_alphabet", "limit_alphabet"}),
        deterministic=False,
    ),
    _OF_WORDS(
        name="words",
        train=train_words,
        summary="the most frequent words of BertPreTokenizer, cased; the rest is unknown",
        algorithm="words",
        options=frozenset({"min_frequency", "special"}),
    ),
    _OF_WORDS(
        name="characters",
        train=train_characters,
        summary="the most frequent characters; the rest is unknown",
        algorithm="characters",
        options=frozenset({"min_frequency", "special"}),
    ),
    _OF_LIBRARY(
        name="tokenizers-bpe",
        train=train_bpe,
        summary="byte-level BPE of the tokenizers library",
        algorithm="bpe",
        options=frozenset({"min_frequency", "max_token_length", "special"}),
    ),
    _OF_LIBRARY(
        name="tokenizers-unigram",
        train=train_unigram,
        summary="byte-level Unigram of the tokenizers library",
        algorithm="unigram",
        options=frozenset({"max_token_length", "special"}),
        deterministic=False,  # the same pieces, but scores and order follow a hash map's order
    ),
)
