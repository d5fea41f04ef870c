"""Causal language models of ``transformers``, and how well they predict the tokens of a text.

Weights come from safetensors only. Code that a repository ships is never run.
"""

from pyharness.features.language_models.causal import CausalModel
from pyharness.features.language_models.folder import ModelFolder, check, holds_model
from pyharness.features.language_models.loader import DTYPES, load
from pyharness.features.language_models.windows import Layout, Window, batches, sliding_windows

__all__ = [
    "DTYPES", "CausalModel", "Layout", "ModelFolder", "Window", "batches", "check", "holds_model", "load",
    "sliding_windows",
]  # fmt: skip
