"""Reachability: the three layers of the Self-Tokenization Test over a whole vocabulary, and the merge graph."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.benchmarks import Benchmark, Findings, Pace, Work
from pyharness.corpora.streaming import BATCH_SIZE, batches
from pyharness.metrics import integrity, reachability
from pyharness.metrics.reachability import UNREACHABLE, ModelTest, PipelineTest, Verdict
from pyharness.types import (
    Answer,
    CaseResult,
    Column,
    HasVocabulary,
    Ids,
    Listing,
    Measurement,
    Table,
    Tally,
    Tokenizer,
    TokenizerSpec,
    Vocabulary,
    counted,
    listed,
)

LONG_TOKEN_BYTES = 64
SHOWN = 8  # ids of a token's replacement
LISTED = 4096  # most tokens in a list: of layers 1 and 2, or of layer 3 (dead or undecided); the counts are complete


def run(work: Work) -> Findings:
    """Test every token; a corpus, when given, adds witnesses and the unused ids."""
    tokenizer = work.load()
    if not isinstance(tokenizer, HasVocabulary):
        return Findings(status="skipped", reason="this engine does not expose the bytes of its tokens")
    vocabulary = tokenizer.vocabulary()
    emitted, tally = emitted_tokens(work, tokenizer)
    model = reachability.examine_model(tokenizer, vocabulary, work.threads)
    pipeline = PipelineTest(tokenizer, vocabulary, work.threads)
    pipeline.run(model, np.flatnonzero(emitted).astype(np.uint32))
    measurements = [*_model_counts(model), *_pipeline_counts(pipeline), *_graph_counts(model, vocabulary)]
    measurements += [_measure_unused(work, vocabulary, emitted), _scaffold_like(work, model, vocabulary, emitted)]
    share = integrity.invalid_utf8_vocabulary(vocabulary) / max(tokenizer.vocab_size, 1)
    measurements.append(Measurement("invalid_utf8_vocabulary", share))
    details: dict[str, Any] = {
        "contexts_version": reachability.CONTEXTS_VERSION,
        "categories": _categories(pipeline),
        "model": _list_model(model, vocabulary),
        "pipeline": _list_pipeline(pipeline, vocabulary),
        "arguments": dict(Counter(argument.kind for argument in pipeline.arguments.values())),
        "unexaminable": pipeline.unexaminable,
    }
    if work.case.parameters.get("witnesses"):
        details["witnesses"] = _list_witnesses(pipeline, vocabulary)
    return Findings(tuple(measurements), details, tally=tally if tally.documents else None)


def emitted_tokens(work: Work, tokenizer: Tokenizer) -> tuple[NDArray[np.uint64], Tally]:
    """Return the count of every id over the corpus given for witnesses, and its tally; without a corpus, zeros."""
    counts, tally = np.zeros(tokenizer.id_limit, np.uint64), Tally(beginnings=[])
    if work.corpus is not None:
        for texts in batches(work.corpus.documents(tally), size=BATCH_SIZE):
            for text in texts:
                tally.add(text)
            ids = tokenizer.encode_batch(texts, work.threads).ids
            counts += np.bincount(ids, minlength=len(counts)).astype(np.uint64)
            work.progress(tally.bytes)
    return counts, tally


def _model_counts(model: ModelTest | None) -> list[Measurement]:
    if model is None:
        reason = "this library exposes neither merge rules nor its model's own encoder"
        return [
            Measurement(name, None, reason=reason) for name in ("stt_tested", "unreachable_graph", "unreachable_model")
        ]
    graph = Measurement("unreachable_graph", len(model.underivable))
    if model.graph is None:
        graph = Measurement("unreachable_graph", None, reason="the model has no merge rules")
    return [Measurement("stt_tested", model.tested), graph, Measurement("unreachable_model", len(model.failed))]


def _pipeline_counts(pipeline: PipelineTest) -> list[Measurement]:
    count = np.bincount(pipeline.verdicts, minlength=len(Verdict))
    return [
        Measurement("unreachable_pipeline", int(count[list(UNREACHABLE)].sum())),
        Measurement("no_witness_found", int(count[Verdict.NO_WITNESS_FOUND])),
        Measurement("undecodable", int(count[Verdict.UNDECODABLE])),
    ]


def _graph_counts(model: ModelTest | None, vocabulary: Vocabulary) -> list[Measurement]:
    long_tokens = int(((np.diff(vocabulary.offsets) > LONG_TOKEN_BYTES) & vocabulary.counted).sum())
    measurements = [Measurement("long_tokens", long_tokens)]
    names = ("merge_depth_max", "merge_depth_mean", "leaf_tokens", "duplicate_derivations", "orphan_rules")
    if model is None or model.graph is None:
        return measurements + [Measurement(name, None, reason="the model exposes no merge rules") for name in names]
    graph = model.graph
    depths = graph.depth[graph.depth > 0]
    values = (
        int(depths.max(initial=0)), float(depths.mean()) if len(depths) else 0.0,
        int(((graph.children == 0) & (graph.depth > 0)).sum()), int((graph.derivations > 1).sum()),
        len(graph.orphan_rules),
    )  # fmt: skip
    return measurements + [Measurement(name, value) for name, value in zip(names, values, strict=True)]


def _measure_unused(work: Work, vocabulary: Vocabulary, emitted: NDArray[np.uint64]) -> Measurement:
    if work.corpus is None:
        return Measurement("unused_on_corpus", None, reason="no corpus was given for witnesses")
    return Measurement("unused_on_corpus", int(((emitted == 0) & vocabulary.counted).sum()), part=work.corpus.name)


def _scaffold_like(
    work: Work, model: ModelTest | None, vocabulary: Vocabulary, emitted: NDArray[np.uint64]
) -> Measurement:
    name = "scaffold_like"
    if model is None or model.parts is None:
        return Measurement(name, None, reason="the model exposes no merge rules")
    if work.corpus is None:
        return Measurement(name, None, reason="no corpus was given to count uses on")
    count = reachability.scaffold_like(model.parts, np.diff(vocabulary.offsets), emitted)
    return Measurement(name, count, part=work.corpus.name)


def _categories(pipeline: PipelineTest) -> dict[str, int]:
    count = np.bincount(pipeline.verdicts, minlength=len(Verdict))
    return {verdict.name.lower(): int(count[verdict]) for verdict in Verdict if count[verdict]}


def _spell(vocabulary: Vocabulary, token: int) -> str:
    return vocabulary[token].decode(errors="backslashreplace")


def _list_model(model: ModelTest | None, vocabulary: Vocabulary) -> list[dict[str, Any]]:
    if model is None:
        return []
    underivable = set(model.underivable.tolist())
    return [
        {
            "id": token,
            "token": _spell(vocabulary, token),
            "layer": 1 if token in underivable else 2,
            "instead": list(instead),
            "spelled": [_spell(vocabulary, part) for part in instead],
        }
        for token, instead in zip(model.failed.tolist()[:LISTED], model.instead, strict=False)
    ]


def _list_pipeline(pipeline: PipelineTest, vocabulary: Vocabulary) -> list[dict[str, Any]]:
    wanted: Ids = np.flatnonzero(np.isin(pipeline.verdicts, (*UNREACHABLE, Verdict.NO_WITNESS_FOUND))).astype(np.uint32)
    spelled = [_spell(vocabulary, token) for token in wanted.tolist()[:LISTED]]
    instead = pipeline.tokenizer.encode_batch(spelled)
    arguments = {token: {"argument": one.kind, "because": one.text} for token, one in pipeline.arguments.items()}
    return [
        {
            "id": token,
            "token": text,
            "verdict": Verdict(pipeline.verdicts[token]).name.lower(),
            "instead": instead.document(index).tolist(),
            **arguments.get(token, {}),
        }
        for index, (token, text) in enumerate(zip(wanted.tolist(), spelled, strict=False))
    ]


def _list_witnesses(pipeline: PipelineTest, vocabulary: Vocabulary) -> list[dict[str, Any]]:
    """Return texts that give tokens which their own text alone does not give."""
    listed = sorted(pipeline.witnesses.items())
    return [{"id": token, "token": _spell(vocabulary, token), "witness": text} for token, text in listed]


def dead_tokens(result: CaseResult) -> Iterator[tuple[str, ...]]:
    """Yield id and text of each listed token, dead or undecided, its replacement, and its verdict."""
    spelled = {one["id"]: one["spelled"] for one in result.details.get("model", ())}
    common = _common_arguments(result)
    for one in result.details.get("pipeline", ()):
        instead = " ".join(map(repr, spelled[one["id"]])) if one["id"] in spelled else f"ids {_ids(one['instead'])}"
        verdict = str(one["verdict"]).replace("_", " ").replace("pretokenizer", "pre-tokenizer")
        words = [re.sub(r"^(.*) unreachable$", r"unreachable (\1)", verdict)]
        if "argument" in one:
            words.append(one["argument"] if one["argument"] in common else one["because"])
        yield str(one["id"]), repr(one["token"]), instead, ": ".join(words)


def arguments_in_common(result: CaseResult) -> Iterator[str]:
    """Explain the kinds of argument whose words are the same for every token that has one."""
    return (f"{kind}: {text}." for kind, text in _common_arguments(result).items())


def _common_arguments(result: CaseResult) -> dict[str, str]:
    texts: dict[str, set[str]] = {}
    for one in result.details.get("pipeline", ()):
        if "argument" in one:
            texts.setdefault(one["argument"], set()).add(one["because"])
    return {kind: some.pop() for kind, some in texts.items() if len(some) == 1}


def _ids(ids: Sequence[int]) -> str:
    return ", ".join(map(str, ids[:SHOWN])) + (f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else "")


def unreachable(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[Answer]:
    """Count the tokens of each row that no text gives, and the undecided ones."""
    del data
    dead, undecided = (_counts(results, metric) for metric in ("unreachable_pipeline", "no_witness_found"))
    if dead:
        named = [f"{row}: {count:,}" for row, count in dead.items() if count]
        left = [f"{row}: {count:,}" for row, count in undecided.items() if count]
        text = listed(named) if named else f"None in {counted(len(dead), 'row')}"
        text += f"; undecided: {listed(left)}." if left else "."
        yield Answer("Unreachable tokens", text, "alarm" if named else "" if left else "calm")


def _counts(results: Sequence[CaseResult], metric: str) -> dict[str, int]:
    return {
        result.case.tokenizer: int(measurement.value)
        for result in results
        for measurement in result.measurements
        if measurement.metric == metric and measurement.value is not None
    }


def settled(parameters: Mapping[str, Any], row: TokenizerSpec, device: str) -> Mapping[str, Any]:
    """Drop parameters that are off, so that a case keeps the key of records without them."""
    del row, device
    return {name: value for name, value in parameters.items() if value is not False}


TABLE = Table(
    "Unreachable and unused tokens",
    columns=(
        Column("stt_tested", "tested"),
        Column("unreachable_graph", "graph"),
        Column("unreachable_model", "model"),
        Column("unreachable_pipeline", "pipeline"),
        Column("no_witness_found", "undecided"),
        Column("unused_on_corpus", "unused"),
        Column("undecodable", "not UTF-8"),
    ),
    notes=(
        "graph: tokens that no order of merges builds.",
        "model: tokens that do not come back when their text is encoded without a pre-tokenizer (includes graph).",
        "pipeline: tokens proven unreachable: no text gives them. undecided: no proof, and no text found.",
        "tested: tokens checked for the columns graph and model. -: none; the tokenizer does not show its rules.",
        "unused: not in this text.",
        "not UTF-8: unused tokens that hold part of a character. The columns pipeline and undecided do not cover them.",
    ),
    sized=False,
    joined=("witnesses",),
)

BENCHMARKS = (
    Benchmark(
        "reachability",
        "dead tokens: the self-tokenization test in three layers with witnesses, and the merge graph",
        run,
        corpus="optional",
        pace=Pace(2.6),
        parameters={"witnesses": False},  # whether the record holds a text for every id that needs a neighbour
        settle=settled,
        tables=(TABLE,),
        answers=unreachable,
        listing=Listing(
            "Unreachable and undecided tokens",
            ("id", "token", "encodes to", "verdict"),
            dead_tokens,
            arguments_in_common,
        ),
        place=5,
        metrics=(*reachability.REPORTED, "invalid_utf8_vocabulary"),
        underivable="they count verdicts on single tokens; the record's details list those without a witness",
    ),
)
