"""Parts of documents to ids."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from pyharness import tokenizers
from pyharness.bpe.encoding.safe_cuts import SafeCuts
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.commands.piping.documents import Part
from pyharness.corpora.batching import batches
from pyharness.types import Ids, InputError, Tokenizer, TokenizerSpec, Tokens

BATCH_BYTES = 4 << 20
BATCH_PARTS = 4096


def load(specification: str, special: bool = False) -> Tokenizer:
    """Load a tokenizer by its specification, or by the path of its file.

    Raises:
        InputError: there is none, or ``special`` tokens are asked of an encoder that does not map them.
    """
    row = resolved(specification)
    tokenizer = tokenizers.load(row)
    if special and not isinstance(tokenizer, BpeTokenizer):
        raise InputError(
            f"--special is for our own encoder; {row.name!r} runs in {row.library}: try 'native+{row.name}'"
        )
    return tokenizer


def resolved(specification: str) -> TokenizerSpec:
    """Resolve a specification, or the path of a tokenizer's file.

    Raises:
        InputError: there is none.
    """
    path, mark, options = specification.partition("?")
    if ":" not in path and path not in tokenizers.specs():
        if os.path.exists(path):  # noqa: PTH110 - false, too, where a name is too long
            specification = f"file:{path}{mark}{options}"
        elif Path(path).suffix or os.sep in path:
            raise InputError(f"there is no file {path[:200]!r}; tokenizers with a name: pyharness list tokenizers")
    return tokenizers.obtain(specification)


def safe_cuts(tokenizer: Tokenizer, special: bool = False) -> SafeCuts | None:
    """Where documents can be cut for a tokenizer; None: it needs them whole."""
    return tokenizer.safe_cuts(allowed_special=_allowed(special)) if isinstance(tokenizer, BpeTokenizer) else None


def encoded(
    tokenizer: Tokenizer, parts: Iterable[Part], threads: int = 1, special: bool = False
) -> Iterator[tuple[Ids, bool]]:
    """Ids of each part, and whether its document ends there.

    Our encoder keeps bytes that are not UTF-8 where its model can; others get none. With ``special`` it maps the
    special tokens that a document spells to their ids.

    Raises:
        InputError: a document cannot be encoded.
    """
    done = 0
    for batch in batches(parts, size=BATCH_BYTES, count=BATCH_PARTS, size_of=lambda part: len(part.data)):
        if isinstance(tokenizer, BpeTokenizer):
            tokens = _of_bytes(tokenizer, batch, threads, done, special)
        else:
            tokens = tokenizer.encode_batch([_text(part) for part in batch], threads)
        done += len(batch)  # documents: only dropout counts them, and then no part is less than one
        yield from ((tokens.document(index), part.ends) for index, part in enumerate(batch))


def _allowed(special: bool) -> str | tuple[()]:
    return "all" if special else ()


def _of_bytes(tokenizer: BpeTokenizer, batch: list[Part], threads: int, done: int, special: bool) -> Tokens:
    try:
        texts = [part.data for part in batch]
        return tokenizer.encode_batch(texts, threads, first_document=done, allowed_special=_allowed(special))
    except InputError:
        for part in batch:  # say which, if that is what was wrong
            _text(part)
        raise


def _text(part: Part) -> str:
    try:
        return part.data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{part.name} is not UTF-8 at byte {part.at + error.start}, and this tokenizer needs text; a byte-level "
            "model of ours (file:model.json, native+SPEC) takes any bytes"
        ) from None
