"""Steps of a pre-tokenizer of tokenizer.json that are expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyharness.vocabularies.patterns.split_patterns import GPT2_RELEASE
from pyharness.vocabularies.stages.stages import SplitStep

MARK = "▁"
_BERT_PUNCTUATION = r"\p{P}!-/:-@\[-`{-~"
_RUST_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d"


def split_steps(stages: Sequence[Mapping[str, Any]]) -> tuple[tuple[SplitStep, ...], str]:
    """Return the steps of a pre-tokenizer of tokenizer.json that are expressions, and the characters it may put in.

    Unknown steps are left out: every step only adds cuts, so the cuts of the others stand. Behind a
    ``ByteLevel`` text is written in another alphabet, and nothing is read.
    """
    steps: list[SplitStep] = []
    inserted = ""
    for stage in reversed(_until_bytes(stages)):
        if stage["type"] == "ByteLevel" and stage.get("use_regex", True) is not False:
            steps.append(SplitStep(GPT2_RELEASE, "oniguruma", inserted=inserted))
        elif (step := _step(stage)) is not None:
            expression, matches, gaps = step
            steps.append(SplitStep(expression, "oniguruma", matches, gaps, inserted))
        if stage["type"] == "ByteLevel" and stage.get("add_prefix_space", True) is not False:
            inserted += " "
        if stage["type"] == "Metaspace":
            inserted += str(stage.get("replacement", MARK))
    return tuple(reversed(steps)), inserted


def _until_bytes(stages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    kinds = [stage["type"] for stage in stages]
    return list(stages[: kinds.index("ByteLevel") + 1] if "ByteLevel" in kinds else stages)


def _step(stage: Mapping[str, Any]) -> tuple[str, bool, bool] | None:
    """Expression of a step, and whether its matches and the gaps between them are kept; None: not known."""
    kind = stage["type"]
    if kind == "Split":
        return _split(stage)
    if kind == "Metaspace" and stage.get("split", True) is True:
        mark = str(stage.get("replacement", MARK))
        return (f"[{mark} ]?[^{mark} ]+|[{mark} ]", True, True) if mark.isprintable() and not mark.isascii() else None
    if kind == "Digits":
        return (r"\p{N}" if stage.get("individual_digits") else r"\p{N}+"), True, True
    if kind == "Punctuation" and stage.get("behavior", "Isolated") == "Isolated":
        return f"[{_BERT_PUNCTUATION}]", True, True
    known = {
        "BertPreTokenizer": rf"[{_BERT_PUNCTUATION}]|[^\s{_BERT_PUNCTUATION}]+",
        "Whitespace": rf"[{_RUST_WORD}]+|[^{_RUST_WORD}\s]+",
        "WhitespaceSplit": r"\S+",
    }
    return (known[kind], True, False) if kind in known else None


def _split(stage: Mapping[str, Any]) -> tuple[str, bool, bool] | None:
    pattern, behavior, invert = stage.get("pattern"), stage.get("behavior"), stage.get("invert", False)
    if not isinstance(pattern, dict) or behavior not in ("Isolated", "Removed") or not isinstance(invert, bool):
        return None
    expression = pattern.get("Regex")
    if isinstance(string := pattern.get("String"), str):
        expression = "".join(letter if letter.isalnum() else "\\" + letter for letter in string)
    if not isinstance(expression, str) or not expression:
        return None
    removed = behavior == "Removed"
    return expression, not (removed and not invert), not (removed and invert)
