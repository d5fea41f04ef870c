"""Files that are read whole: never more of them than there is room for, whatever they are."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

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


def read_toml(path: Path, most: int, what: str) -> dict[str, Any]:
    """Tables of a TOML file of at most ``most`` bytes; ``what`` is what messages call it.

    Raises:
        InputError: it cannot be read, is too large, or is no TOML.
    """
    try:
        return tomllib.loads(read(path, most, what).decode())
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{what} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, a number of a million digits, bottomless
        raise InputError(f"{what} is not valid TOML: {error}") from None
