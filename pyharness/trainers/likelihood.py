"""WordPiece by likelihood, on BERT's words: with the score of the papers, which no library uses."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyharness.trainers import TrainedTokenizer, TrainerSpec, TrainingRequest
from pyharness.trainers.feeding import Feed
from pyharness.trainers.huggingface import FILE, MOST, UNKNOWN, WordOptions, bert_words, with_unknown
from pyharness.trainers.pair_scores import PREFIX, train
from pyharness.types import InputError

LONGEST_WORD = 100  # characters: the model calls longer words unknown


def train_wordpiece(request: TrainingRequest[WordOptions]) -> TrainedTokenizer:
    """Train WordPiece by likelihood, into a tokenizer.json of model WordPiece."""
    options = request.options
    if options.vocab_size > MOST:
        raise InputError(f"tokenizers loads at most {MOST:,} ids here: vocab_size is {options.vocab_size:,}")
    special = with_unknown(options)
    feed = Feed(request)
    with feed.phases.timed("counting"):
        words = _counted(feed)
    feed.check()
    short = {word: count for word, count in words.items() if len(word) <= LONGEST_WORD}
    with feed.phases.timed("merging"):
        merged = feed.phases.gauge("merging", "tokens", options.vocab_size)
        trained = train(
            short, options.vocab_size, special=special, min_frequency=options.min_frequency or 1,
            progress=merged if request.progress else None,
        )  # fmt: skip
        merged(len(trained.vocabulary))
    notes = []
    if left_out := len(words) - len(short):
        notes.append(f"{left_out:,} words of more than {LONGEST_WORD} characters, unknown to the model, were left out")
    # WordPiece is trained by merges but keeps none.
    return feed.result({FILE: _written(trained.vocabulary, special)}, len(trained.vocabulary), None, notes)


def _counted(feed: Feed) -> Counter[str]:
    from tokenizers import models

    stages = bert_words(models.WordPiece())
    words: Counter[str] = Counter()
    for text in feed:
        pieces = stages.pre_tokenizer.pre_tokenize_str(stages.normalizer.normalize_str(text))
        words.update(word for word, _ in pieces)
    return words


def _written(vocabulary: list[str], special: list[str]) -> bytes:
    from tokenizers import decoders, models

    ids = {string: index for index, string in enumerate(vocabulary)}
    model: Any = models.WordPiece(
        vocab=ids, unk_token=UNKNOWN, continuing_subword_prefix=PREFIX, max_input_chars_per_word=LONGEST_WORD
    )
    tokenizer = bert_words(model)
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(special)
    text: str = tokenizer.to_str(pretty=False)
    return text.encode()


TRAINERS = (
    TrainerSpec(
        name="wordpiece-likelihood",
        train=train_wordpiece,
        options=WordOptions,
        summary="WordPiece by the score of the papers, count(ab) / (count(a) count(b)), on the words of 'wordpiece'",
        algorithm="wordpiece",
        library="pyharness",
    ),
)
