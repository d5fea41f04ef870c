"""Actions: cost and error of a motion codec, and its results for damaged ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.benchmarks import Benchmark, Findings, Work
from pyharness.features.actions import metrics as metrics
from pyharness.features.actions import motions
from pyharness.features.actions.codecs.recipe import refuse_others, refuse_training
from pyharness.features.actions.metrics import ActionState
from pyharness.features.actions.types import ActionChunk, ActionCodec, Damaged
from pyharness.types import Case, CaseResult, Column, Fact, Ids, InputError, State, Table, Tally, Unsupported, counted


class Unfaithful(Exception):
    """A codec that claims to be lossless returned other numbers."""


def _codec(work: Work) -> ActionCodec:
    codec = None if work.spec.instead is None else work.spec.instead.make(work.spec)
    if not isinstance(codec, ActionCodec):
        raise Unsupported(f"{work.spec.name!r} encodes text, not actions; use actions:fast")
    return codec


def run(work: Work) -> Findings:
    """Read the clips once, and measure."""
    corpus, codec, tally = work.text, _codec(work), Tally()
    clips = motions.clips_behind(corpus)
    refuse_others(codec, clips)
    state = ActionState.empty(codec.half_widths)
    try:
        for chunk in motions.read_chunks(corpus, tally):
            add_chunk(state, codec, chunk)
            work.progress(tally.bytes)
    except Unfaithful as reason:
        return Findings(status="failed", reason=f"{work.spec.name}: {reason}", tally=tally)
    if not state.clips:
        raise InputError(f"corpus {corpus.name!r} has no chunk of {clips.chunk_frames} frames: give longer clips")
    findings = _findings(state)
    about = {"chunk_frames": clips.chunk_frames, "clips_left_out": tally.empty_documents}
    return replace(findings, details={**findings.details, **about}, tally=tally, state=state.arrays())


def add_chunk(state: ActionState, codec: ActionCodec, chunk: ActionChunk) -> None:
    """Encode a chunk, and decode its ids with and without damage.

    Raises:
        InputError: the chunk cannot be quantised or encoded, its errors are too large to sum, or its clip was used to
            fit the codec.
        Unfaithful: the codec is lossless, and decoding does not restore the quantised numbers.
    """
    refuse_training(codec, chunk.clip)
    state.clips += chunk.opens
    numbers = codec.quantised(chunk.frames)
    try:
        ids = codec.encode(numbers)
    except TypeError as error:  # the authors' processor, at half a surrogate pair or no character
        raise InputError(f"a chunk cannot be encoded: {error}") from None
    decoded = _decode(codec, ids, len(chunk.frames))
    faithful = decoded is not None and np.array_equal(decoded, numbers)
    if codec.lossless and not faithful:
        raise Unfaithful(f"chunk {int(state.counts[:, 0].sum()):,}: its ids do not give back what was quantised")
    numbers_read = np.zeros_like(numbers) if decoded is None else decoded
    restored = codec.restored(numbers_read, len(chunk.frames))
    counts = {
        "chunks": 1, "values": chunk.frames.size, "tokens": len(ids), "outside": codec.outside(numbers),
        "unfaithful": int(not faithful), "left out": chunk.left_out,
    }  # fmt: skip
    state.add(counts, codec.normalised(restored) - codec.normalised(chunk.frames))
    seed = chunk.clip + int(state.counts[:, 0].sum()).to_bytes(8, "little")
    for kind, wrong in damaged(ids, codec.vocab_size, seed):
        state.add_damaged(kind, _damage_error(codec, wrong, restored))


def _decode(codec: ActionCodec, ids: Ids, frames: int) -> NDArray[np.int64] | None:
    try:
        return codec.decode(ids, frames)
    except Damaged:
        return None


def _damage_error(codec: ActionCodec, ids: Ids, expected: NDArray[np.float64]) -> float | None:
    """Return the root mean square error of damaged ids; None where decoding fails."""
    numbers = _decode(codec, ids, len(expected))
    if numbers is None:
        return None
    off = codec.normalised(codec.restored(numbers, len(expected))) - codec.normalised(expected)
    return float(np.sqrt(np.mean(off**2)))


def damaged(ids: Ids, vocab_size: int, seed: bytes) -> Iterator[tuple[str, Ids]]:
    """Yield each kind of damage once, all at one place that ``seed`` draws.

    Empty ids yield nothing; a vocabulary of one id has nothing to replace it with.

    >>> [kind for kind, _ in damaged(np.array([3, 4], np.uint32), 10, b"seed")]
    ['replaced', 'deleted', 'unknown']
    """
    if not len(ids):
        return
    draw = np.random.default_rng(list(seed))
    place = int(draw.integers(len(ids)))
    if vocab_size > 1:
        replaced = ids.copy()
        replaced[place] = (int(ids[place]) + int(draw.integers(1, vocab_size))) % vocab_size
        yield "replaced", replaced
    yield "deleted", np.delete(ids, place)
    unknown = ids.copy()
    unknown[place] = vocab_size
    yield "unknown", unknown


def rederive(state: State, case: Case) -> Findings:
    """Recompute every number from the sums by group of clips."""
    del case
    return _findings(ActionState.of_arrays(state))


def _findings(state: ActionState) -> Findings:
    totals = dict(zip(metrics.COUNTS, state.counts.sum(axis=0).tolist(), strict=True))
    details = {"dimensions": len(state.half_widths), "frames_left_out": totals["left out"]}
    return Findings(tuple(metrics.measure(state)), details)


def _text(results: Sequence[CaseResult], data: Mapping[str, Any]) -> str:
    """Describe the corpus: its name, its numbers of clips and chunks, and the shape of a chunk."""
    label = str(results[0].case.corpus)
    about = {measurement.metric: measurement.value for measurement in results[0].measurements}
    details = results[0].details
    origin = " [synthetic: no evidence]" if data["corpora"].get(label, {}).get("smoke_test") else ""
    return (
        f"{label}, {_number(about.get('action_clips'), 'clip')}, {_number(about.get('action_chunks'), 'chunk')} of "
        f"{details.get('chunk_frames')} frames of {details.get('dimensions')}{origin}"
    )


def _number(count: float | int | None, noun: str) -> str:
    return counted(count, noun) if isinstance(count, int) else f"{count} {noun}s"  # in an edited record


def _note_left_out(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes on motion that is not measured."""
    del data
    details = results[0].details
    clips, frames = details.get("clips_left_out"), details.get("frames_left_out")
    if clips or frames:
        yield f"Left out: {clips} clips shorter than a chunk, {frames} frames after the last whole chunk of a clip."


