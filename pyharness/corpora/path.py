"""Files, directories and globs: ``path:FILE``, ``path:DIR``, ``path:GLOB``.

Plain text, Markdown, source code, JSON Lines, Parquet; all but Parquet may be compressed (``.gz``, ``.xz``, ``.bz2``,
``.zst``). A directory is walked recursively, in sorted order, for files of a known suffix (``reading``). Hidden names,
links to directories or to nothing, and binary files (a NUL in the first 8 KiB) are left out. A glob names its files, so
their suffix does not matter, but binary ones are left out too. A single file is always read.
"""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from pyharness.corpora import families
from pyharness.corpora.files import jsonl, parquet, reading
from pyharness.corpora.files.reading import CorpusFile, Extent, blocks, compression, decoded, named_errors
from pyharness.corpora.files.splitting import SPLITS, UNCUT, Fragment, unrolled
from pyharness.corpora.options import TEXT_OPTIONS, choice, described, document_limit
from pyharness.corpora.streaming import TextCorpus
from pyharness.kernels.text import TextRun
from pyharness.plugins.libraries import require
from pyharness.system import folders
from pyharness.types import Corpus, CorpusFamily, InputError

SNIFFED_BYTES = 8192
WHOLE = "file"  # a value of ``split``: a file of plain text is a document, and so is a row

ONE_WORK = "*"  # all documents belong to one work, or their works are unknown: no independent evidence


@dataclass(slots=True, kw_only=True)
class FileCorpus(TextCorpus):
    """Documents of files. ``fragments`` reads ranges of them; ``read``, all."""

    files: Callable[[], Iterable[CorpusFile]]
    fragments: Callable[[Iterable[Extent]], Iterator[Fragment | TextRun]]


def fragments(
    extents: Iterable[Extent], field: str, work: str, split: str, limit: int, binary: bool
) -> Iterator[Fragment | TextRun]:
    """Read files, or ranges of them, in sequence; ``binary``: whether to read binary ones as text."""
    if work == ONE_WORK:
        yield from (_of_work(one, work) for one in fragments(extents, field, "", split, limit, binary))
        return
    for extent in extents:
        kind = reading.kind(extent.file.name)
        if kind == "parquet":
            yield from _of_rows(map(Fragment, parquet.strings(extent, field)), split)
        elif kind == "jsonl":
            yield from _of_rows(jsonl.documents_within(extent, field, work, limit if split == WHOLE else UNCUT), split)
        elif extent.start == 0:
            yield from _plain(extent.file, split, binary)


def _of_work(one: Fragment | TextRun, work: str) -> Fragment | TextRun:
    if isinstance(one, Fragment):
        return one._replace(work=work)
    one.set_work(work)
    return one


def _of_rows(rows: Iterable[Fragment | TextRun], split: str) -> Iterator[Fragment | TextRun]:
    """Split each row into documents, which remain parts of the row's work."""
    if split == WHOLE:
        yield from rows
        return
    for row in unrolled(rows):
        yield from (part._replace(work=row.work) for part in SPLITS[split]((row.text,)))


def _plain(file: CorpusFile, split: str, binary: bool) -> Iterator[Fragment]:
    data = blocks(file)
    first = next(data, b"")
    if binary or b"\0" not in first[:SNIFFED_BYTES]:
        yield from SPLITS[split](decoded(chain((first,), data)))


def walk(directory: Path) -> Iterator[Path]:
    """Yield the files of known kinds below a directory, sorted by name at every level."""
    waiting = [(directory, True)]  # a stack; folders may be nested deeper than recursion allows
    while waiting:
        path, is_directory = waiting.pop()
        if is_directory:
            with named_errors(path, lambda: "listing it"):
                entries = sorted(os.scandir(path), key=lambda entry: entry.name, reverse=True)
                waiting += [
                    (Path(entry.path), entry.is_dir(follow_symlinks=False))
                    for entry in entries
                    if not entry.name.startswith(".")
                ]
        elif reading.kind(path.name) and path.is_file():  # not the entry's method: it raises for a cycle of links
            yield path


def check_file(file: Path) -> None:
    """Check a file as far as its name and the file system allow; raise ``InputError`` if it cannot be read."""
    if file.is_dir():
        raise InputError(f"{file} is a directory, and one file is read; name a file in it")
    if not file.is_file():
        raise InputError(
            f"{file} is neither a file nor a directory; a corpus is read again and again: save it to a file"
        )
    if not os.access(file, os.R_OK):
        raise InputError(f"cannot read {file}: permission denied; check its permissions")
    check_libraries(file)


def check_libraries(file: CorpusFile) -> None:
    """Raise ``InputError`` for a file that cannot be unpacked, or whose kind needs a library that is not installed."""
    if compression(file.name) == ".zst":
        require(f"reading {file}", "zstandard", "files")
    if reading.kind(file.name) == "parquet":
        if compression(file.name):
            raise InputError(
                f"{file} cannot be read through {compression(file.name)}; decompress the Parquet file first"
            )
        require(f"reading {file}", "pyarrow", "files")


