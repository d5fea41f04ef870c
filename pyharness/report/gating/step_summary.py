"""The summary that a step of GitHub Actions shows: a file that its steps append to."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "GITHUB_STEP_SUMMARY"


def append_step_summary(text: str) -> str | None:
    """Append Markdown to the file that ``GITHUB_STEP_SUMMARY`` names; nothing happens where it names none.

    Returns why that failed, or None: a verdict is not lost for a summary.
    """
    if not (name := os.environ.get(VARIABLE)):
        return None
    try:
        with Path(name).open("a", encoding="utf-8") as file:
            file.write(f"\n{text.rstrip()}\n" if file.tell() else f"{text.rstrip()}\n")
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have, text that is no UTF-8
        return f"the summary of this step, {VARIABLE}={name!r}, cannot be written: {error}"
    return None
