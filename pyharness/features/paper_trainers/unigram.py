"""Unigram of SentencePiece with the library's own settings: most papers name no others (arXiv 1808.06226)."""

from __future__ import annotations

from pyharness.features.paper_trainers.declarations import PublishedUnigramOptions
from pyharness.features.paper_trainers.documents import lines_of
from pyharness.features.training.trainers import TrainedTokenizer, TrainingRequest
from pyharness.features.training.trainers.sentencepiece import train

NOTE = "lines of more than 4,192 bytes are left out"  # by the library


def train_published(request: TrainingRequest[PublishedUnigramOptions]) -> TrainedTokenizer:
    """Train on the lines of the text.

    Raises:
        InputError: the vocabulary is too large; or as the library refuses.
    """
    options = request.options
    settings = {"normalization_rule_name": options.normalization, "split_digits": options.split_digits}
    return train(request, "unigram", lines_of, settings, NOTE)
