"""The stages before the model as data, so that they can be examined: what reachability's arguments are about."""

from pyharness.vocabularies.stages.stages import (
    HasStages,
    ModelKind,
    SplitStep,
    Stages,
    TokenForm,
    byte_forms,
    huggingface_forms,
    split_steps,
)

__all__ = [
    "HasStages",
    "ModelKind",
    "SplitStep",
    "Stages",
    "TokenForm",
    "byte_forms",
    "huggingface_forms",
    "split_steps",
]
