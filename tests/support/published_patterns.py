"""Split patterns and pre-tokenizers of published tokenizers, as their files have them: data of tests and studies."""

from __future__ import annotations

from typing import Any

from pyharness.vocabularies.encodings import KIMI, LLAMA3, O200K
from pyharness.vocabularies.patterns.syntax import Dialect

BLOOM = " ?[^(\\s|[.,!?…。，、।۔،])]+"
CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"

# Expressions by the engine that their tokenizers run them in.
EXPRESSIONS: dict[str, tuple[str, Dialect]] = {
    "kimi": (KIMI, "fancy_regex"),  # tokenization_kimi.py of Kimi-K2
    "glm4": (LLAMA3, "fancy_regex"),  # tokenization_chatglm.py of glm-4-9b
    "llama4": (O200K, "fancy_regex"),  # models/llama4/tokenizer.py of llama-models
    "gpt_oss": (O200K, "oniguruma"),  # tokenizer.json of gpt-oss; o200k_harmony in tiktoken
    "bloom": (BLOOM, "oniguruma"),
    "clip": (CLIP, "oniguruma"),
}


def byte_level(*, use_regex: bool) -> dict[str, Any]:
    """Return a ByteLevel step."""
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def split(expression: str, behavior: str = "Isolated", *, invert: bool = False, kind: str = "Regex") -> dict[str, Any]:
    """Return a Split step."""
    return {"type": "Split", "pattern": {kind: expression}, "behavior": behavior, "invert": invert}


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    """Return a Sequence of steps."""
    return {"type": "Sequence", "pretokenizers": list(steps)}


PRE_TOKENIZERS: dict[str, dict[str, Any]] = {
    "gpt_oss": sequence(split(O200K), byte_level(use_regex=False)),
    "starcoder": sequence({"type": "Digits", "individual_digits": True}, byte_level(use_regex=True)),
    "bloom": sequence(split(BLOOM), byte_level(use_regex=False)),
    "falcon": sequence(
        {"type": "Punctuation", "behavior": "Contiguous"},
        byte_level(use_regex=True),
        {"type": "Digits", "individual_digits": False},
        split("[0-9][0-9][0-9]"),
    ),
    "clip": sequence(split(CLIP, "Removed", invert=True), byte_level(use_regex=True)),
}
