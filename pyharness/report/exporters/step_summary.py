"""The summary that a step of GitHub Actions shows: a file that its steps append to."""

from __future__ import annotations

import os

VARIABLE = "GITHUB_STEP_SUMMARY"
MOST_BYTES = 1 << 20  # of all that a step says: of more, GitHub shows nothing, and marks the step (GitHub Docs)


def append_step_summary(text: str) -> str | None:
    """Append Markdown to the file that ``GITHUB_STEP_SUMMARY`` names; nothing happens where it names none.

    Returns why that failed, or None: a verdict is not lost for a summary.
    """
    if not (name := os.environ.get(VARIABLE)):
        return None
    try:
        # A FIFO that nobody reads is refused, and not waited for.
        handle = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
        with os.fdopen(handle, "ab") as file:
            there = file.tell()
            added = ("\n" * bool(there) + f"{text.rstrip()}\n").encode()
            if there + len(added) > MOST_BYTES:
                return f"the summary of this step would have more than {MOST_BYTES:,} bytes, and GitHub would show none"
            file.write(added)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have, text that is no UTF-8
        return f"the summary of this step, {VARIABLE}={name!r}, cannot be written: {error}"
    return None
