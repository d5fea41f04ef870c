"""Aligned text: rows with the same content in several languages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable

from pyharness.corpora.files.reading import Readable, numbered_lines
from pyharness.corpora.streaming import StreamedCorpus, fits, never_empty, settled
from pyharness.plugins.registry import suggest
from pyharness.types import WORK, InputError, Piece, Tally

Row = Mapping[str, str]  # text by language; a language may be missing; the name of a work under ``WORK``
USUAL_REFERENCES = ("eng_Latn", "en", "eng")


@dataclass(slots=True)
class AlignedCorpus(StreamedCorpus[Row]):
    """Rows with texts in the order of ``languages``. They are never cut, which would break the alignment."""

    languages: tuple[str, ...]
    reference: str

    def rows(self, tally: Tally) -> Iterator[Mapping[str, str]]:
        """Stream the rows with text in every language; any other row counts as one empty document."""
        return never_empty(self.name, self._admit(tally), tally)

    def keyed_documents(self, tally: Tally) -> Iterator[Piece]:
        """Stream texts with keys: those of one row share a group, by their work or else by the reference language."""
        for row in self.rows(tally):
            for number, language in enumerate(self.languages):
                yield Piece(row[language], row[self.reference], opens=number == 0, work=row.get(WORK, ""))

    def _admit(self, tally: Tally) -> Iterator[Mapping[str, str]]:
        total = 0
        for row in self.read():
            if not all(map(row.get, self.languages)):
                tally.empty_documents += 1
                continue
            texts = [settled(row[language]) for language in self.languages]
            size = sum(size for _, _, size in texts)
            total += size
            if not fits(total, size, self.max_bytes):
                return
            tally.replaced_sequences += sum(replaced for _, replaced, _ in texts)
            named = {WORK: settled(row[WORK])[0]} if row.get(WORK) else {}
            yield dict(zip(self.languages, (text for text, _, _ in texts), strict=True)) | named


def text_lines(file: Readable) -> Iterator[str]:
    r"""Read the lines of a file without what ends them, ``\n`` or ``\r\n``, and without a byte order mark."""
    return (line.removeprefix("\ufeff" * (at == 1)).removesuffix("\r") for at, line in numbered_lines(file))


def side_by_side(files: Mapping[str, Traversable]) -> Iterator[Row]:
    """Read one file per language in parallel, line by line.

    Raises:
        InputError: one file has more lines than another.
    """
    streams = {language: text_lines(file) for language, file in files.items()}
    rows = 0
    while True:
        row = {language: line for language, stream in streams.items() if (line := next(stream, None)) is not None}
        if len(row) < len(files):
            break
        yield row
        rows += 1
    if row:
        longer = next(iter(row))
        shorter = next(language for language in files if language not in row)
        count = rows + 1 + sum(1 for _ in streams[longer])
        raise InputError(
            f"{files[longer]} has {count} lines but {files[shorter]} has {rows}; "
            "aligned files need one line per row: find the line that is missing"
        )


def chosen(options: Mapping[str, str], known: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Read ``languages=`` and ``reference=``; by default, all languages, and English or else the first.

    Raises:
        InputError: a language is unknown or repeated, or the reference is not among the languages.
    """
    languages = tuple(options["languages"].split(",")) if "languages" in options else tuple(known)
    for language in languages:
        if language not in known:
            raise suggest("language", language, known)
    if len(set(languages)) != len(languages):
        raise InputError(f"languages={options['languages']} names a language twice; name each once")
    usual = next((code for code in USUAL_REFERENCES if code in languages), languages[0])
    reference = options.get("reference", usual)
    if reference not in languages:
        if reference in known:
            raise InputError(f"reference={reference} is not among languages={','.join(languages)}; add it there")
        raise suggest("reference language", reference, languages)
    return languages, reference
