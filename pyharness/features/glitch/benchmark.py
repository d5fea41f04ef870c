"""Benchmark ``glitch``: ids that a checkpoint has hardly trained, each with its cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import tokenizers
from pyharness.benchmarks import Benchmark, Findings, Work
from pyharness.features.glitch.indicators import Indicators, UnusedIds, measure_rows
from pyharness.features.glitch.matrices import IdMatrices
from pyharness.features.glitch.verification import VERIFIED_BELOW, largest_probabilities
from pyharness.features.language_models.folder import ModelFolder, check, holds_model, obtain
from pyharness.features.language_models.loader import load, require_libraries
from pyharness.metrics import reachability
from pyharness.metrics.reachability import UNREACHABLE, PipelineTest, Verdict
from pyharness.tokenizers.families import file
from pyharness.types import (
    Answer,
    CaseResult,
    Column,
    Format,
    HasVocabulary,
    InputError,
    Listing,
    Measurement,
    Metric,
    Table,
    TokenizerSpec,
    TokenKind,
    Unsupported,
    Vocabulary,
    listed,
)
from pyharness.vocabularies.files import vocabulary_file

LISTED = 4096  # most candidates in a record, lowest indicator first; the counts are complete
MOST_VERIFIED = 4096
SPECIAL, UNUSED, DEAD, PARTIAL, BYTE, ZERO, REACHED = CAUSES = (
    "special", "unused", "unreachable", "partial UTF-8", "byte", "near zero", "reachable",
)  # fmt: skip
_OF_VERDICT = {
    **dict.fromkeys(UNREACHABLE, DEAD), Verdict.SPECIAL: SPECIAL, Verdict.ADDED: SPECIAL, Verdict.EMPTY: UNUSED,
    Verdict.ABSENT: UNUSED, Verdict.UNUSED: UNUSED, Verdict.UNDECODABLE: PARTIAL, Verdict.BYTE_FALLBACK: BYTE,
}  # fmt: skip


def settle(parameters: Mapping[str, Any], row: TokenizerSpec, device: str) -> Mapping[str, Any]:
    """Check the model and the libraries before anything runs; drop parameters that are off.

    Raises:
        InputError: the named model cannot be used, or too many tokens are to be verified.
        Unsupported: no model is named, and the row comes with none that can be read; or verification lacks libraries.
    """
    del device
    _model_name(parameters, row)
    if parameters["verify"]:
        if parameters["verify"] > MOST_VERIFIED:
            raise InputError(f"verify={parameters['verify']} is too many; at most {MOST_VERIFIED:,} are verified")
        require_libraries()
    return {name: value for name, value in parameters.items() if value}


def _model_name(parameters: Mapping[str, Any], row: TokenizerSpec) -> str:
    """Return the given model, or the folder of the row's tokenizer, checked: no download without a name."""
    if given := str(parameters.get("model", "")):
        check(given)
        return given
    home = Path(row.path).parent if row.path is not None else None
    if home is None or not holds_model(home):
        raise Unsupported(f"tokenizer {row.name!r} comes with no language model; name one: glitch?model=FOLDER")
    try:
        check(str(home))
    except InputError as error:
        raise Unsupported(str(error)) from None
    return str(home)


def run(work: Work) -> Findings:
    """Measure every row of the checkpoint, and list the candidates with their causes."""
    tokenizer, parameters = work.load(), work.case.parameters
    if not isinstance(tokenizer, HasVocabulary):
        return Findings(status="skipped", reason="this engine does not expose the bytes of its tokens")
    vocabulary = tokenizer.vocabulary()
    folder = obtain(_model_name(parameters, work.spec))
    if reason := _mismatch(folder, work.spec, vocabulary):
        return Findings(status="failed", reason=reason)
    matrices = IdMatrices.of(folder, len(vocabulary), str(parameters.get("tensor", "")))
    pipeline = PipelineTest(tokenizer, vocabulary, work.threads)
    pipeline.run(reachability.examine_model(tokenizer, vocabulary, work.threads), np.zeros(0, np.uint32))
    rows = matrices.entry.rows
    unused = UnusedIds.of(vocabulary, pipeline.verdicts, rows, str(parameters.get("unused", "")))
    tested = np.append(vocabulary.kinds != TokenKind.ABSENT, np.zeros(rows - len(vocabulary), np.bool_))
    indicators = measure_rows(matrices, unused, tested)
    about = _about(folder, matrices, indicators, unused)
    if indicators.threshold is None:
        reason = (
            f"no gap between rows of unused ids ({unused.reason}) and the others; name unused ids: unused=FIRST-LAST"
        )
        return Findings(_levels(indicators, reason), about)
    candidates = indicators.candidates(tested)
    causes = [cause_of(token, pipeline.verdicts, vocabulary, indicators) for token in candidates.tolist()]
    probabilities = _verified(work, folder, vocabulary, candidates, causes)
    if probabilities:
        about["sha256"] = folder.digest()  # of all the weights
    numbers = (*_levels(indicators), *_counts(causes), *_verification(probabilities, parameters))
    return Findings(numbers, {**about, "candidates": _list(candidates, causes, probabilities, indicators, vocabulary)})


