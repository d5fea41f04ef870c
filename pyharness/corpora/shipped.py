"""The sample shipped with pyharness: small, the same everywhere; for smoke tests, not evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from itertools import chain

from pyharness.corpora.aligned import AlignedCorpus, chosen, side_by_side
from pyharness.corpora.files import jsonl
from pyharness.corpora.files.splitting import Cut, Fragment, pieces, unrolled
from pyharness.corpora.options import COMMON_OPTIONS, MAX_DOCUMENT_BYTES, Description, described
from pyharness.corpora.streaming import TextCorpus, admitted, never_empty
from pyharness.kernels.text import TextRun
from pyharness.plugins.registry import suggest
from pyharness.types import Corpus, CorpusFamily, InputError, Piece, Tally

ROOT = files("pyharness.corpora").joinpath("sample")
LICENCE = "CC0-1.0"
PARTS: Mapping[str, str] = {  # part -> language
    "prose": "mul",
    "dialogue": "mul",
    "numbers": "mul",
    "code": "code",
    "unicode": "mul",
}
ALIGNED = "parallel"
OPTIONS = ("max_bytes", "name")


@dataclass(slots=True)
class Sample(AlignedCorpus):
    """All parts: ``documents`` yields everything, ``rows`` the aligned part."""

    def keyed_documents(self, tally: Tally) -> Iterator[Piece]:
        """Stream every document under its own key, then the aligned ones: those of one row share the row's key."""
        alone = pieces(chain.from_iterable(map(_fragments, PARTS)), MAX_DOCUMENT_BYTES)
        documents = admitted(chain(unrolled(alone), self._cut_aligned()), self.max_bytes, tally)
        return never_empty(self.name, documents, tally)

    def _cut_aligned(self) -> Iterator[Cut]:
        for row in self.read():
            for number, text in enumerate(row.values()):
                yield Cut(text, row[self.reference], opens=number == 0, parted=False)


def _fragments(part: str) -> Iterator[Fragment | TextRun]:
    return jsonl.documents(ROOT.joinpath(f"{part}.jsonl"), "text", "", MAX_DOCUMENT_BYTES)


def _open(spec: str, argument: str, options: Mapping[str, str]) -> Corpus:
    if not argument or argument == ALIGNED:
        return _open_aligned(spec, argument, options)
    if argument not in PARTS:
        raise suggest("part of the sample", argument, (*PARTS, ALIGNED))
    for option in ("languages", "reference"):
        if option in options:
            raise InputError(f"{option}= does not apply to {spec!r}; only 'sample' and 'sample:parallel' are aligned")
    return TextCorpus(
        name=spec,
        read=partial(_fragments, argument),
        max_document_bytes=MAX_DOCUMENT_BYTES,
        smoke_test=True,
        **_describe(spec, options, PARTS[argument], argument),
    )


def _open_aligned(spec: str, part: str, options: Mapping[str, str]) -> Corpus:
    aligned = sorted(ROOT.joinpath(ALIGNED).iterdir(), key=lambda file: file.name)
    by_language = {file.name.removesuffix(".txt"): file for file in aligned if file.name.endswith(".txt")}
    languages, reference = chosen(options, tuple(by_language))
    used = {language: by_language[language] for language in languages}
    make = AlignedCorpus if part else Sample
    return make(
        name=spec,
        read=lambda: side_by_side(used),
        languages=languages,
        reference=reference,
        smoke_test=True,
        **_describe(spec, options, "mul", part or "mixed"),
    )


def _describe(spec: str, options: Mapping[str, str], language: str, domain: str) -> Description:
    return described(spec, options, language=language, domain=domain, licence=LICENCE)


CORPORA = (
    CorpusFamily(
        name="sample",
        place=1,
        open=_open,
        summary="a small text in many languages, shipped with pyharness: all of it, or one part",
        example="sample:prose",
        options={
            **{option: COMMON_OPTIONS[option] for option in OPTIONS},
            "languages": "of the aligned part, separated by commas (default: all)",
            "reference": "what the others are compared with (default eng_Latn)",
        },
        known=lambda: (*PARTS, ALIGNED),
    ),
)