def _open(spec: str, argument: str, options: Mapping[str, str]) -> Corpus:
    if not argument:
        raise InputError(f"corpus {spec!r} names no file; write path:FILE, path:DIRECTORY or path:GLOB")
    choice("split", options.get("split", WHOLE), SPLITS)  # before a folder is walked
    path = folders.expanded(argument)
    with named_errors(path, lambda: "looking for it"):
        directory, exists = path.is_dir(), path.exists()
    if directory:
        return of_files(spec, _directory(path), options)
    if not exists and argument.partition("://")[0] in families():
        raise InputError(f"corpus {spec!r} is an address, not a path: leave 'path:' out")
    if not exists:
        return of_files(spec, _glob(spec, str(path)), options)
    check_file(path)
    return of_files(spec, lambda: (path,), options, only=path)


def of_files(
    spec: str, files: Callable[[], Iterable[CorpusFile]], options: Mapping[str, str], *, only: CorpusFile | None = None
) -> FileCorpus:
    """Return the documents of files; ``only``: the one file, if it was named and not looked for.

    Raises:
        InputError: an option is wrong, or does not apply to the one file.
    """
    split = choice("split", options.get("split", WHOLE), SPLITS)
    binary, defaults = only is not None, {}
    if only is not None:
        _check_options(only, options)
        defaults = {"language": "code", "domain": "code"} if reading.kind(only.name) == "code" else {}

    limit = document_limit(options)

    def of(extents: Iterable[Extent]) -> Iterator[Fragment | TextRun]:
        return fragments(extents, options.get("field", "text"), options.get("work", ""), split, limit, binary)

    return FileCorpus(
        name=spec,
        read=lambda: of(map(Extent, files())),
        files=files,
        fragments=of,
        max_document_bytes=limit,
        **described(spec, options, **defaults),
    )


def _check_options(file: CorpusFile, options: Mapping[str, str]) -> None:
    kind = reading.kind(file.name)
    rows = kind in ("jsonl", "parquet")
    if rows and options.get("split") == WHOLE:
        raise InputError(
            f"split={WHOLE} does not apply to {file}: every row is a document; leave it out, or split rows by line or "
            "paragraph"
        )
    if not rows and "field" in options:
        raise InputError(f"field= does not apply to {file}, which is plain text by its name; leave it out")
    if kind != "jsonl" and options.get("work", ONE_WORK) != ONE_WORK:
        raise InputError(
            f"work={options['work']} does not apply to {file}, whose suffix is not of JSON Lines: leave it out, or "
            f"write work={ONE_WORK} if all of it is one work"
        )


def _directory(path: Path) -> Callable[[], Iterator[Path]]:
    if next(walk(path), None) is None:
        raise InputError(
            f"directory {path} has no files of a known kind ({' '.join(reading.KINDS)}); "
            f"name one, or give a glob like 'path:{path}/*.log'"
        )
    return lambda: walk(path)


def _glob(spec: str, pattern: str) -> Callable[[], list[Path]]:
    def files() -> list[Path]:
        # Not Path.glob, which takes no absolute patterns.
        names = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207
        return [path for path in map(Path, names) if path.is_file()]

    if not files():
        what = "file that matches" if glob.has_magic(pattern) else "file or directory"
        raise InputError(f"corpus {spec!r}: there is no {what} {pattern!r} in {Path.cwd()}; {_hint(Path(pattern))}")
    return files


def _hint(path: Path) -> str:
    if "?" in path.name:
        return "options are written ?key=value&key=value"
    siblings = os.listdir(path.parent) if path.parent.is_dir() else []  # noqa: PTH208 - names are what is compared
    close = difflib.get_close_matches(path.name, siblings, 3)
    return (
        f"did you mean {' or '.join(repr(str(path.with_name(name))) for name in close)}?"
        if close
        else "check the spelling"
    )


FILE_OPTIONS: Mapping[str, str] = {
    **TEXT_OPTIONS,
    "field": "JSON Lines and Parquet: where the text is (default text); text.hi: hi of the JSON object text",
    "work": "JSON Lines: field with the work, or WORK#PART, that a document is of: shards and intervals keep "
    "works whole; *: all is one work, or nothing tells works apart, and there is no interval",
    "split": "what a document is: file (default; of rows, each), line or paragraph, of a row too",
}
CORPORA = (
    CorpusFamily(
        name="path",
        place=0,
        open=_open,
        summary="your own files: plain text, code, JSON Lines or Parquet; a directory or a glob too",
        example="path:notes/?split=paragraph&max_bytes=2MB",
        options=FILE_OPTIONS,
    ),
)
