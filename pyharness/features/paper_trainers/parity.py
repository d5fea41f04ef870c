"""Parity-aware BPE: the language whose text is compressed least chooses the next merge (arXiv 2508.04796)."""

from __future__ import annotations

from typing import Any

from pyharness.features.paper_trainers.declarations import ParityOptions
from pyharness.features.paper_trainers.documents import CorpusFeed, lines_of
from pyharness.features.training.trainers import TrainedTokenizer, TrainingRequest
from pyharness.features.training.trainers.huggingface import alphabet, byte_level, train_by
from pyharness.types import InputError

BYTES = 256


def train_parity(request: TrainingRequest[ParityOptions]) -> TrainedTokenizer:
    """Train on the corpora of a request, each a language.

    Raises:
        InputError: the ratios are not one for each corpus; or as the library refuses.
    """
    from tokenizers import models

    options, feed = request.options, CorpusFeed(request)
    languages = [lines_of(part) for part in feed.corpora()]
    if options.ratio and len(options.ratio) != len(languages):
        raise InputError(f"{len(options.ratio)} ratios for {len(languages)} corpora: give one for each, in their order")
    balance: dict[str, Any] = {"ratio": list(options.ratios)} if options.ratio else {}
    if options.parallel:
        balance["dev_iterators"] = [lines_of(part) for part in feed.again(len(languages))]
    tokenizer, trainer = byte_level(models.BPE(), options), _trainer(options)
    return train_by(
        feed, tokenizer, lambda: trainer.train_from_iterator(tokenizer, train_iterators=languages, **balance),
        _notes(options, len(languages)),
    )  # fmt: skip


def _trainer(options: ParityOptions) -> Any:
    from tokenizers import trainers

    if not hasattr(trainers, "ParityBpeTrainer"):
        raise InputError("this tokenizers has no ParityBpeTrainer; pip install -U tokenizers")
    return trainers.ParityBpeTrainer(
        num_merges=options.vocab_size - BYTES - len(options.special), variant=options.variant,
        min_frequency=options.min_frequency or 1, global_merges=options.global_merges,
        window_size=options.window_size, alpha=options.alpha, special_tokens=list(options.special),
        show_progress=False, initial_alphabet=alphabet(), max_token_length=options.max_token_length,
    )  # fmt: skip


def _notes(options: ParityOptions, languages: int) -> list[str]:
    if languages == 1:
        return ["one corpus is one language, and nothing is balanced; give several, each with -c"]
    if options.parallel or options.ratio:
        return []
    return ["totals are compared, so the largest corpus decides; the options parallel and ratio balance languages"]
