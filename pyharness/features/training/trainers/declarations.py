"""The trainers of pyharness, with their options: light, because each names its implementation as "module:function"."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self

from pyharness.features.training.trainers import TrainerSpec
from pyharness.features.training.trainers.options import MinFrequency, Sized, SpecialTokens, Split, option
from pyharness.types import DemolitionRule, InputError, TieRule

EXTRA = "trainers"


@dataclass(frozen=True, kw_only=True)
class Symbols(SpecialTokens):
    """Tokens are built from bytes or from characters."""

    symbols: Literal["bytes", "characters"] = option("What is merged", default="bytes")
    initial_alphabet: str = option("Over characters: these always get a token", default="")

    def check(self) -> None:
        """Refuse an alphabet over bytes."""
        super().check()
        if self.symbols == "bytes" and self.initial_alphabet:
            raise InputError("every byte is in the alphabet already: an initial alphabet is for symbols 'characters'")


@dataclass(frozen=True, kw_only=True)
class Unknown(Symbols):
    """One token stands for symbols without a token."""

    unknown: str | None = option(
        "Over characters: the special token for a character without a token; it comes after the others",
        default=None, instead="such characters are left out",
    )  # fmt: skip

    def check(self) -> None:
        """Refuse an unknown token over bytes."""
        super().check()
        if self.symbols == "bytes" and self.unknown is not None:
            raise InputError("every byte has a token: an unknown token is for symbols 'characters'")

    @property
    def added(self) -> tuple[str, ...]:
        """Special tokens and the unknown token, in the order of their ids."""
        return (*self.special, *(() if self.unknown is None else (self.unknown,)))


@dataclass(frozen=True, kw_only=True)
class OwnOptions(MinFrequency, Symbols, Split, Sized):
    """Options of plain BPE and of Scaffold-BPE."""

    limit_alphabet: int | None = option(
        "Over characters: keep the N most frequent ones; the others have no token and are left out of the text",
        default=None, instead="all",
    )  # fmt: skip
    max_token_length: int | None = option("Longest token, in bytes", default=None, instead="any")
    max_token_characters: int | None = option("Longest token, in characters", default=None, instead="any")


@dataclass(frozen=True, kw_only=True)
class BpeOptions(Unknown, OwnOptions):
    """Options of plain BPE."""

    continuing_subword_prefix: str = option(
        "Written before every symbol that does not start a piece, such as ##", default=""
    )
    end_of_word_suffix: str = option(
        "Written after the last symbol of a piece, such as </w>, so that it gets tokens of its own", default=""
    )
    tie_rule: TieRule = option(
        "Which of equally frequent pairs is merged first. smallest_ids: as tokenizers (which numbers bytes in another "
        "order); first_seen: as minbpe; lexicographic: by bytes; sentencepiece: as SentencePiece",
        default="smallest_ids",
    )

    def smallest(self) -> Self:
        """Return the options with as many ids as one letter needs."""
        initial = 0 if self.symbols == "bytes" else len(self.initial_alphabet)
        return dataclasses.replace(self, vocab_size=257 + len(self.added) + initial)


@dataclass(frozen=True, kw_only=True)
class ScaffoldOptions(OwnOptions):
    """Options of Scaffold-BPE."""

    demolition: DemolitionRule = option("How removed tokens are written: eq6 (the paper's) or shortest",
                                        default="eq6")  # fmt: skip
    trace: bool = option("Also write every demotion and promotion, as JSON lines", default=False)


def too_small(size: int, options: SpecialTokens, alphabet: int, symbols: str = "bytes") -> InputError:
    """Return the error for a vocabulary without room for its alphabet."""
    special = f" and {len(options.added)} special tokens" if options.added else ""
    advice = "" if symbols == "bytes" else ", or train on bytes, whose alphabet is 256"
    return InputError(
        f"a vocabulary of {size:,} has no room for the alphabet of {alphabet:,} {symbols}{special}; ask for at "
        f"least {alphabet + len(options.added):,}{advice}"
    )


@dataclass(frozen=True, kw_only=True)
class WordOptions(MinFrequency, SpecialTokens, Sized):
    """Options of a trainer of words, or of their parts."""


@dataclass(frozen=True, kw_only=True)
class WordPieceOptions(WordOptions):
    """Options of WordPiece."""

    initial_alphabet: str = option("Characters that always get a token", default="")
    limit_alphabet: int | None = option(
        "Keep the N most frequent characters; the others are left out", default=None, instead="1000, the library's"
    )


@dataclass(frozen=True, kw_only=True)
class ByteLevelOptions(SpecialTokens, Split, Sized):
    """Options of the byte-level trainers of tokenizers."""

    max_token_length: int | None = option("Longest token, in bytes", default=None, instead="any")

    def check(self) -> None:
        """Refuse a vocabulary without room for the bytes."""
        super().check()
        if self.vocab_size < 256 + len(self.added):
            raise too_small(self.vocab_size, self, 256)


@dataclass(frozen=True, kw_only=True)
class ByteLevelBpeOptions(MinFrequency, ByteLevelOptions):
    """Options of byte-level BPE."""


@dataclass(frozen=True, kw_only=True)
class ByteLevelUnigramOptions(ByteLevelOptions):
    """Options of byte-level Unigram."""

    max_token_length: int | None = option("Longest piece, in bytes", default=None, instead="16")


@dataclass(frozen=True, kw_only=True)
class SentencePieceOptions(SpecialTokens, Sized):
    """Options of SentencePiece."""

    max_token_length: int | None = option("Longest piece, in characters", default=None, instead="16", most=512)
    character_coverage: float | None = option(
        "Share of the text whose characters get a token", default=None, instead="1", least=0.98, most=1.0
    )
    byte_fallback: bool = option("Bytes for characters without a token", default=True)
    sentences: int = option("Train on N random lines", default=0, instead="all", least=0)


@dataclass(frozen=True, kw_only=True)
class RustBpeOptions(Split, Sized):
    """Options of rustbpe."""


@dataclass(frozen=True, kw_only=True)
class OnePatternOptions(Sized):
    """Options of the trainers that split by GPT-2's expression alone."""

    pattern: Literal["gpt2"] | None = option("How text is split first", default=None, instead="gpt2")


