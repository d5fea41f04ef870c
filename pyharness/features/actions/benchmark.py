"""Actions: what a codec of motion costs, how far off it is, and what it makes of damaged ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyharness.benchmarks import Benchmark, Findings, Work
from pyharness.features.actions import metrics as metrics
from pyharness.features.actions.codecs import chunks
from pyharness.features.actions.codecs.fitting import refuse_others
from pyharness.features.actions.measuring import Unfaithful, add_chunk
from pyharness.features.actions.metrics import ActionState
from pyharness.features.actions.types import ActionCodec, MotionCorpus
from pyharness.types import Case, CaseResult, Column, Fact, InputError, State, Table, Tally, Unsupported, counted


def _motions(work: Work) -> MotionCorpus:
    if not isinstance(work.corpus, MotionCorpus):
        raise InputError(f"benchmark {work.case.benchmark!r} needs clips of motion, such as -c motions:made")
    return work.corpus


def _codec(work: Work) -> ActionCodec:
    codec = None if work.spec.instead is None else work.spec.instead.make(work.spec)
    if not isinstance(codec, ActionCodec):
        raise Unsupported(f"{work.spec.name!r} writes text as ids, and no actions; actions:fast does")
    return codec


def run(work: Work) -> Findings:
    """Read the clips once."""
    corpus, codec, tally = _motions(work), _codec(work), Tally()
    refuse_others(codec, corpus)
    state = ActionState.empty(codec.half_widths)
    try:
        for chunk in chunks.read(corpus, tally):
            add_chunk(state, codec, chunk)
            work.progress(tally.bytes)
    except Unfaithful as reason:
        return Findings(status="failed", reason=f"{work.spec.name}: {reason}", tally=tally)
    if not state.clips:
        raise InputError(f"corpus {corpus.name!r} has no chunk of {corpus.chunk_frames} frames")
    findings = _findings(state)
    about = {"chunk_frames": corpus.chunk_frames, "clips_left_out": tally.empty_documents}
    return replace(findings, details={**findings.details, **about}, tally=tally, state=state.arrays())


def rederive(state: State, case: Case) -> Findings:
    """Every number again, from the sums by clip."""
    del case
    return _findings(ActionState.of_arrays(state))


def _findings(state: ActionState) -> Findings:
    totals = dict(zip(metrics.COUNTS, state.counts.sum(axis=0).tolist(), strict=True))
    details = {"dimensions": len(state.half_widths), "frames_left_out": totals["left out"]}
    return Findings(tuple(metrics.measure(state)), details)


def _text(results: Sequence[CaseResult], data: Mapping[str, Any]) -> str:
    """Name the clips with their chunks."""
    label = str(results[0].case.corpus)
    about = {one.metric: one.value for one in results[0].measurements}
    details = results[0].details
    made = " [made here: no evidence]" if data["corpora"].get(label, {}).get("smoke_test") else ""
    return (
        f"{label}, {_number(about.get('action_clips'), 'clip')}, {_number(about.get('action_chunks'), 'chunk')} of "
        f"{details.get('chunk_frames')} frames of {details.get('dimensions')}{made}"
    )


def _number(count: float | int | None, noun: str) -> str:
    return counted(count, noun) if isinstance(count, int) else f"{count} {noun}s"  # of an edited record


def _left_out(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Say which motion is not measured."""
    del data
    details = results[0].details
    clips, frames = details.get("clips_left_out"), details.get("frames_left_out")
    if clips or frames:
        yield f"Left out: {clips} clips shorter than a chunk, {frames} frames behind the last whole chunk of a clip."


TABLE = Table(
    "Actions",
    columns=(
        Fact("vocab_size", "ids"),
        Column("tokens_per_chunk", "tokens/chunk", interval=True),
        Column("values_per_token", "x bins", interval=True),
        Column("action_rmse", "RMSE", interval=True),
        Column("dimension_rmse", "worst", pick="most", shows="value and part"),
        Column("largest_action_error", "largest", pick="most", shows="value and part"),
        Column("action_outside_share", "outside %"),
        Column("unfaithful_chunk_share", "unfaithful %"),
    ),
    notes=(
        _left_out,
        "RMSE, worst dimension, largest error: in half ranges between the fitted quantiles; the record has units, too.",
        "outside: numbers beyond the fitted range; unfaithful: chunks whose ids lose some of them and do not say so.",
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
        "One id of each chunk is replaced, deleted, or none of the vocabulary.",
        "fail: no chunk comes of it (the authors' processor answers zeros); error: of the others, each at most 2.",
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
        metrics=tuple(metric.name for metric in metrics.METRICS),
        tables=(TABLE, DAMAGED),
        rederive=rederive,
    ),
)
