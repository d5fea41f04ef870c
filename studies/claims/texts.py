"""The texts that claims are measured on: documents in groups of the jackknife, some of them held out.

They are of the folder that PYHARNESS_DATA names; without one, the sample that travels with pyharness is read, which is
small, and the report says so. A document that names a work falls into the group of its work. One document in three is
held out: other passages of the same works, where there are works.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pyharness import corpora
from pyharness.statistics.jackknife import GROUPS, group_of
from pyharness.types import Tally

HELD_OUT_OF = 3
SMALL = 1_000_000  # bytes
SAMPLE, EVERYTHING = "sample", "all of these"
CODE = ("c", "cpp", "go", "java", "javascript", "kotlin", "python", "rust", "typescript")
TEXTS = {
    "English": (
        "english/books.jsonl.xz?work=id",
        "english/wikitext2_valid.jsonl.xz",
        "english/enwiki_xml_sample.xml.xz?split=paragraph",
    ),
    "code": tuple(f"code/{language}.jsonl.xz" for language in CODE),
    "Estonian": ("multilingual/et/riigiteataja_laws.jsonl.xz?work=id", "multilingual/et/bible_1739.jsonl.xz"),
    "Russian": ("multilingual/ru/dracor_plays.jsonl.xz?work=id",),
    "Arabic": ("multilingual/ar/tashkeela_diacritized.jsonl.xz", "multilingual/ar/nahda_books.jsonl.xz?work=id"),
    "Korean": ("multilingual/ko/nsmc_reviews.jsonl.xz",),
    "Thai": ("multilingual/th/thaigov_news.jsonl.xz",),
    "Japanese": ("multilingual/ja/aozora.jsonl.xz?work=id",),
    "Chinese": ("multilingual/zh/tang_song_poetry.jsonl.xz",),
}


@dataclass(frozen=True)
class Text:
    """Documents without repetitions. ``groups`` uint8, ``sizes`` int64 (bytes), ``held_out`` bool, each [documents]."""

    name: str
    documents: tuple[str, ...]
    groups: NDArray[np.uint8]
    sizes: NDArray[np.int64]
    held_out: NDArray[np.bool_]

    @classmethod
    def read(cls, name: str, specifications: Sequence[str]) -> Text:
        """Read corpora. Raises ``InputError`` where one cannot be had."""
        read = (one for spec in specifications for one in corpora.read(corpora.open_corpus(spec), Tally()))
        once = {one.digest: one for one in read}
        kept = list(once.values())
        return cls(
            name,
            tuple(one.text for one in kept),
            np.array([group_of(one.key) for one in kept], np.uint8),
            np.array([len(one.text.encode()) for one in kept], np.int64),
            np.array([digest[1] % HELD_OUT_OF == 0 for digest in once], np.bool_),  # its first byte decides the group
        )

    @property
    def about(self) -> str:
        """Size of the text, in words."""
        small = "; the text is small" if self.is_small else ""
        return f"{self.name}, {self.sizes.sum() / 1e6:.1f} MB, {len(self.documents):,} documents{small}"

    @property
    def is_small(self) -> bool:
        """Whether figures of it are no evidence."""
        return int(self.sizes.sum()) < SMALL

    @cached_property
    def learnt(self) -> Text:
        """The documents that are not held out."""
        return self.part(~self.held_out)

    @cached_property
    def measured(self) -> Text:
        """Those that are."""
        return self.part(self.held_out)

    def part(self, chosen: NDArray[np.bool_]) -> Text:
        """Some documents."""
        some = tuple(text for text, flag in zip(self.documents, chosen.tolist(), strict=True) if flag)
        return Text(self.name, some, self.groups[chosen], self.sizes[chosen], self.held_out[chosen])

    def by_group(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add up a value of every document: int64 [GROUPS]."""
        return np.bincount(self.groups, values, GROUPS).astype(np.int64)  # below 2**53, where float64 counts exactly

    @property
    def counts(self) -> list[int]:
        """Documents of every group."""
        return [int(count) for count in self.by_group(np.ones(len(self.documents), np.int64))]


def chosen(given: Sequence[str] | None, default: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names of texts, and the corpora that they are of; a name that is none of ours is a corpus."""
    data = os.environ.get("PYHARNESS_DATA")
    if not data and not given:
        yield "the built-in sample", (SAMPLE,)
        return
    for name in given or default:
        if data and name in TEXTS:
            yield name, tuple(f"path:{data}/corpora/{file}" for file in TEXTS[name])
        elif data and name == EVERYTHING:
            yield name, tuple(f"path:{data}/corpora/{file}" for files in TEXTS.values() for file in files)
        else:
            yield name, (name,)