_HERE = __name__.rpartition(".")[0]
_OURS = partial(TrainerSpec, library="pyharness", place=0)
_OF_TOKENIZERS = partial(TrainerSpec, library="tokenizers", place=0)
_OF_SENTENCEPIECE = partial(TrainerSpec, options=SentencePieceOptions, library="sentencepiece", place=0)
_PEERS = {"rustbpe": RustBpeOptions, "ffbpe": OnePatternOptions, "gigatoken": OnePatternOptions}
TRAINERS: tuple[TrainerSpec[Any], ...] = (
    _OURS(
        name="bpe",
        train=f"{_HERE}.native:train_bpe",
        options=BpeOptions,
        summary="byte-pair encoding, exact counts, four tie rules",
        algorithm="bpe",
        not_exported=None,
    ),
    _OURS(
        name="scaffold-bpe",
        train=f"{_HERE}.native:train_scaffold",
        options=ScaffoldOptions,
        summary="Scaffold-BPE (arXiv 2404.17808): tokens that only lead to longer ones leave the vocabulary",
        algorithm="scaffold-bpe",
        not_exported="no other library can express Scaffold-BPE",
    ),
    _OF_TOKENIZERS(
        name="wordpiece",
        train=f"{_HERE}.huggingface:train_wordpiece",
        options=WordPieceOptions,
        summary="WordPiece as in BERT: BertNormalizer (cased), BertPreTokenizer, ##",
        algorithm="wordpiece",
        deterministic=False,
    ),
    _OF_TOKENIZERS(
        name="words",
        train=f"{_HERE}.huggingface:train_words",
        options=WordOptions,
        summary="the most frequent words of BertPreTokenizer, cased; the rest is unknown",
        algorithm="words",
    ),
    _OF_TOKENIZERS(
        name="characters",
        train=f"{_HERE}.huggingface:train_characters",
        options=WordOptions,
        summary="the most frequent characters; the rest is unknown",
        algorithm="characters",
    ),
    _OF_TOKENIZERS(
        name="tokenizers-bpe",
        train=f"{_HERE}.huggingface:train_bpe",
        options=ByteLevelBpeOptions,
        summary="byte-level BPE of the tokenizers library",
        algorithm="bpe",
    ),
    _OF_TOKENIZERS(
        name="tokenizers-unigram",
        train=f"{_HERE}.huggingface:train_unigram",
        options=ByteLevelUnigramOptions,
        summary="byte-level Unigram of the tokenizers library",
        algorithm="unigram",
        deterministic=False,  # the same pieces, but scores and order follow a hash map's order
    ),
    _OURS(
        name="wordpiece-likelihood",
        train=f"{_HERE}.likelihood:train_wordpiece",
        options=WordOptions,
        summary="WordPiece by the score of the papers, count(ab) / (count(a) count(b)), on the words of 'wordpiece'",
        algorithm="wordpiece",
    ),
    *(
        TrainerSpec(
            name=name,
            train=f"{_HERE}.peers:train_{name}",
            options=options,
            summary=f"byte-level BPE of {name}",
            algorithm="bpe",
            library=name,
            extra=EXTRA,
            place=0,
        )
        for name, options in _PEERS.items()
    ),
    _OF_SENTENCEPIECE(
        name="unigram",
        train=f"{_HERE}.sentencepiece:train_unigram",
        summary="Unigram language model of SentencePiece; pieces depend on the number of threads",
        algorithm="unigram",
        depends_on_threads=True,
    ),
    _OF_SENTENCEPIECE(
        name="sentencepiece-bpe",
        train=f"{_HERE}.sentencepiece:train_bpe",
        summary="BPE of SentencePiece: over characters, from the score of pieces",
        algorithm="bpe",
    ),
)
