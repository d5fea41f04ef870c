"""Unigram of SentencePiece with the library's own settings: most papers name no others (arXiv 1808.06226)."""

from __future__ import annotations

import io
from typing import Any

from pyharness.features.paper_trainers.declarations import PublishedUnigramOptions
from pyharness.features.paper_trainers.documents import lines_of
from pyharness.features.training.trainers import TrainedTokenizer, TrainingRequest
from pyharness.features.training.trainers.feeding import Feed
from pyharness.types import InputError

FILE = "tokenizer.model"
MOST = 1_000_000  # pieces: the library starts from a million candidates
SEED = 1


def train_published(request: TrainingRequest[PublishedUnigramOptions]) -> TrainedTokenizer:
    """Train on the lines of the text; those of more than 4,192 bytes are left out, as the library does.

    Raises:
        InputError: the vocabulary is too large; or as the library refuses.
    """
    if request.options.vocab_size > MOST:
        raise InputError(f"vocab_size={request.options.vocab_size} is too large: sentencepiece takes at most {MOST:,}")
    feed = Feed(request)
    with feed.training("sentencepiece"):
        data = _run(request, feed)
    notes = [
        "lines of more than 4,192 bytes are left out",
        f"pieces depend on the number of threads: {request.threads}",
    ]
    return feed.result({FILE: data}, _size(data), None, notes)


def _run(request: TrainingRequest[PublishedUnigramOptions], feed: Feed) -> bytes:
    import sentencepiece

    options, written = request.options, io.BytesIO()
    sentencepiece.set_random_generator_seed(SEED)
    coverage: dict[str, Any] = (
        {} if options.character_coverage is None else {"character_coverage": options.character_coverage}
    )
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines_of(feed), model_writer=written, model_type="unigram", vocab_size=options.vocab_size,
        normalization_rule_name=options.normalization, split_digits=options.split_digits,
        byte_fallback=options.byte_fallback, control_symbols=list(options.special),
        max_sentencepiece_length=options.max_token_length or 16, input_sentence_size=options.sentences,
        shuffle_input_sentence=options.sentences > 0, num_threads=request.threads, minloglevel=3, **coverage,
    )  # fmt: skip
    return written.getvalue()


def _size(data: bytes) -> int:
    from pyharness.vocabularies.sentencepiece_file import read_model

    return len(read_model(data, FILE).pieces)
