"""Passes over parts of a text, in a worker: one request reads a part and keeps its pass, another adds up all parts.

The pass of a part is kept as a state of its case (``store/states.py``): integers, whose sizes are checked before
anything is allocated. It names its part and the listing of the files that it was read from.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pyharness import store
from pyharness.benchmarks import Benchmark, Findings, NoFindings, Pass, Work
from pyharness.corpora.document_keys import Watched
from pyharness.corpora.parts import FileListing, PartCorpus, whole_of
from pyharness.metrics.counting.state_arrays import taken, tally_of
from pyharness.types import Corpus, InputError, State

_PART, _LISTING, _MET = "part", "part of", "part known"  # arrays about the part, beside those of its pass
_MET_COUNTS = ("long", "long_known", "short", "short_known")
# The pass over the only part of a text if this process has read that last, by its file, with the arrays about the part.
# It need not be restored.
_last: dict[Path, tuple[Pass, State]] = {}


def read(benchmark: Benchmark, work: Work, path: Path) -> Findings:
    """Read the part that is the corpus of ``work``, and keep its pass; the findings are the tally alone.

    Raises:
        InputError: the corpus is no part, its files changed meanwhile, or the pass cannot be written.
    """
    corpus = _unwatched(work.text)
    if not isinstance(corpus, PartCorpus):
        raise InputError(f"corpus {corpus.name!r} is no part of a text; write part:INDEX/COUNT:CORPUS")
    _last.clear()
    passed, listing = _start(benchmark, work), FileListing.of(corpus.whole).digest
    try:
        passed.read(work.text, work.threads, work.progress)
    except NoFindings as none:
        return none.findings
    if FileListing.of(corpus.whole).digest != listing:
        raise InputError(
            f"files of {corpus.whole.name!r} changed while they were read; measure a text that stays as it is"
        )
    arrays = passed.arrays()
    about: State = {
        _PART: np.array([corpus.index, corpus.count], np.int64),
        _LISTING: np.frombuffer(bytes.fromhex(listing), np.uint8),
        _MET: np.array(_counts(work.text), np.int64),
    }
    try:
        store.write_case_state(path, work.case.key, {**arrays, **about})
    except (ValueError, OSError) as error:
        raise InputError(f"cannot keep a part in {str(path)!r}: {error}") from None
    if corpus.count == 1:
        _last[path] = passed, about
    return Findings(tally=tally_of(arrays))


def added_up(benchmark: Benchmark, work: Work, paths: Sequence[str]) -> Findings:
    """Add up the passes of all parts of the corpus of ``work``, in their order; return the findings of the whole.

    ``paths``: a file for each part; "" leaves a part out.

    Raises:
        InputError: a file is damaged, is of another part, vocabulary or text, or there are no documents.
    """
    listing = bytes.fromhex(FileListing.of(whole_of(_unwatched(work.text))).digest)
    there = [(index, Path(path)) for index, path in enumerate(paths) if path]
    whole = other = None
    for index, path in there:
        last, arrays = _last.pop(path, None) or (None, _arrays(path, work.case.key))
        _check(arrays, path, (index, len(paths)), listing)
        _add_counts(work.text, arrays)
        passed = last or other or _start(benchmark, work)
        if last is None:
            passed.restore(arrays)
        if whole is not None:
            whole.merge(passed)
            other = passed
        whole = whole or passed
    try:
        findings = (whole or _start(benchmark, work)).findings()
    except NoFindings as none:
        return none.findings
    if findings.tally is None or not findings.tally.documents:
        raise InputError(f"corpus {work.text.name!r} has no documents; check what it points to and its options")
    if len(there) < len(paths):
        findings.tally.beginnings = None  # they are not those of the text
    return findings


def _arrays(path: Path, case: str) -> State:
    with store.StateReader(path) as states:
        return states.of(case)


def _check(arrays: State, path: Path, part: tuple[int, int], listing: bytes) -> None:
    if taken(arrays, _PART, 2).tolist() != list(part):
        raise InputError(f"{str(path)!r} is not part {part[0]} of {part[1]}")
    if taken(arrays, _LISTING).astype(np.uint8).tobytes() != listing:
        raise InputError(f"{str(path)!r} was read from other files than there are now: plan again, in another folder")


def _start(benchmark: Benchmark, work: Work) -> Pass:
    if benchmark.starts is None:
        raise InputError(f"benchmark {benchmark.name!r} cannot be run in parts: it has no passes that add up")
    return benchmark.starts(work)


def _unwatched(corpus: Corpus) -> Corpus:
    return corpus.whole if isinstance(corpus, Watched) else corpus


def _counts(corpus: Corpus) -> list[int]:
    """Return what a watched corpus has met of known documents; zeros for any other."""
    return [getattr(corpus.met, name) if isinstance(corpus, Watched) else 0 for name in _MET_COUNTS]


def _add_counts(corpus: Corpus, arrays: State) -> None:
    for name, count in zip(_MET_COUNTS, taken(arrays, _MET, 4).tolist(), strict=True):
        if isinstance(corpus, Watched):
            setattr(corpus.met, name, getattr(corpus.met, name) + count)
