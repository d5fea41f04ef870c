"""The stages before the model as data, so that they can be examined: what reachability's arguments are about."""

from pyharness.vocabularies.stages.split_steps import split_steps
from pyharness.vocabularies.stages.stages import HasStages, ModelKind, SplitStep, Stages, TokenForm
from pyharness.vocabularies.stages.token_forms import (
    byte_forms,
    huggingface_forms,
    huggingface_spelled_once,
    spelled_once,
)

__all__ = [
    "HasStages",
    "ModelKind",
    "SplitStep",
    "Stages",
    "TokenForm",
    "byte_forms",
    "huggingface_forms",
    "huggingface_spelled_once",
    "spelled_once",
    "split_steps",
]
