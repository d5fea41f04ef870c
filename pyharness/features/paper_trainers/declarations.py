"""The trainers that papers use, with their options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pyharness.features.training.trainers import TrainerSpec
from pyharness.features.training.trainers.declarations import ByteLevelOptions, SentencePieceOptions
from pyharness.features.training.trainers.options import MinFrequency, Options, located, option
from pyharness.types import InputError

MOST_RATIO = 1e6


@dataclass(frozen=True, kw_only=True)
class ParityOptions(MinFrequency, ByteLevelOptions):
    """Options of parity-aware BPE."""

    parallel: bool = option("The corpora are parallel: balance the tokens of their texts", default=False)
    ratio: tuple[str, ...] = option(
        "Bytes that a token should have in a corpus; repeat it for each. Only their proportions count", default=()
    )
    global_merges: int = option("Merges of plain BPE before the languages take turns", default=0, least=0, most=1 << 24)
    variant: Literal["base", "window"] = option(
        "window: who had many of the last turns waits; base: none", default="base"
    )
    window_size: int = option("With variant 'window': how many of the last turns count", default=100, most=1 << 24)
    alpha: float = option(
        "With variant 'window': share of turns beyond which one waits", default=2.0, least=0, most=1e6
    )

    def check(self) -> None:
        """Refuse two ways to balance, and ratios out of range."""
        super().check()
        if self.parallel and self.ratio:
            raise InputError("parallel and ratio are two ways to balance: give one of them")
        try:
            fitting = all(0 < ratio <= MOST_RATIO for ratio in self.ratios)
        except ValueError:
            fitting = False
        if not fitting:
            raise InputError(
                f"ratio={','.join(self.ratio)[:80]}: give one number for each corpus, above 0 and at most "
                f"{MOST_RATIO:,.0f}"
            )

    @property
    def ratios(self) -> tuple[float, ...]:
        """The ratios as numbers."""
        return tuple(map(float, self.ratio))


@dataclass(frozen=True, kw_only=True)
class PublishedUnigramOptions(SentencePieceOptions):
    """Options of Unigram with the library's own settings."""

    character_coverage: float | None = option(
        "Share of the text whose characters get a token", default=None, instead="0.9995", least=0.98, most=1.0
    )
    byte_fallback: bool = option("Bytes for characters without a token", default=False)
    normalization: Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"] = option(
        "How text is normalised", default="nmt_nfkc"
    )
    split_digits: bool = option("Each digit is a token of its own", default=False)


@dataclass(frozen=True, kw_only=True)
class PickyOptions(ByteLevelOptions):
    """Options of PickyBPE."""

    threshold: float = option(
        "Remove a part of a merge if the merge took more than this share of its occurrences; 1 removes nothing",
        default=0.9, least=0, most=1,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class KnockoutOptions(Options):
    """Options of BPE-knockout."""

    base: str = option(
        "The byte-level BPE: a tokenizer.json, rank file or model.json, or a row with such a file: tiktoken:gpt2",
        metavar="FILE", example="tokenizer.json",
    )  # fmt: skip
    threshold: float = option(
        "Knock a token out if at least this share of the boundaries that its merge closes are of morphemes",
        default=0.5, least=0, most=1,
    )  # fmt: skip
    iterations: int = option("Rounds of knocking out, while a token is still to blame", default=1, most=1000)
    space: bool = option("Gold words stand behind a space, as in text", default=True)

    def check(self) -> None:
        """Refuse a missing base, and a threshold that blames merges of no word."""
        super().check()
        located(self.base)
        if not self.threshold:
            raise InputError("threshold=0 would knock every token out: give a share above 0")


TRAINERS = (
    TrainerSpec(
        name="parity-bpe",
        train=f"{__package__}.parity:train_parity",
        options=ParityOptions,
        summary="parity-aware BPE (arXiv 2508.04796) of tokenizers: each corpus is a language",
        algorithm="bpe",
        library="tokenizers",
    ),
    TrainerSpec(
        name="unigram-published",
        train=f"{__package__}.unigram:train_published",
        options=PublishedUnigramOptions,
        summary="Unigram of SentencePiece with the library's own settings, as papers train it: NFKC, spaces joined",
        algorithm="unigram",
        library="sentencepiece",
        depends_on_threads=True,
    ),
    TrainerSpec(
        name="picky-bpe",
        train=f"{__package__}.picky:train_picky",
        options=PickyOptions,
        summary="PickyBPE (arXiv 2409.04599): tokens that longer ones have used up are removed while it trains",
        algorithm="picky-bpe",
        library="pyharness",
        not_exported="no other library can express events",
    ),
    TrainerSpec(
        name="bpe-knockout",
        train=f"{__package__}.knockout:train_knockout",
        options=KnockoutOptions,
        summary="BPE-knockout (NAACL 2024): takes tokens that join morphemes out of a BPE; the corpus is gold words",
        algorithm="bpe-knockout",
        library="pyharness",
        base_digest=f"{__package__}.knockout:digest_of",
        not_exported="no other library can express events",
    ),
)
