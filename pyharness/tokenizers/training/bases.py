"""The tokenizer that an adaptation starts from, named as rows are: the file that such a row reads."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pyharness import tokenizers
from pyharness.plugins.specification import TOKENIZER
from pyharness.system import atomic_file, folders
from pyharness.tokenizers.source import VocabularyFile
from pyharness.types import InputError
from pyharness.vocabularies import encodings


def file_of(base: str) -> str:
    """Name the file of a base: that of a row such as ``mistral:v3``, and everything else as it is.

    What a row has to download is downloaded.

    >>> file_of("./tokenizer.json")
    './tokenizer.json'

    Raises:
        InputError: the row has no file, or it cannot be had here.
    """
    if not _names_row(base):
        return base
    wanted = TOKENIZER.parse(base)
    if wanted.engine is not None or wanted.name == "trained":
        raise InputError(
            f"the base {base!r} is no file: give that of the tokenizer, or the row of its own library, such as "
            "mistral:v3 or hf:openai-community/gpt2"
        )
    row = tokenizers.obtain(base)
    if not isinstance(row.load, VocabularyFile):
        raise InputError(f"the base {base!r} has no vocabulary file that could be edited: give a file, or another row")
    encoding = row.load.encoding
    if row.path is not None and (encoding is None or Path(row.path).suffix):
        path = row.path
    else:
        path = _kept(row.load.fetch(), wanted.argument or wanted.name, "" if encoding is None else ".tiktoken")
    if encoding is None:
        return path
    name, expression = encodings.pattern(encoding.pattern)
    split = {"pattern": name if name in encodings.PATTERNS else expression}
    return TOKENIZER.write("file", path, {**split, "special": encodings.written_special(encoding.special)})


def _names_row(base: str) -> bool:
    if base.startswith("file:") or folders.expanded(base).exists():
        return False
    try:
        wanted = TOKENIZER.parse(base)
    except InputError:
        return False
    known = tokenizers.families_by_name() if wanted.argument is not None else tokenizers.specs()
    return wanted.engine is not None or wanted.name in known


def _kept(data: bytes, name: str, suffix: str) -> str:
    """Keep what a row made of another file, or of one whose name says nothing."""
    path = folders.cache() / "bases" / hashlib.sha256(data).hexdigest()[:16] / f"{Path(name).name}{suffix}"
    if not path.is_file() or path.read_bytes() != data:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_file.keep(path, data)
        except OSError as error:
            raise InputError(f"cannot keep {path}: {error.strerror}; set PYHARNESS_CACHE to another folder") from None
    return str(path)
