"""Specs of rows that are trained, and trainers that are planted."""

from __future__ import annotations

from pathlib import Path

TEXT = "the cat sat on the mat; the rat sat on the cat\n"


def row(path: Path, trainer: str = "tokenizers-bpe", size: int = 270, more: str = "") -> str:
    return f"trained:{trainer}?vocab_size={size}&corpus=path:{path}?split=line%26name=mine{more}"
