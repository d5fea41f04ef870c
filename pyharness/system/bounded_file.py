"""Files and devices that are read whole, most of them up to a limit; what could block for ever is refused."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import tomllib
from io import BufferedReader
from pathlib import Path
from typing import Any

from pyharness.system import atomic_file
from pyharness.types import InputError

MOST_PARTS = 100  # of a TOML key: for n parts, tomllib keeps n tuples of up to n names
_LONG_KEY = re.compile(rb"(?<![\w-])(?:(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')[ \t]*\.[ \t]*){%d}" % MOST_PARTS)


def opened(path: Path) -> BufferedReader:
    """Open a file or a device for reading, also an open one by its name (``/dev/stdin``, ``/dev/fd/63``).

    Raises:
        OSError: the system refuses, or it is a folder, or a named pipe that could block for ever.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if stat.S_ISFIFO(mode) and atomic_file.descriptor(path) is None:
            raise OSError(errno.ESPIPE, "it is a named pipe, not a file: write what comes from it to a file", str(path))
        os.set_blocking(handle, True)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def digest(file: Path | BufferedReader) -> str:
    """Return the SHA-256 of a file, or of the rest of an open one, in hexadecimal; raise ``OSError``."""
    if isinstance(file, Path):
        with opened(file) as content:
            return digest(content)
    return hashlib.file_digest(file, "sha256").hexdigest()


def read(path: Path, most: int, what: str) -> bytes:
    """Return the content of a file or device of at most ``most`` bytes (see ``opened``); messages call it ``what``.

    Raises:
        InputError: it is larger; no more than that was read.
        OSError: the system refuses.
    """
    with opened(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"{what} has more than {most:,} bytes, the most that is read")
    return data


def read_toml(path: Path, most: int, what: str) -> dict[str, Any]:
    """Return the tables of a TOML file of at most ``most`` bytes; messages call it ``what``.

    Raises:
        InputError: it cannot be read, is too large, or is no TOML.
    """
    try:
        data = read(path, most, what)
        if _LONG_KEY.search(data):
            raise InputError(f"{what} has a key of more than {MOST_PARTS} parts")
        return tomllib.loads(data.decode())
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{what} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, a number of a million digits, too deep nesting
        raise InputError(f"{what} is not valid TOML: {error}") from None
