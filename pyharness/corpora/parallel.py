"""The user's own aligned text: ``parallel:DIRECTORY`` (one file per language) or ``parallel:FILE.jsonl``.

In a directory, line k of every file has the same content; a file's stem is its language (``deu_Latn.txt.xz``), and
other files are ignored. A JSON Lines row has an object ``{language: text}``. Rows that lack a chosen language are left
out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from pyharness.corpora.aligned import AlignedCorpus, Row, chosen, side_by_side, text_lines
from pyharness.corpora.files import jsonl, reading
from pyharness.corpora.files.reading import compression, named_errors
from pyharness.corpora.options import COMMON_OPTIONS, described
from pyharness.corpora.path import check_file
from pyharness.system import folders
from pyharness.types import WORK, Corpus, CorpusFamily, InputError

SCANNED_ROWS = 1000
_NEARLY_ALL = 0.99
_CODE = re.compile(r"[A-Za-z]{2,3}([_-][A-Za-z0-9]{1,8})*", re.ASCII)  # eng_Latn, zh-Hant-TW; not README


def _open(spec: str, argument: str, options: Mapping[str, str]) -> Corpus:
    if not argument:
        raise InputError(f"corpus {spec!r} names nothing; write parallel:DIRECTORY or parallel:FILE.jsonl")
    path = folders.expanded(argument)
    with named_errors(path, lambda: "looking for it"):
        directory, exists = path.is_dir(), path.exists()
    if directory:
        return _open_directory(spec, path, options)
    if not exists:
        raise InputError(
            f"corpus {spec!r}: there is no file or directory {str(path)!r} in {Path.cwd()}; check spelling"
        )
    check_file(path)
    if reading.kind(path.name) != "jsonl":
        raise InputError(
            f"{path} is not JSON Lines by its name; aligned plain text is a directory, one file per language"
        )
    return _open_jsonl(spec, path, options)


def _open_directory(spec: str, path: Path, options: Mapping[str, str]) -> Corpus:
    if "field" in options:
        raise InputError(f"field= does not apply to {path}, a directory of plain text; leave it out")
    files = language_files(path)
    if len(files) < 2:
        present = f"only {', '.join(files)}" if files else "none"
        raise InputError(
            f"{path} needs files of at least two languages like eng_Latn.txt, deu_Latn.txt.xz; found {present}"
        )
    languages, reference = chosen(options, tuple(files))
    used = {language: files[language] for language in languages}
    for file in used.values():
        check_file(file)
    works = works_table(path, options["work"]) if "work" in options else None
    return AlignedCorpus(
        spec,
        lambda: side_by_side(used) if works is None else with_works(side_by_side(used), works),
        languages=languages, reference=reference, **described(spec, options, language="mul"),
    )  # fmt: skip


def works_table(directory: Path, column: str) -> tuple[Path, int]:
    """Find the table (.tsv) of a directory that has a column; return it with the column's index, from 0.

    Below the headings, each line of the table describes one row of text.

    Raises:
        InputError: no table has the column.
    """
    with named_errors(directory, lambda: "listing it"):
        tables = sorted(file for file in directory.iterdir() if file.suffix == ".tsv")
    columns: list[str] = []
    for table in tables:
        headings = next(text_lines(table), "").split("\t")
        if column in headings:
            return table, headings.index(column)
        columns += headings
    has = f"has {', '.join(map(repr, columns[:20]))}" if tables else "is missing"
    raise InputError(f"{directory}: a table (.tsv) with the work of each row in a column {column!r} {has}; see ?work=")


def with_works(rows: Iterable[Row], table: tuple[Path, int]) -> Iterator[Row]:
    """Add the name of its work to each row; raise ``InputError`` if the table has other rows."""
    file, place = table
    lines = text_lines(file)
    next(lines)
    for number, row in enumerate(rows, 1):
        line = next(lines, None)
        cells = [] if line is None else line.split("\t")
        if len(cells) <= place:
            raise InputError(f"{file} names no work of row {number}: it needs a line for each row of text")
        yield {**row, WORK: cells[place]}
    if next(lines, None) is not None:
        raise InputError(f"{file} has more lines than there are rows of text; it needs one for each")


def language_files(directory: Path) -> dict[str, Path]:
    """Find the text files of a directory that are named after a language; two of one language are an ``InputError``."""
    files: dict[str, Path] = {}
    with named_errors(directory, lambda: "listing it"):
        names = sorted(directory.iterdir())
    for file in names:
        stem, dot, suffix = file.name.removesuffix(compression(file.name)).rpartition(".")
        if not dot or suffix != "txt" or not _CODE.fullmatch(stem):
            continue
        if stem in files:
            raise InputError(f"{files[stem]} and {file} are both text in {stem}; keep one of them")
        files[stem] = file
    return files


def _open_jsonl(spec: str, path: Path, options: Mapping[str, str]) -> Corpus:
    field, work = options.get("field", "text"), options.get("work", "")
    available = options["languages"].split(",") if "languages" in options else _common(path, field)
    languages, reference = chosen(options, available)
    return AlignedCorpus(
        spec, lambda: _rows(path, field, work),
        languages=languages, reference=reference, **described(spec, options, language="mul"),
    )  # fmt: skip


def _common(path: Path, field: str) -> list[str]:
    rows = list(islice(_rows(path, field), SCANNED_ROWS))
    counts = Counter(language for row in rows for language in row)
    common = [language for language, count in counts.items() if count == len(rows)]
    # What nearly all rows have was meant, and must not go without a word.
    if len(common) < 2 or any(_NEARLY_ALL * len(rows) <= count < len(rows) for count in counts.values()):
        seen = ", ".join(f"{language} ({count})" for language, count in counts.most_common(20)) or "none"
        raise InputError(
            f"the first {len(rows)} rows of {path} have different languages; choose with ?languages=A,B from: {seen}. "
            "Rows that lack one of those chosen are left out"
        )
    return sorted(common)


def _rows(path: Path, field: str, work: str = "") -> Iterator[Row]:
    for number, row in jsonl.rows(path):
        texts = jsonl.value(path, number, row, field)
        if not isinstance(texts, dict):
            raise InputError(
                f"{path} line {number}: {field!r} is {jsonl.kind_of(texts)}, "
                "not an object {language: text}; choose another with ?field=, or read plain text with path:"
            )
        for language, text in texts.items():
            if not isinstance(text, str | None):
                raise InputError(f"{path} line {number}: the {language} text is {jsonl.kind_of(text)}, not a string")
        named = {WORK: jsonl.work_of(path, number, row, work)} if work else {}
        yield {language: text for language, text in texts.items() if text and language != WORK} | named


CORPORA = (
    CorpusFamily(
        name="parallel",
        place=3,
        open=_open,
        summary="aligned text in several languages: a directory of LANGUAGE.txt files, or JSON Lines",
        example="parallel:flores200?languages=eng_Latn,deu_Latn&reference=eng_Latn",
        options={
            **COMMON_OPTIONS,
            "languages": "languages, separated by commas (default: all; JSON Lines: those in each of the first 1000)",
            "reference": "what the others are compared with (default English, else the first)",
            "field": "JSON Lines: where the object {language: text} is (default text)",
            "work": "the work of a row: a field of JSON Lines, with WORK or WORK#PART; of a directory, a "
            "column of its table (.tsv), which has a line for each row",
        },
    ),
)
