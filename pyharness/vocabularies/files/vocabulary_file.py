"""Vocabulary files: search, reading, and detection of their kind by content."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

from pyharness.system import bounded_file, folders
from pyharness.types import InputError

Kind: TypeAlias = Literal[
    "huggingface", "rank_file", "tekken", "sentencepiece", "minbpe", "pyharness", "curriculum", "events",
    "vocab_and_merges"
]  # fmt: skip

OWN_KINDS: dict[bytes, Kind] = {b"bpe": "pyharness", b"curriculum": "curriculum", b"events": "events"}
BIGGEST_FILE = 512 << 20  # the largest published vocabulary is 34 MB
BIGGEST_ID = 1 << 22  # arrays are indexed by id, and metrics count as many: 2**40 must not become an allocation
NAMES = ("tokenizer.json", "tekken.json", "tokenizer.model", "model.json", "*.tiktoken", "*vocab.json")


def read(path: Path) -> bytes:
    """Read a whole file; a missing, empty or too large one is an ``InputError``."""
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise InputError(f"{path} is not a file")
        if size > BIGGEST_FILE:
            raise InputError(f"{path} has {size:,} bytes; a vocabulary file has at most {BIGGEST_FILE:,}")
        data = bounded_file.read(path, BIGGEST_FILE, str(path))  # it may have grown
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if not data:
        raise InputError(f"{path} is empty")
    return data


def find(argument: str) -> Path:
    """Return the file that a path means: itself, or the tokenizer file of a directory.

    Raises:
        InputError: the path does not exist, or the directory has no tokenizer file.
    """
    path = folders.expanded(argument)
    try:
        if path.exists() and path.is_dir():
            next(path.iterdir(), None)  # glob passes over a folder that may not be read
    except OSError as error:
        raise InputError(f"cannot look for {argument[:200]!r}: {error.strerror}") from None
    if path.is_dir():
        for name in NAMES:
            if paths := sorted(path.glob(name)):
                return paths[0]
        raise InputError(f"no tokenizer file in {path}; looked for {', '.join(NAMES)}")
    if not path.exists():
        near = next((parent for parent in path.parents if parent.exists()), Path("/"))
        raise InputError(f"there is no file or directory {str(path.relative_to(near))!r} in {near.absolute()}")
    return path


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, which is remembered while its size and its time of change stay the same."""
    status = path.stat()
    return _digest(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _digest(path: Path, modified: int, size: int) -> str:
    del modified, size
    return hashlib.sha256(read(path)).hexdigest()


def detect(data: bytes, label: str) -> Kind:
    """Return the kind of a vocabulary file, from its content; any other JSON object is taken for a tokenizer.json.

    Raises:
        InputError: the content is of no known kind.
    """
    head = data[:65536].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"{"):
        # A tokenizer.json whose first member is a number contains a model; in ``vocab.json``, no value is an object.
        if re.match(rb'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\d', head) and not re.search(rb'"model"\s*:\s*\{', data):
            return "vocab_and_merges"
        if own := re.match(rb'\{\s*"format":\s*"pyharness-(bpe|curriculum|events)"', head):
            return OWN_KINDS[own[1]]
        return "tekken" if b'"token_bytes"' in head or b'"default_num_special_tokens"' in head else "huggingface"
    if re.match(rb"[A-Za-z0-9+/=]+[ \t]+\d+\s", head):
        return "rank_file"
    if head.startswith(b"minbpe v"):
        return "minbpe"
    # A serialised ModelProto starts with its first piece: field 1, a length, and in it field 1 again.
    if re.match(rb"\x0a[\x01-\x7f]\x0a|\x0a[\x80-\xff]+[\x01-\x7f]\x0a", data[:16]):
        return "sentencepiece"
    if head.startswith(b"#version"):
        raise InputError(f"{label} has the merges of a vocabulary: name the vocab.json next to it")
    raise InputError(
        f"{label} is not a tokenizer file: neither JSON (tokenizer.json, tekken.json, our own), nor lines of base64 "
        "and rank (*.tiktoken), nor a minbpe or SentencePiece model"
    )
