"""Pre-tokenizers of tokenizer.json that are known split patterns, in both directions; the rest is left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyharness.types import InputError
from pyharness.vocabularies.huggingface.file import flat_stages
from pyharness.vocabularies.patterns.split_patterns import CL100K, SPLIT_PATTERNS

BYTE_LEVEL_ONLY = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}

# Oniguruma, which tokenizers splits by, reads {1,3}+ as a repetition of a repetition: tiktoken's spelling of cl100k
# means another pattern in a tokenizer.json, and this one means cl100k.
_SPELLED_DIFFERENTLY: Mapping[str, tuple[str, ...]] = {"cl100k": (CL100K.replace("{1,3}+", "{1,3}"),)}


def _spellings() -> dict[tuple[str, ...], str]:
    """Every sequence of expressions that means a known pattern to Oniguruma."""
    names = {}
    for name, pattern in SPLIT_PATTERNS.items():
        expressions = _SPELLED_DIFFERENTLY.get(name, pattern.expressions)
        names[expressions] = name
        names |= {(spelling,): name for spelling in pattern.spellings if "{1,3}+" not in spelling}
    return names


_KNOWN = _spellings()


def split_pattern(stage: Mapping[str, Any] | None) -> str | None:
    """Name of the split pattern that a pre-tokenizer is; None where it is not known to be one.

    ``Split`` steps must isolate their matches; a ``ByteLevel`` that follows them must neither split nor put a space
    before the text.
    """
    steps = flat_stages(stage)
    byte_level = steps[-1] if steps and steps[-1]["type"] == "ByteLevel" else None
    splits = steps[:-1] if byte_level is not None else steps
    if byte_level is not None and byte_level.get("add_prefix_space") is not False:
        return None
    expressions = tuple(_expression(step) for step in splits)
    if byte_level is not None and byte_level.get("use_regex", True) is not False:
        return "gpt2" if not splits else None
    return _KNOWN.get(expressions) if splits else "none"


def _expression(step: Mapping[str, Any]) -> str:
    """Expression of a Split step that isolates what it matches; one that no pattern has for any other step."""
    pattern = step.get("pattern")
    isolates = step["type"] == "Split" and step.get("behavior") == "Isolated" and step.get("invert") is False
    if not isolates or not isinstance(pattern, dict) or not isinstance(pattern.get("Regex"), str):
        return ""
    return str(pattern["Regex"])


def pre_tokenizer(pattern: str, *, byte_level: bool) -> Mapping[str, Any] | None:
    """Pre-tokenizer of a known split pattern, by name or expression.

    Raises:
        InputError: the pattern is an expression of one's own, which Oniguruma may read differently.
    """
    name = known_name(pattern)
    if name is None:
        raise InputError(
            f"the split pattern {pattern!r} is an expression of one's own, which tokenizers' engine may read "
            f"differently; the patterns that can be written: {', '.join(SPLIT_PATTERNS)}"
        )
    if name == "none":
        return BYTE_LEVEL_ONLY if byte_level else None
    if name == "gpt2" and byte_level:
        return {**BYTE_LEVEL_ONLY, "use_regex": True}
    expressions: Sequence[str] = _SPELLED_DIFFERENTLY.get(name, SPLIT_PATTERNS[name].expressions)
    steps: list[Mapping[str, Any]] = [
        {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}
        for expression in expressions
    ]
    return {"type": "Sequence", "pretokenizers": [*steps, BYTE_LEVEL_ONLY] if byte_level else steps}


def known_name(pattern: str) -> str | None:
    """Name of a known split pattern, given by its name, an alias or a single expression."""
    for name, known in SPLIT_PATTERNS.items():
        single = known.expressions if len(known.expressions) == 1 else ()
        if pattern in (name, *known.aliases, *single, *known.spellings):
            return name
    return None
