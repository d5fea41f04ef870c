"""What a trainer is asked, by the names of its options."""

from __future__ import annotations

import dataclasses
from typing import Any

from pyharness import trainers
from pyharness.trainers import TrainingRequest

_OF_REQUEST = {field.name for field in dataclasses.fields(TrainingRequest)}


def asked(trainer: str, **values: Any) -> TrainingRequest[Any]:
    """A request, whose options are all values that are none of its own."""
    options = {name: value for name, value in values.items() if name not in _OF_REQUEST}
    own = {name: value for name, value in values.items() if name in _OF_REQUEST}
    return TrainingRequest(options=trainers.options_of(trainer, **options), **own)
