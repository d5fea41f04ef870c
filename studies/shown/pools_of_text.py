"""Pools of text that studies draw documents and works from: what the data folder has, and what lies on a machine."""

from __future__ import annotations

import json
import lzma
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Document = tuple[str, str | None]  # its text, and the work that it is of


@dataclass(frozen=True, slots=True)
class Pool:
    """A kind of text, and whether the rule was chosen on it."""

    name: str
    documents: Callable[[Path], Iterator[Document]]  # of the folder of data
    chosen: bool = False


def lines(pattern: str, work: str | None = None, language: str | None = None) -> Callable[[Path], Iterator[Document]]:
    """Documents of JSON lines; the work is what stands before the last ``#`` of the field ``work``."""

    def read(data: Path) -> Iterator[Document]:
        for file in sorted((data / "corpora").glob(pattern)):
            with lzma.open(file, "rt", encoding="utf-8") as stream:
                for row in map(json.loads, stream):
                    text = row["text"] if language is None else row["text"].get(language)
                    if text:
                        yield text, None if work is None else row[work].rpartition("#")[0] or row[work]

    return read


def pages(data: Path) -> Iterator[Document]:
    """Pages of a dump of Wikipedia."""
    with lzma.open(data / "corpora/english/enwiki_xml_sample.xml.xz", "rt", encoding="utf-8") as stream:
        yield from ((page, None) for page in stream.read().split("<page>")[1:])


def installed(folder: str, suffixes: str, works: bool = False) -> Callable[[Path], Iterator[Document]]:
    """Files below a folder of this machine; a work is what lies directly below it, a package or a module."""

    def read(_: Path) -> Iterator[Document]:
        root = Path(folder)
        for file in sorted(root.rglob("*")):
            if file.suffix in suffixes.split() and file.is_file() and not file.is_symlink():
                try:
                    yield file.read_text("utf-8"), file.relative_to(root).parts[0] if works else None
                except UnicodeDecodeError:
                    continue

    return read


POOLS = (
    Pool("code, nine languages", lines("code/*.xz"), chosen=True),
    Pool("books", lines("english/books.jsonl.xz", "id"), chosen=True),
    Pool("laws, Estonian", lines("multilingual/et/riigiteataja_laws.jsonl.xz"), chosen=True),
    Pool("Wikipedia", pages, chosen=True),
    Pool("novels, Hindi", lines("multilingual/hi/classic_novels.jsonl.xz"), chosen=True),
    Pool("plays, Russian", lines("multilingual/ru/dracor_plays.jsonl.xz", "id"), chosen=True),
    Pool("novels, German", lines("multilingual/de/eltec_novels.jsonl.xz", "id")),
    Pool("books, Japanese", lines("multilingual/ja/aozora.jsonl.xz", "id")),
    Pool("books, Arabic", lines("multilingual/ar/nahda_books.jsonl.xz")),
    Pool("poems, Chinese", lines("multilingual/zh/tang_song_poetry.jsonl.xz")),
    Pool("news, Thai", lines("multilingual/th/thaigov_news.jsonl.xz")),
    Pool("reviews, Korean", lines("multilingual/ko/nsmc_reviews.jsonl.xz")),
    Pool("help, Finnish", lines("multilingual/fi/gnome_help.jsonl.xz")),
    Pool("articles, XQuAD", lines("parallel/xquad.jsonl.xz", "id", "en")),
    Pool("Python's library", installed(sysconfig.get_path("stdlib"), ".py")),
    Pool("Python packages", installed(sysconfig.get_path("purelib"), ".py", works=True)),
    Pool("Perl's library", installed("/usr/share/perl", ".pm .pl")),
    Pool("C headers", installed("/usr/include", ".h .hpp")),
    Pool("JavaScript packages", installed("/usr/lib/node_modules", ".js")),
)