def _mismatch(folder: ModelFolder, row: TokenizerSpec, vocabulary: Vocabulary) -> str:
    """Say why the row's tokenizer is not the model's; "" if it is, or if the model ships no file that loads."""
    try:
        path = vocabulary_file.find(str(folder.path))
        if row.path is not None and vocabulary_file.digest(path) == vocabulary_file.digest(Path(row.path)):
            return ""
        own = tokenizers.load(file.row(f"file:{path}", path, {}))
    except InputError:
        return ""
    if not isinstance(own, HasVocabulary):
        return ""
    theirs = own.vocabulary()
    if theirs.offsets.tobytes() == vocabulary.offsets.tobytes() and theirs.data.tobytes() == vocabulary.data.tobytes():
        return ""
    return f"the tokenizer is not the model's: {path} has other tokens, so the rows are those of other ids"


def _about(folder: ModelFolder, matrices: IdMatrices, indicators: Indicators, unused: UnusedIds) -> dict[str, Any]:
    return {
        "model": folder.name, "tied": matrices.tied, "rows": matrices.entry.rows,
        "rows_sha256": matrices.entry.digest(), "tensor": matrices.entry.tensor.name, "indicator": indicators.name,
        "unused": unused.reason, "unused_ids": len(unused.ids),
    }  # fmt: skip


def cause_of(token: int, verdicts: NDArray[np.uint8], vocabulary: Vocabulary, indicators: Indicators) -> str:
    """Return the first cause that explains an untrained row: what the tokenizer never gives, or a row without numbers.

    ``reachable``: text gives the token, so the training text had it rarely or never.
    """
    verdict = Verdict(verdicts[token])
    cause = BYTE if verdict == Verdict.UNDECODABLE and len(vocabulary[token]) == 1 else _OF_VERDICT.get(verdict)
    return cause or (ZERO if indicators.near_zero[token] else REACHED)


def _verified(
    work: Work, folder: ModelFolder, vocabulary: Vocabulary, candidates: NDArray[np.int64], causes: Sequence[str]
) -> Mapping[int, float]:
    """Ask the model about the lowest candidates that text gives; return the largest probability by id."""
    reached = [token for token, cause in zip(candidates.tolist(), causes, strict=True) if cause in (ZERO, REACHED)]
    wanted = reached[: work.case.parameters.get("verify", 0)]
    if not wanted:
        return {}
    model = load(folder.name, work.device, "float32" if work.device == "cpu" else "bfloat16")
    probabilities = largest_probabilities(model, work.load(), vocabulary, wanted)
    return dict(zip(wanted, probabilities.tolist(), strict=True))


def _levels(indicators: Indicators, reason: str | None = None) -> tuple[Measurement, ...]:
    missing = (Measurement("glitch_candidates", None, reason=reason),) if reason else ()
    return (
        *missing,
        Measurement("glitch_unused_level", indicators.level),
        Measurement("glitch_median", indicators.median),
        Measurement("glitch_threshold", indicators.threshold, reason=reason),
    )


def _counts(causes: Sequence[str]) -> Iterator[Measurement]:
    yield Measurement("glitch_candidates", len(causes))
    for cause in CAUSES:
        yield Measurement("glitch_causes", causes.count(cause), part=cause)


