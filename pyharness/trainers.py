"""Trainers, by the name that plug-ins import: ``from pyharness.trainers import TrainerSpec``. A feature has them."""

from __future__ import annotations

from typing import Any

from pyharness.plugins import registry


def __getattr__(name: str) -> Any:
    return registry.public(__name__, name)
