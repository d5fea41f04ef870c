"""Rows of which only counts are known: ``ids:FILE.jsonl``, texts with their ids or with numbers of tokens.

Such a row answers for the texts of its file and for no other: the counts of a provider, or of a library that does not
run here. ``overhead=`` tokens are taken off each count, as providers count the frame of a message, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pyharness.features.logs.entries import OPTIONS, LogFields, check_log, entries_of
from pyharness.plugins.specification import check_options
from pyharness.system import folders
from pyharness.tokenizers.segmenting import whole_number
from pyharness.types import (
    Digest,
    Ids,
    InputError,
    Instead,
    RoundTrip,
    Tokenizer,
    TokenizerFamily,
    TokenizerSpec,
    Tokens,
    Unsupported,
    digest_of,
    offsets_of,
)

_MOST_OVERHEAD = 1 << 20
_MOST_AT_ONCE = 1 << 28  # tokens of a batch


class CountedTokenizer:
    """Recorded counts: it gives as many ids as were counted, and each is 0."""

    id_limit = 1
    vocab_size = 0  # of a row whose ids are not known
    round_trip: RoundTrip = "normalised"  # not known: nothing is claimed

    def __init__(self, name: str, counts: Mapping[Digest, int]) -> None:
        self.name, self.counts = name, counts
        self.notes: tuple[str, ...] = (f"only counts of tokens are known, of {len(counts):,} texts",)

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Return as many ids as were counted.

        Raises:
            InputError: a text is not in the file.
        """
        del threads
        counts = [self._count(text) for text in texts]
        if sum(counts) > _MOST_AT_ONCE:
            raise InputError(f"{self.name} counts {sum(counts):,} tokens in one batch; at most {_MOST_AT_ONCE:,}")
        return Tokens(np.zeros(sum(counts), np.uint32), offsets_of(counts))

    def _count(self, text: str) -> int:
        count = self.counts.get(digest_of(text))
        if count is None:
            raise InputError(
                f"{self.name} has no count of the text {text[:40]!r}; measure it on its own texts, with -c path:FILE "
                "of the same file, or add the text to the file"
            )
        return count

    def decode(self, ids: Ids) -> bytes:
        """Refuse: the ids are not known."""
        raise Unsupported(f"{self.name} has counts alone, and no ids that could be decoded")


def read_counts(name: str, path: Path, fields: LogFields, overhead: int) -> CountedTokenizer:
    """Read the counts of a file.

    Raises:
        InputError: an entry has no text, fewer tokens than the overhead, or another count than an equal text.
    """
    counts: dict[Digest, int] = {}
    for entry in entries_of(path, fields):
        where = f"{path} line {entry.line}"
        if entry.text is None:
            raise InputError(f"{where} has no text: a row of counts needs the text of each entry, in ?field=")
        tokens = entry.tokens - overhead
        if tokens < 0:
            raise InputError(f"{where} has {entry.tokens:,} tokens, fewer than overhead={overhead}")
        if counts.setdefault(digest_of(entry.text), tokens) != tokens:
            raise InputError(f"{where}: an equal text has another number of tokens before; keep one of them")
    if not counts:
        raise InputError(f"{path} has no entries")
    return CountedTokenizer(name, counts)


def expand(argument: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe the row; the file is read when it is loaded."""
    name, path = f"ids:{argument}", folders.expanded(argument)
    check_options(name, options, (*OPTIONS, "overhead"))
    check_log(path)
    overhead = whole_number(name, options, "overhead", 0, _MOST_OVERHEAD, least=0)

    def made(_: TokenizerSpec) -> CountedTokenizer:
        return read_counts(name, path, LogFields.of(options), overhead)

    return TokenizerSpec(
        name, _without_ids, library="pyharness", source=f"counts in {path}", path=str(path), options=dict(options),
        instead=Instead(made, facts),
    )  # fmt: skip


def _without_ids(spec: TokenizerSpec) -> Tokenizer:
    raise Unsupported(f"{spec.name!r} has counts of tokens and no ids; measure it with compression (or fairness)")


def facts(row: CountedTokenizer) -> dict[str, Any]:
    """Return the facts of a row for a record."""
    sizes = {"vocab_size": row.vocab_size, "id_limit": row.id_limit}
    return {**sizes, "round_trip": row.round_trip, "notes": row.notes}


FAMILIES = (
    TokenizerFamily(
        name="ids",
        expand=expand,
        summary="recorded counts: JSON Lines with texts and their ids or numbers of tokens (?overhead=TOKENS)",
        example="ids:counts.jsonl",
    ),
)