def _verification(probabilities: Mapping[int, float], parameters: Mapping[str, Any]) -> tuple[Measurement, ...]:
    if not parameters.get("verify"):
        return ()
    return (
        Measurement("glitch_asked", len(probabilities)),
        Measurement("glitch_verified", sum(probability < VERIFIED_BELOW for probability in probabilities.values())),
    )


def _list(
    ids: NDArray[np.int64], causes: Sequence[str], probabilities: Mapping[int, float], indicators: Indicators,
    vocabulary: Vocabulary,
) -> list[dict[str, Any]]:  # fmt: skip
    return [
        {"id": token, "token": vocabulary[token].decode(errors="backslashreplace"), "cause": cause,
         "indicator": float(indicators.values[token]), "probability": probabilities.get(token)}
        for token, cause in zip(ids.tolist()[:LISTED], causes, strict=False)
    ]  # fmt: skip


def glitch_tokens(result: CaseResult) -> Iterator[tuple[str, ...]]:
    """Yield id, text, indicator, cause and the model's probability of each listed candidate."""
    for one in result.details.get("candidates", ()):
        probability = "" if one["probability"] is None else f"{one['probability']:.1e}"
        yield str(one["id"]), repr(one["token"]), f"{one['indicator']:.4g}", one["cause"], probability


def summary(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[Answer]:
    """Count the candidates of each row that text gives: the others do no harm unless a program writes their ids."""
    del data
    counts = {
        one.case.tokenizer: sum(int(part.value or 0) for part in one.measurements if part.part in (ZERO, REACHED))
        for one in results if any(part.metric == "glitch_causes" for part in one.measurements)
    }  # fmt: skip
    if counts:
        named = [f"{row} {count:,}" for row, count in counts.items() if count]
        text = f"{listed(named)} that text gives and the model hardly knows." if named else "None that text gives."
        yield Answer("Glitch tokens", text, "alarm" if named else "calm")


def _legend(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    del data
    for one in results:
        about = one.details
        kind = "tied" if about["tied"] else "untied"
        unused = f"{about['unused_ids']} ({about['unused']})"
        yield f"{one.case.tokenizer}: {kind}, {about['indicator']}; unused ids: {unused}."


INDICATOR = Format("{:.4g}")
REPORTED = (
    Metric("glitch_candidates", "token", "lower", "ids whose rows are hardly trained", primary=True, exact=True),
    Metric("glitch_causes", "token", "none", "candidates by cause"),
    Metric("glitch_asked", "token", "none", "candidates that the model was asked about"),
    Metric("glitch_verified", "token", "lower", "candidates to which no prompt gives a probability of 1 %", exact=True),
    Metric("glitch_unused_level", "1", "none", "median indicator of unused ids", tolerance=1e-6, format=INDICATOR),
    Metric("glitch_median", "1", "none", "median indicator of all ids", tolerance=1e-6, format=INDICATOR),
    Metric("glitch_threshold", "1", "none", "where candidates begin", tolerance=1e-6, format=INDICATOR),
)
TABLE = Table(
    "Glitch tokens (rows of the checkpoint that are hardly trained)",
    columns=(
        Column("glitch_unused_level", "unused"),
        Column("glitch_median", "median"),
        Column("glitch_threshold", "threshold"),
        Column("glitch_candidates", "candidates"),
        *(Column("glitch_causes", cause, part=cause) for cause in CAUSES),
        Column("glitch_asked", "asked", optional=True),
        Column("glitch_verified", "verified", optional=True),
    ),
    notes=("reachable: text gives them. verified: the model gives them under 1 % in every prompt.", _legend),
    sized=False,
)
BENCHMARKS = (
    Benchmark(
        "glitch",
        "glitch tokens: ids that a checkpoint has hardly trained, by cause; the model can be asked",
        run,
        corpus="none",
        parameters={"model": "", "tensor": "", "unused": "", "verify": 0},
        settle=settle,
        tables=(TABLE,),
        answers=summary,
        listing=Listing("Glitch tokens", ("id", "token", "indicator", "cause", "probability"), glitch_tokens),
        place=6,
        metrics=REPORTED,
        underivable="they come from a checkpoint; the candidates are listed in the record's details",
    ),
)
