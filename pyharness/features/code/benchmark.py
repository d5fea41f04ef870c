"""The benchmark ``code``: tokens against the leaves of a lexer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import corpora
from pyharness.benchmarks import Benchmark, Findings, NoFindings, Pace, PassRun, Work
from pyharness.corpora.streaming import BATCH_SIZE, Read, batches
from pyharness.features.code.alignment import count_document
from pyharness.features.code.lexing import KINDS, Leaves, Lexer, language_named, language_of, lexer_of
from pyharness.features.code.metrics import REPORTED, CodeCounts, measure
from pyharness.features.code.rewrites import STYLES, rewritten
from pyharness.metrics.counting import state_arrays
from pyharness.statistics.jackknife import group_of
from pyharness.types import (
    Case,
    CaseResult,
    Column,
    Corpus,
    HasCalibration,
    HasSegments,
    Segments,
    State,
    Table,
    Tally,
    TokenizerSpec,
)


@dataclass(slots=True)
class CodePass:
    """One pass over a corpus or a part of it. ``merge`` gives the pass over both."""

    work: Work
    language: str
    lex: Lexer
    segmenter: HasSegments
    counts: CodeCounts = field(default_factory=CodeCounts)
    tally: Tally = field(default_factory=Tally)

    @classmethod
    def start(cls, work: Work) -> CodePass:
        """Return the pass of a case that has read nothing yet.

        Raises:
            Unsupported: the language of the text is not known, its grammar is not installed, or the row hides its
                tokens.
        """
        named = str(work.case.parameters.get("language", ""))
        places = (work.case.corpus or "", work.text.name)
        language = language_named(named) if named else language_of(work.text.language, places)
        return cls(work, language, lexer_of(language), work.segmenter())

    def read(self, corpus: Corpus, threads: int = 1, progress: Any = lambda _: None) -> CodePass:
        """Stream the corpus, a batch at a time.

        Raises:
            NoFindings: the units of a text do not spell it, and the segmenter has not marked it as missing.
            InputError: units were fitted to a text of the corpus.
        """
        for batch in batches(corpora.read(corpus, self.tally), size=BATCH_SIZE, size_of=lambda one: len(one.text)):
            if isinstance(self.segmenter, HasCalibration):
                for one in batch:
                    self.segmenter.check_unseen(one.text, (one.digest, one.key))
            self._add(batch, threads)
            progress(self.tally.bytes)
        return self

    def _segments(self, texts: Sequence[str], threads: int) -> Segments:
        segments = self.segmenter.segment_batch(texts, threads)
        fault = segments.fault(np.array([len(text.encode()) for text in texts], np.int64))
        if fault is not None:
            raise NoFindings(Findings(status="failed", reason=f"{self.work.spec.name}: {fault}"))
        return segments

    def _add(self, batch: Sequence[Read], threads: int) -> None:
        segments = self._segments([one.text for one in batch], threads)
        measured: list[tuple[int, bytes, Leaves, int]] = []  # group, UTF-8, leaves and tokens of a document
        for index, one in enumerate(batch):
            group, data, leaves = group_of(one.key), one.text.encode(), self.lex(one.text)
            spelled = not segments.missing[index]
            counts = Counter({"texts": 1, "read bytes": len(data), "unlexed": leaves is None, "unspelled": not spelled})
            counts.update(self._white_space(one.text, spelled))
            if leaves is not None:
                counts["error bytes"] += leaves.error_bytes
            if leaves is not None and spelled:
                ends = segments.document(index)
                counts.update(count_document(data, ends, leaves))
                counts.update({"documents": one.opens, "bytes": len(data)})
                measured.append((group, data, leaves, len(ends)))
            self.counts.add(group, counts)
        for style in STYLES:
            self._add_rewrites(style, measured, threads)

    def _add_rewrites(self, style: str, documents: Sequence[tuple[int, bytes, Leaves, int]], threads: int) -> None:
        """Count the tokens of documents that a rewrite changes, before and after."""
        changes = [(group, tokens, new) for group, data, leaves, tokens in documents
                   if (new := rewritten(data, leaves, style)) is not None]  # fmt: skip
        segments = self._segments([new.decode() for *_, new in changes], threads)
        lengths = np.diff(segments.offsets).tolist()
        for (group, before, _), after, missing in zip(changes, lengths, segments.missing.tolist(), strict=True):
            if not missing:
                self.counts.add(group, {f"{style} before": before, f"{style} after": after})

    def _white_space(self, text: str, spelled: bool) -> Mapping[str, int]:
        """Count the white space of a text, and what is kept: all of it where the tokens spell the text."""
        white = sum(map(str.isspace, text))
        if spelled:
            return {"white": white, "white kept": white}
        tokenizer = self.work.load()
        decoded = tokenizer.decode(tokenizer.encode_batch([text]).document(0)).decode(errors="replace")
        return {"white": white, "white kept": white_space_kept(text, decoded)}

    def merge(self, other: CodePass) -> None:
        """Add the pass over the text behind its own."""
        self.counts.merge(other.counts)
        self.tally.merge(other.tally)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the counts and the tally."""
        return {**self.counts.arrays(), **state_arrays.of_tally(self.tally)}

    def restore(self, arrays: State) -> None:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        self.counts, self.tally = CodeCounts.of_arrays(arrays), state_arrays.tally_of(arrays)

    def findings(self) -> Findings:
        """Return every number, and the arrays to keep with a record."""
        given = _findings(self.counts)
        details = {**given.details, "language": self.language}
        return replace(given, details=details, tally=self.tally, state=self.counts.arrays())


