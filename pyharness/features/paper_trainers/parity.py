"""Parity-aware BPE: the language whose text is compressed least chooses the next merge (arXiv 2508.04796)."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from pyharness.bpe.model.text_splitter import TextSplitter
from pyharness.features.paper_trainers.declarations import ParityOptions
from pyharness.features.paper_trainers.documents import CorpusFeed, lines_of
from pyharness.features.training.trainers import TrainedTokenizer, TrainingRequest
from pyharness.system.threads import pool_of
from pyharness.types import InputError

FILE = "tokenizer.json"
BYTES = 256
MOST = 1 << 24  # the library allocates by the requested size


def train_parity(request: TrainingRequest[ParityOptions]) -> TrainedTokenizer:
    """Train on the corpora of a request, each a language.

    Raises:
        InputError: the ratios are not one for each corpus; or as the library refuses.
    """
    options, feed = request.options, CorpusFeed(request)
    if options.vocab_size > MOST:
        raise InputError(f"vocab_size={options.vocab_size} is too large: at most {MOST:,} are trained")
    languages = [lines_of(part) for part in feed.corpora(counted=True)]
    if options.ratio and len(options.ratio) != len(languages):
        raise InputError(f"{len(options.ratio)} ratios for {len(languages)} corpora: give one for each, in their order")
    balance: dict[str, Any] = {"ratio": list(options.ratios)} if options.ratio else {}
    if options.parallel:
        balance["dev_iterators"] = [lines_of(part) for part in feed.corpora(counted=False)]
    tokenizer, trainer = _tokenizer(options), _trainer(options)
    pool_of("tokenizers", "RAYON_NUM_THREADS").start(request.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if request.threads > 1 else "false"
    with feed.training("tokenizers"):
        trainer.train_from_iterator(tokenizer, train_iterators=languages, **balance)
    text: str = tokenizer.to_str(pretty=False)
    merges = len(json.loads(text)["model"]["merges"])
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    return feed.result({FILE: text.encode()}, size, merges, _notes(options, len(languages)))


def _tokenizer(options: ParityOptions) -> Any:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    tokenizer: Any = Tokenizer(models.BPE())
    splitter = TextSplitter(options.pattern or "gpt2")
    # tokenizers reads ``{1,3}+`` of cl100k as a repetition; there the possessive form cannot change a match
    expressions = [re.sub(r"(\{\d+,\d*\})\+", r"\1", one) for one in splitter.expressions]
    try:
        splits = [pre_tokenizers.Split(Regex(one), "isolated") for one in expressions]
    except Exception as error:
        raise InputError(f"tokenizers cannot compile the split pattern {splitter.name!r}: {error}") from None
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _trainer(options: ParityOptions) -> Any:
    from tokenizers import pre_tokenizers, trainers

    if not hasattr(trainers, "ParityBpeTrainer"):
        raise InputError("this tokenizers has no ParityBpeTrainer; pip install -U tokenizers")
    return trainers.ParityBpeTrainer(
        num_merges=options.vocab_size - BYTES - len(options.special), variant=options.variant,
        min_frequency=options.min_frequency or 0, global_merges=options.global_merges,
        window_size=options.window_size, alpha=options.alpha, special_tokens=list(options.special),
        show_progress=False, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        max_token_length=options.max_token_length,
    )  # fmt: skip


def _notes(options: ParityOptions, languages: int) -> list[str]:
    if languages == 1:
        return ["one corpus is one language, and nothing is balanced; give several, each with -c"]
    if options.parallel or options.ratio:
        return []
    return ["languages are balanced by their own totals, of which the largest decides; parallel= or ratio= balances"]
