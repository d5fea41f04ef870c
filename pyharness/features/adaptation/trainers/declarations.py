"""Trainers that add or remove a tokenizer's tokens, with their options; each names its implementation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from pyharness.features.training.trainers import TrainerSpec
from pyharness.features.training.trainers.options import BIGGEST_VOCABULARY, Options, declared, located, option
from pyharness.types import InputError, TieRule

CONTINUED, NAIVE = "continued-bpe", "naive-extension"
_HERE = "pyharness.features.adaptation.trainers"


@dataclass(frozen=True, kw_only=True)
class LearningOptions(Options):
    """Options of learnt tokens."""

    min_frequency: int | None = option("Merge no pair that occurs less often", default=None, instead="2")
    max_token_length: int | None = option("Longest new token, in bytes", default=None, instead="any")
    max_token_characters: int | None = option(
        "Longest new token, in characters", default=None, instead="for SentencePiece that of its model"
    )
    deny: str | None = option("Make no token whose text matches this", default=None, metavar="REGEX")
    character_coverage: float | None = option(
        "For models of characters: first add those that FILE lacks, up to this share of the text, such "
        "as 0.99995",
        default=None, flag="--coverage",
    )  # fmt: skip

    def check(self) -> None:
        """Refuse an invalid expression or share."""
        from pyharness.features.adaptation.bpe.coverage import check_share
        from pyharness.features.adaptation.bpe.placement import compiled

        super().check()
        compiled("deny", self.deny or "")
        if self.character_coverage is not None:
            check_share(self.character_coverage)


@dataclass(frozen=True, kw_only=True)
class AdaptingOptions(LearningOptions):
    """Options of any change to a tokenizer."""

    base: str = option(
        "The tokenizer: a tokenizer.json, tekken.json, SentencePiece BPE model or rank file, or its folder; "
        "file:PATH?pattern=cl100k_base for a rank file that is unknown; or a row with such a file: mistral:v3, "
        "tiktoken:gpt2, hf:OWNER/NAME",
        metavar="FILE", example="tokenizer.json",
    )  # fmt: skip
    tokens: int | None = option("New tokens", default=None, most=BIGGEST_VOCABULARY, example="8192")
    whole_pieces: bool | None = option(
        "While counting and learning, treat a piece that is a token of FILE as that token",
        default=None, instead="as FILE does",
    )  # fmt: skip
    balance: bool = option("Let each --corpus count as much as the largest, in tokens of FILE", default=False)
    multiple_of: int = option(
        "Rows of the model will be a multiple of N. This is noted for adapt embed and does not change the "
        "tokenizer",
        default=1, most=(1 << 24) - 1,
    )  # fmt: skip
    cascade: bool = option(
        "Let old rules merge the result of a new rule further, if FILE has that string", default=True
    )
    tie_rule: TieRule = option("Which of equally frequent pairs is merged first", default="smallest_ids")

    def check(self) -> None:
        """Refuse a missing base."""
        super().check()
        located(self.base)


@dataclass(frozen=True, kw_only=True)
class ExtensionOptions(AdaptingOptions):
    """Options of an extension."""

    tokens: int | None = option("New tokens", default=None, most=BIGGEST_VOCABULARY, example="8192", is_size=True)
    reuse: str | None = option(
        "New tokens first get the ids that no token has, and those of added or unused tokens that fully match, such as "
        "'<.reserved_special_token_[0-9]+.>'",
        default=None, metavar="REGEX",
    )  # fmt: skip

    def check(self) -> None:
        """Refuse an invalid expression, and an extension without a number of tokens."""
        from pyharness.features.adaptation.bpe.placement import compiled

        super().check()
        compiled("reuse", self.reuse or "")
        if self.tokens is None:
            raise InputError("say how many tokens the base gains: tokens=8192")


@dataclass(frozen=True, kw_only=True)
class NaiveOptions(ExtensionOptions):
    """Options of a naive extension."""

    auxiliary_size: int | None = option("For naive: size of the separate training", default=None, instead="64000")


@dataclass(frozen=True, kw_only=True)
class PruningOptions(AdaptingOptions):
    """Options of a pruning."""

    vocab_size: int = option(
        "Tokens of any kind to keep", default=0, most=BIGGEST_VOCABULARY, flag="--size",
        instead="by --share, or as large as FILE", is_size=True,
    )  # fmt: skip
    share: float | None = option(
        "Instead: share of the removable tokens to remove", default=None, least=0, most=1, example="0.5", is_size=True
    )
    tokens: int | None = option(
        "Then learn N tokens from the corpus; --size includes them",
        default=None, most=BIGGEST_VOCABULARY, flag="--extend",
    )  # fmt: skip

    def check(self) -> None:
        """Refuse a pruning without a size or with two, and options of learnt tokens where none are learnt."""
        super().check()
        if self.vocab_size and self.share is not None:
            raise InputError("prune to a size or by a share: give one of vocab_size= and share=")
        if not self.vocab_size and self.share is None and self.tokens is None:
            raise InputError(
                "say how much goes: vocab_size= (tokens that are left), share= (of those that can go), or tokens= (new "
                "ones, in the place of as many)"
            )
        names = sorted(name for name in declared(LearningOptions) if getattr(self, name) is not None)
        if names and self.tokens is None:
            raise InputError(f"{names[0]}= is for tokens that are learnt, and none are: give tokens=, or leave it out")


@dataclass(frozen=True, kw_only=True)
class ScriptOptions(PruningOptions):
    """Options of a pruning by scripts."""

    scripts: tuple[str, ...] = option(
        "Script whose tokens go first, such as Cyrillic; repeatable",
        default=(),
        flag="--script",
        metavar="NAME",
        example="Cyrillic",
    )

    def check(self) -> None:
        """Refuse a pruning without a script."""
        super().check()
        if not self.scripts:
            raise InputError("name the scripts whose tokens go first: scripts=Cyrillic")


_ADAPTING = partial(
    TrainerSpec, algorithm="bpe", library="pyharness", base_digest=f"{_HERE}.adapted:digest_of",
    not_exported="it writes the file of its base, edited",
)  # fmt: skip
_PRUNINGS = {
    "leaf-pruning": "leaf pruning (arXiv 2512.03989): removes the least frequent tokens that no other is made of",
    "frequency-pruning": "removes the least frequent tokens, for comparison with leaf-pruning",
    "last-n": "removes the largest ids, for comparison with leaf-pruning",
    "leaf-last-n": "removes the largest ids that no other token is made of",
    "merge-based": "removes the tokens that occur and are merged least",
    "script": "removes the tokens of chosen scripts first, then the least frequent",
}
TRAINERS = (
    _ADAPTING(
        name=CONTINUED,
        train=f"{_HERE}.extension:train_continued",
        options=ExtensionOptions,
        summary="continued BPE (arXiv 2512.03989): trains a base further, for more tokens",
    ),
    _ADAPTING(
        name=NAIVE,
        train=f"{_HERE}.extension:train_naive",
        options=NaiveOptions,
        summary="naive extension: adds the tokens of a separate training, for comparison with continued-bpe",
    ),
    *(
        _ADAPTING(
            name=name,
            train=f"{_HERE}.pruning:{name.replace('-', '_').upper()}.train",
            options=ScriptOptions if name == "script" else PruningOptions,
            summary=summary,
        )
        for name, summary in _PRUNINGS.items()
    ),
)
