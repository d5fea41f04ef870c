"""Wheels: which distribution a file is, as far as a file of a stranger may be believed; what pip installs is pip's."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import BinaryIO

from pyharness.features.gate.types import Side
from pyharness.system import archive, bounded_file
from pyharness.types import InputError

CHOICES = (
    "give a revision (HEAD~1), PATH@REVISION, a checkout, '.' (the working tree as it is), a wheel, a virtual "
    "environment, or a tokenizer on both sides"
)
METADATA_BYTES = 4 << 20
_METADATA = re.compile(r"[^/]+\.dist-info/METADATA")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")  # PEP 508
_VERSION = re.compile(r"[A-Za-z0-9!+._-]{1,100}")


@dataclass(frozen=True, slots=True)
class Wheel:
    """A file that pip installs."""

    asked: str
    path: Path
    distribution: str
    version: str  # with the beginning of the file's digest
    digest: str  # of the file, SHA-256


def wheel(side: Side, asked: str, path: Path) -> Wheel:
    """Read which distribution a wheel is; raises ``InputError`` where there is none that can be read."""
    try:
        with bounded_file.opened(path) as file:
            name, version = _distribution(file)
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"--{side} {asked!r}: there is no such wheel; {CHOICES}") from None
    except archive.DAMAGE as error:
        about = (getattr(error, "strerror", None) or str(error) or type(error).__name__)[:300]
        raise InputError(f"--{side} {asked!r} is no wheel that can be read: {about}; build it again") from None
    return Wheel(asked, path.resolve(), name, f"{version} (sha256:{digest[:12]})", digest)


def _distribution(file: BinaryIO) -> tuple[str, str]:
    """Return name and version that the file says; raises one of ``archive.DAMAGE``."""
    with archive.opened(file) as members:
        said = [name for name in members.namelist() if _METADATA.fullmatch(name)]
        if len(said) != 1:
            count = f"it has {len(said)} files" if said else "it has no file"
            raise ValueError(f"it does not say which distribution it is: {count} *.dist-info/METADATA")
        text = archive.read(members, said[0], METADATA_BYTES).decode("utf-8", "replace")
    metadata = HeaderParser().parsestr(text)
    name, version = (str(metadata[key] or "").strip() for key in ("Name", "Version"))
    if not _NAME.fullmatch(name) or not _VERSION.fullmatch(version):
        raise ValueError("it does not say which distribution it is: its METADATA has no name and version")
    return name, version


def check_unchanged(side: Side, wheel: Wheel) -> None:
    """Raise ``InputError`` where the file is not what it was: builds run as this user, who can write it."""
    try:
        with wheel.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        digest = ""
    if digest != wheel.digest:
        raise InputError(
            f"--{side} {wheel.asked!r}: its wheel was changed or removed after it was made, perhaps by the other "
            "side's build: nothing of it is measured; look at what these builds do"
        )
