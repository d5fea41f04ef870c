"""The nouns of the harness: plain data and small protocols. Imports nothing of ours."""

from __future__ import annotations

from pyharness.types.corpora import Corpus, CorpusFamily, Digest, HasKeys, ParallelCorpus, Piece, Tally, digest_of
from pyharness.types.errors import InputError, Unsupported
from pyharness.types.results import (
    COUNT,
    MEGA_PER_SECOND,
    MEGABYTES,
    MILLISECONDS,
    PERCENT,
    RATIO,
    SECONDS,
    Case,
    CaseResult,
    Direction,
    Format,
    Measurement,
    Metric,
    State,
    Status,
)
from pyharness.types.tables import Column, Fact, Note, Pick, Published, Table
from pyharness.types.tokenizers import (
    Engine,
    HasMergeModel,
    HasModelEncoder,
    HasPipeline,
    HasVocabulary,
    RoundTrip,
    Tokenizer,
    TokenizerFamily,
    TokenizerSpec,
)
from pyharness.types.tokens import Ids, Offsets, Tokens, offsets_of
from pyharness.types.trainings import TrainingProgress
from pyharness.types.vocabularies import MergeModel, TokenKind, Vocabulary

__all__ = [
    "COUNT",
    "MEGABYTES",
    "MEGA_PER_SECOND",
    "MILLISECONDS",
    "PERCENT",
    "RATIO",
    "SECONDS",
    "Case",
    "CaseResult",
    "Column",
    "Corpus",
    "CorpusFamily",
    "Digest",
    "Direction",
    "Engine",
    "Fact",
    "Format",
    "HasKeys",
    "HasMergeModel",
    "HasModelEncoder",
    "HasPipeline",
    "HasVocabulary",
    "Ids",
    "InputError",
    "Measurement",
    "MergeModel",
    "Metric",
    "Note",
    "Offsets",
    "ParallelCorpus",
    "Pick",
    "Piece",
    "Published",
    "RoundTrip",
    "State",
    "Status",
    "Table",
    "Tally",
    "TokenKind",
    "Tokenizer",
    "TokenizerFamily",
    "TokenizerSpec",
    "Tokens",
    "TrainingProgress",
    "Unsupported",
    "Vocabulary",
    "digest_of",
    "offsets_of",
]
