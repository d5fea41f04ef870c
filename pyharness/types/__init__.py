"""The nouns of the harness: plain data and small protocols. Imports nothing else of ours."""

from __future__ import annotations

from pyharness.types.corpora import (
    WORK,
    Corpus,
    CorpusFamily,
    Digest,
    HasKeys,
    ParallelCorpus,
    Piece,
    Tally,
    TextRead,
    digest_of,
    kind_of,
)
from pyharness.types.results import (
    COUNT,
    MEGABYTES,
    MEGABYTES_PER_SECOND,
    MILLISECONDS,
    PERCENT,
    PLAIN,
    RATIO,
    SECONDS,
    Answer,
    Case,
    CaseResult,
    Column,
    Direction,
    Drawing,
    Fact,
    Failure,
    Format,
    Histogram,
    InputError,
    Listing,
    Measurement,
    Metric,
    Mismatch,
    Note,
    Pick,
    Plot,
    Published,
    State,
    Status,
    Table,
    Unsupported,
    counted,
    listed,
)
from pyharness.types.segments import HasCalibration, HasSegments, NotSpelled, Segments
from pyharness.types.tokenizers import (
    Engine,
    HasMergeModel,
    HasModelEncoder,
    HasPipeline,
    HasVocabulary,
    Instead,
    RoundTrip,
    Tokenizer,
    TokenizerFamily,
    TokenizerSpec,
)
from pyharness.types.trainings import DemolitionRule, FileContent, Streamed, TieRule, TrainingProgress
from pyharness.types.vocabularies import Ids, MergeModel, Offsets, TokenKind, Tokens, Vocabulary, cut, offsets_of

__all__ = [
    "COUNT", "MEGABYTES", "MEGABYTES_PER_SECOND", "MILLISECONDS", "PERCENT", "PLAIN", "RATIO", "SECONDS", "WORK",
    "Answer", "Case", "CaseResult", "Column", "Corpus", "CorpusFamily", "DemolitionRule", "Digest", "Direction",
    "Drawing", "Engine", "Fact", "Failure", "FileContent", "Format", "HasCalibration", "HasKeys", "HasMergeModel",
    "HasModelEncoder", "HasPipeline", "HasSegments", "HasVocabulary", "Histogram", "Ids", "InputError",
    "Instead", "Listing", "Measurement", "MergeModel", "Metric", "Mismatch", "NotSpelled", "Note", "Offsets",
    "ParallelCorpus", "Pick", "Piece", "Plot", "Published", "RoundTrip", "Segments", "State", "Status", "Streamed",
    "Table", "Tally", "TextRead", "TieRule", "TokenKind", "Tokenizer", "TokenizerFamily", "TokenizerSpec", "Tokens",
    "TrainingProgress", "Unsupported", "Vocabulary", "counted", "cut", "digest_of", "kind_of", "listed", "offsets_of",
]  # fmt: skip
