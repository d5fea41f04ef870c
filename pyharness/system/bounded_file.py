"""Files that are read whole: never more of them than there is room for, whatever they are."""

from __future__ import annotations

from pathlib import Path

from pyharness.types import InputError


def read(path: Path, most: int, what: str) -> bytes:
    """Content of a file, pipe or device of at most ``most`` bytes; ``what`` is what messages call it.

    Raises:
        InputError: there is more; no more than that was read.
        OSError: the system refuses.
    """
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"{what} has more than {most:,} bytes, which is the most that is read of one")
    return data
