"""Changes the vocabulary of a language model: plans what becomes of each row, and writes a checkpoint by the plan."""

from pyharness.features.adaptation.surgery.checkpoint import adapted_files
from pyharness.features.adaptation.surgery.matrices import VocabularyMatrices
from pyharness.features.adaptation.surgery.plan import EmbeddingPlan, Numbering, Operation
from pyharness.features.adaptation.surgery.planning import Method, Request, plan_of_map, plan_of_tokenizers

__all__ = [
    "EmbeddingPlan",
    "Method",
    "Numbering",
    "Operation",
    "Request",
    "VocabularyMatrices",
    "adapted_files",
    "plan_of_map",
    "plan_of_tokenizers",
]
