"""Trainers of the sentencepiece library: Unigram and BPE, without normalisation, white space kept."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from pyharness.features.training.trainers import TrainedTokenizer, TrainingRequest
from pyharness.features.training.trainers.declarations import SentencePieceOptions
from pyharness.features.training.trainers.feeding import Feed
from pyharness.types import InputError

FILE = "tokenizer.model"
LINE_CHARACTERS = 1024  # at most 4,096 bytes: the library leaves out lines of more than 4,192
MOST = 1_000_000  # the library starts from a million candidates, and with 2^31 it does not return
SEED = 1
NOTE = "lines without a space in 1,024 characters are cut there; white space is kept, text is not normalised"
SETTINGS: Mapping[str, Any] = {
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
    "allow_whitespace_only_pieces": True,
    "character_coverage": 1.0,
}


def train_unigram(request: TrainingRequest[SentencePieceOptions]) -> TrainedTokenizer:
    """Train a Unigram language model."""
    return train(request, "unigram", _lines, SETTINGS, NOTE)


def train_bpe(request: TrainingRequest[SentencePieceOptions]) -> TrainedTokenizer:
    """Train BPE over characters."""
    return train(request, "bpe", _lines, SETTINGS, NOTE)


def train(
    request: TrainingRequest[SentencePieceOptions], kind: str, lines: Callable[[Iterable[str]], Iterator[str]],
    settings: Mapping[str, Any], note: str,
) -> TrainedTokenizer:  # fmt: skip
    """Train a model of a kind on the lines of the text, with settings of the library that no option says.

    Raises:
        InputError: the vocabulary is too large; or as the library refuses.
    """
    if request.options.vocab_size > MOST:
        raise InputError(f"vocab_size={request.options.vocab_size} is too large: sentencepiece takes at most {MOST:,}")
    feed = Feed(request)
    with feed.training("sentencepiece", partial(_explain, request.options.vocab_size)):
        data = _run(request, kind, lines(feed), settings)
    size, merges = _sizes(data)
    notes = [note]
    if kind == "unigram":  # the order of floating-point sums depends on threads
        notes.append(f"pieces depend on the number of threads, here {request.threads}")
    return feed.result({FILE: data}, size, merges if kind == "bpe" else None, notes)


def _run(
    request: TrainingRequest[SentencePieceOptions], kind: str, lines: Iterator[str], settings: Mapping[str, Any]
) -> bytes:
    import sentencepiece

    options, written = request.options, io.BytesIO()
    if options.character_coverage is not None:
        settings = {**settings, "character_coverage": options.character_coverage}
    sentencepiece.set_random_generator_seed(SEED)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines, model_writer=written, model_type=kind, vocab_size=options.vocab_size,
        byte_fallback=options.byte_fallback, control_symbols=list(options.special),
        max_sentencepiece_length=options.max_token_length or 16, input_sentence_size=options.sentences,
        shuffle_input_sentence=options.sentences > 0, num_threads=request.threads, minloglevel=3, **settings,
    )  # fmt: skip
    return written.getvalue()


def _lines(texts: Iterable[str]) -> Iterator[str]:
    """Yield lines within the limit: a longer line is cut before its last space within it; without one, at the limit."""
    for text in texts:
        for line in text.split("\n"):
            start = 0
            while len(line) - start > LINE_CHARACTERS:
                cut = line.rfind(" ", start + 1, start + LINE_CHARACTERS)
                cut = cut if cut > 0 else start + LINE_CHARACTERS
                yield line[start:cut]
                start = cut
            if start < len(line):
                yield line[start:]


def _explain(size: int, message: str) -> InputError | None:
    wanted = f"{size:,}"
    if high := re.search(r"Vocabulary size too high.*<= (\d+)", message):
        most = f"{int(high[1]):,}"
        return InputError(
            f"sentencepiece finds {most} tokens in this text, and {wanted} are asked for: ask for at most {most}, or "
            "train on more text"
        )
    if low := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        least = f"{int(low[1]):,}"
        return InputError(
            f"a vocabulary of {wanted} has no room for the alphabet and the special tokens: ask for at least {least}, "
            "or for a smaller character coverage"
        )
    if "sentences_.empty()" in message:
        return InputError("the corpus has no text to train on")
    return None


def _sizes(data: bytes) -> tuple[int, int]:
    """Count the pieces, and the merged pieces among them: normal ones of several characters."""
    from pyharness.vocabularies.sentencepiece_file import PieceType, read_model

    model: Any = read_model(data, FILE)
    several = (
        len(piece) > 1 for piece, kind in zip(model.pieces, model.types, strict=True) if kind is PieceType.NORMAL
    )
    return len(model.pieces), sum(several)
