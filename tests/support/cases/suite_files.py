"""Suite files that tests write."""

from __future__ import annotations

from pathlib import Path


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path