def white_space_kept(text: str, decoded: str) -> int:
    """Count the white space of a text that stands where it did in a decoded text, by a scan from the front.

    A character that is no white space leads to its next place in the decoded text. One that is white space is kept if
    it stands at the place reached. As in TokEval, Reconstruction fidelity.

    >>> white_space_kept("a  b c", "a b c")
    2
    """
    place = kept = 0
    last = {character: index for index, character in enumerate(decoded)}
    for character in text:
        if not character.isspace():
            place = decoded.find(character, place) + 1 if last.get(character, -1) >= place else place
        elif decoded.startswith(character, place) and place < len(decoded):
            place, kept = place + 1, kept + 1
    return kept


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again, from the sums by group."""
    del case
    return _findings(CodeCounts.of_arrays(state))


def _findings(counts: CodeCounts) -> Findings:
    names = ("texts", "unlexed", "unspelled", "read bytes", "error bytes")
    return Findings(tuple(measure(counts)), {"code": {name: counts.total(name) for name in names}})


def settle(parameters: Mapping[str, Any], row: TokenizerSpec, device: str) -> Mapping[str, Any]:
    """Return the parameters with the language's full name, without one that is not given; raise ``InputError``."""
    del row, device
    named = str(parameters["language"])
    return {"language": language_named(named)} if named else {}


def _left_out(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Name the language, and say what its lexer refuses and which texts tokens do not spell."""
    del data
    counts = results[0].details.get("code", {})
    texts, refused, errors = (counts.get(name, 0) for name in ("texts", "unlexed", "error bytes"))
    yield f"Leaves of {results[0].details.get('language', 'code')}, without comments."
    if refused:
        yield f"Left out, because the lexer refuses them: {refused:,} of {texts:,} texts."
        yield "Whole documents parse best: if some are split, raise max_document_bytes=."
    if errors:
        share = 100 * errors / counts["read bytes"]
        yield f"Without leaves, because the grammar finds errors there: {share:.2f} % of the bytes."
    unspelled = {one.case.tokenizer: one.details.get("code", {}).get("unspelled", 0) for one in results}
    if rows := [f"{row} {count:,}" for row, count in unspelled.items() if count]:
        yield f"Texts left out, because the tokens do not spell them: {', '.join(rows)}."


LEAVES = Table(
    "Leaves of code",
    columns=(
        Column("leaves_aligned", "aligned %", interval=True),
        Column("leaf_starts_aligned", "starts %"),
        Column("leaf_ends_aligned", "ends %"),
        Column("tokens_across_leaves", "across %", interval=True),
        *(Column("leaves_aligned", f"{kind} %", part=kind, optional=True) for kind in KINDS),
    ),
    notes=(
        _left_out,
        "aligned: leaves that start and end at token boundaries; across: tokens that hold parts of several leaves.",
    ),
)
NAMES = Table(
    "Identifiers, operators and white space",
    columns=(
        Column("tokens_per_identifier", "tok/identifier", interval=True),
        Column("whole_identifiers", "whole %", interval=True),
        Column("cuts_per_identifier", "cuts"),
        Column("identifiers_cut_alike", "alike %"),
        Column("whole_compound_operators", "whole operators %"),
        Column("tokens_per_level", "tok/level", interval=True),
        Column("indentation_cut_alike", "lines alike %"),
        Column("white_space_kept", "white space %"),
    ),
    notes=("cuts, alike: of identifiers that a document repeats. whole operators: of two characters and more.",),
)
REWRITES = Table(
    "Rewritten code",
    columns=tuple(Column("rewrite_cost", style, part=style, interval=True, optional=True) for style in STYLES),
    notes=(
        "Tokens after over tokens before. camel, snake: names in the other case.",
        "tight, spaced: operators without spaces, or with.",
    ),
    needs=("rewrite_cost",),
)

BENCHMARKS = (
    Benchmark(
        "code",
        "tokens against the leaves of a lexer: identifiers, operators, indentation, rewrites",
        PassRun(CodePass.start),
        corpus="required",
        whole_text=True,
        pace=Pace(1.0, 5.0),
        parameters={"language": ""},  # "": of the text
        settle=settle,
        metrics=REPORTED,
        tables=(LEAVES, NAMES, REWRITES),
        rederive=rederive,
    ),
)