TABLE = Table(
    "Actions",
    columns=(
        Fact("vocab_size", "ids"),
        Column("tokens_per_chunk", "tokens/chunk", interval=True),
        Column("values_per_token", "values/token", interval=True),
        Column("action_rmse", "RMSE", interval=True),
        Column("dimension_rmse", "worst", pick="most", shows="value and part"),
        Column("largest_action_error", "largest", pick="most", shows="value and part"),
        Column("action_outside_share", "outside %"),
        Column("unfaithful_chunk_share", "unfaithful %"),
    ),
    notes=(
        _note_left_out,
        "values/token: 1 for bins, which spend one id on each value.",
        "RMSE, worst dimension, largest error: in half ranges between the fitted quantiles. The record also has units.",
        "outside: numbers escaped, clamped or left out; unfaithful: chunks whose ids silently lose some of them.",
    ),
    text=_text,
    sized=False,
)
DAMAGED = Table(
    "Damaged ids",
    columns=tuple(
        Column(metric, f"{kind}: {title}", part=kind, interval=metric == "damaged_failing_share")
        for kind in metrics.KINDS
        for metric, title in (("damaged_failing_share", "fail %"), ("damaged_error", "error"))
    ),
    notes=(
        "One id of each chunk is replaced, deleted, or outside the vocabulary.",
        "fail: decoding fails (FAST's own processor returns zeros); error: of the others, each at most 2.",
    ),
    text=_text,
    sized=False,
)
BENCHMARKS = (
    Benchmark(
        "actions",
        "chunks of motion as ids (FAST, bins): tokens, errors by dimension, losses, damaged ids",
        run,
        corpus="motions",
        whole_text=True,
        metrics=metrics.REPORTED,
        tables=(TABLE, DAMAGED),
        rederive=rederive,
    ),
)
