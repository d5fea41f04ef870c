"""Passes over parts of a text, in a worker: one request reads a part and keeps its pass, another adds up all parts.

The pass of a part is kept as a state of its case (``store/states.py``): integers, whose sizes are checked before
anything is allocated. It names its part and the listing of the files that it was read from. Arrays lie in *planes*: the
lowest bytes of all values, then the next ones, because bytes of one kind pack better. ``NAME u`` are the planes of
unsigned integers, ``NAME i`` of others: uint8 [bytes of a value, n], or [bytes, columns, n] of a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import store
from pyharness.benchmarks import Benchmark, Findings, NoFindings, Pass, Work
from pyharness.corpora.document_keys import Watched
from pyharness.corpora.parts import FileListing, PartCorpus, whole_of
from pyharness.metrics.counting.state_arrays import taken, tally_of
from pyharness.types import Corpus, InputError, State

FORM = 2  # of the arrays, kept with the number of the part: 1 had no planes
_KINDS = (" u", " i")
ABOUT = _PART, _LISTING, _MET = "part", "part of", "part known"  # arrays about the part, beside those of its pass


def read(benchmark: Benchmark, work: Work, path: Path) -> Findings:
    """Read the part that is the corpus of ``work``, and keep its pass; the findings are the tally alone.

    Raises:
        InputError: the corpus is no part, its files changed meanwhile, or the pass cannot be written.
    """
    corpus = _unwatched(work.text)
    if not isinstance(corpus, PartCorpus):
        raise InputError(f"corpus {corpus.name!r} is no part of a text; write part:INDEX/COUNT:CORPUS")
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
    about = {
        _PART: np.array([corpus.index, corpus.count, FORM], np.int64),
        _LISTING: np.frombuffer(bytes.fromhex(listing), np.uint8),
        _MET: np.array(_counts(work.text), np.int64),
    }
    try:
        store.write_case_state(path, work.case.key, {**in_planes(arrays), **about})
    except (ValueError, OSError) as error:
        raise InputError(f"cannot keep a part in {str(path)!r}: {error}") from None
    return Findings(tally=tally_of(arrays))


def added_up(benchmark: Benchmark, work: Work, paths: Sequence[str]) -> Findings:
    """Add up the passes of all parts of the corpus of ``work``, in their order; return the findings of the whole.

    ``paths``: a file for each part; "" leaves a part out.

    Raises:
        InputError: a file is damaged, is of another part, vocabulary or text, or there are no documents.
    """
    listing = bytes.fromhex(FileListing.of(whole_of(_unwatched(work.text))).digest)
    whole, other = _start(benchmark, work), None
    there = [(index, path) for index, path in enumerate(paths) if path]
    for index, path in there:
        arrays = _arrays(Path(path), work.case.key, (index, len(paths)), listing)
        _add_counts(work.text, arrays)
        read = whole if index == there[0][0] else (other := other or _start(benchmark, work))
        try:
            read.restore(of_planes({name: planes for name, planes in arrays.items() if name not in ABOUT}))
        except InputError as error:
            raise InputError(f"{path!r} is no part of this run: {error}; remove it and work again") from None
        if read is not whole:
            whole.merge(read)
    try:
        findings = whole.findings()
    except NoFindings as none:
        return none.findings
    except OverflowError:
        raise InputError(f"parts of {work.text.name!r} have sums of no text: remove and work them again") from None
    if findings.tally is None or not findings.tally.documents:
        raise InputError(f"corpus {work.text.name!r} has no documents; check what it points to and its options")
    if len(there) < len(paths):
        findings.tally.beginnings = None  # they are not those of the text
    return findings


def _arrays(path: Path, case: str, part: tuple[int, int], listing: bytes) -> State:
    with store.StateReader(path) as states:
        arrays = states.of(case)
    *number, form = [*taken(arrays, _PART).tolist(), 1, 1][:3]
    if form != FORM:
        raise InputError(f"{str(path)!r} is of form {form}; this pyharness reads {FORM}: remove it and work again")
    if number != list(part):
        raise InputError(f"{str(path)!r} is not part {part[0]} of {part[1]}")
    if taken(arrays, _LISTING).astype(np.uint8).tobytes() != listing:
        raise InputError(f"{str(path)!r} was read from other files than there are now: plan again, in another folder")
    return arrays


def in_planes(arrays: State) -> dict[str, NDArray[Any]]:
    """Return the planes of arrays of one dimension, and of tables."""
    columns = {f"{name} {one.dtype.kind}": np.ascontiguousarray(one.astype(one.dtype.newbyteorder("<")).T)
               for name, one in arrays.items()}  # fmt: skip
    return {name: np.moveaxis(one[..., np.newaxis].view(np.uint8), -1, 0) for name, one in columns.items()}


def of_planes(arrays: State) -> dict[str, NDArray[Any]]:
    """Invert ``in_planes``; raise ``InputError`` for arrays that are no planes."""
    columns_by_name = {}
    for name, planes in arrays.items():
        shaped = planes.dtype == np.uint8 and planes.ndim in (2, 3) and len(planes) in (1, 2, 4, 8)
        if not shaped or name[-2:] not in _KINDS:
            raise InputError(f"{name!r} of a part has the shape {planes.shape}, which planes of integers do not have")
        columns = np.ascontiguousarray(np.moveaxis(planes, 0, -1)).view(f"<{name[-1]}{len(planes)}")[..., 0]
        columns_by_name[name[:-2]] = np.ascontiguousarray(columns.T)
    return columns_by_name


def _start(benchmark: Benchmark, work: Work) -> Pass:
    if benchmark.starts is None:
        raise InputError(f"benchmark {benchmark.name!r} cannot be run in parts: it has no passes that add up")
    return benchmark.starts(work)


def _unwatched(corpus: Corpus) -> Corpus:
    return corpus.whole if isinstance(corpus, Watched) else corpus


def _counts(corpus: Corpus) -> tuple[int, ...]:
    """Return what a watched corpus has met of known documents; zeros for any other."""
    met = corpus.met if isinstance(corpus, Watched) else None
    return (0, 0, 0, 0) if met is None else (met.long, met.long_known, met.short, met.short_known)


def _add_counts(corpus: Corpus, arrays: State) -> None:
    if isinstance(corpus, Watched):
        long, long_known, short, short_known = taken(arrays, _MET, 4).tolist()
        met = corpus.met
        met.long, met.long_known = met.long + long, met.long_known + long_known
        met.short, met.short_known = met.short + short, met.short_known + short_known


PARTS = (SimpleNamespace(name="parts", read=read, added_up=added_up),)
