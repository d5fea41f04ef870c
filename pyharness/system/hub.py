"""The Hugging Face Hub's cache on this machine, and whether the Hub may be asked. Imports none of its libraries."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pyharness.system import folders

SHAPE = re.compile(r"([\w.-]+/)?[\w.-]+(@[\w./-]+)?")  # ORGANISATION/NAME[@revision]


def endpoint() -> str:
    """Return the address of the Hub."""
    return os.environ.get("HF_ENDPOINT") or "https://huggingface.co"


def switched_off(*variables: str) -> str | None:
    """Return the first of these environment variables that forbids access to the Hub; None if none does."""
    for variable in variables:
        if os.environ.get(variable, "").upper() in ("1", "ON", "YES", "TRUE"):
            return variable
    return None


def cache_folder() -> Path:
    """Return the folder of the Hub's cache, as huggingface_hub determines it."""
    if folder := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return folders.expanded(folder)
    home = os.environ.get("HF_HOME") or str(Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface")
    return folders.expanded(home) / "hub"


def folder_in_cache(repository: str) -> Path:
    """Return the cache's folder of a model repository, which may not exist."""
    return cache_folder() / f"models--{repository.replace('/', '--')}"


def find(repository: str, revision: str, name: str) -> Path | None:
    """Return the cached file of a branch, tag or commit; None if the cache lacks it."""
    folder = folder_in_cache(repository)
    reference = folder / "refs" / revision
    commit = reference.read_text().strip() if reference.is_file() else revision
    path = folder / "snapshots" / commit / name
    return path if path.is_file() else None
