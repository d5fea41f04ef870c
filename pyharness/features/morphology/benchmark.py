"""The benchmark ``morphology``: where the tokens of words end, against the boundaries of their morphemes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from pyharness.benchmarks import Benchmark, Findings, Pace, Work
from pyharness.corpora.streaming import batches
from pyharness.features.morphology.formats import GoldWord
from pyharness.features.morphology.gold import read_gold
from pyharness.features.morphology.scores import COLUMNS, CUT, EVERY, ONE, REPORTED, WordScores, measure, outcome
from pyharness.system import folders
from pyharness.tokenizers.segmenting import segmenter_of
from pyharness.types import Case, CaseResult, Column, HasSegments, InputError, Plot, State, Table, TokenizerSpec

_BATCH_WORDS = 1 << 14
_SPACE = "space"
_DIGEST, _DIGITS = "sha256", 16  # of the file, in a case's parameters


def settle(parameters: Mapping[str, Any], row: TokenizerSpec, device: str) -> Mapping[str, Any]:
    """Check the gold file before anything is measured; raise ``InputError`` if it gives no words.

    The case gets the file's digest: a run goes on from results of the same words only.
    """
    del row, device
    if not parameters.get("gold"):
        raise InputError("it needs gold boundaries: -b 'morphology?gold=eng.inflectional.v1.tsv'")
    file = str(parameters["gold"])
    try:
        about = folders.expanded(file).stat()
    except OSError:
        return {**parameters, _DIGEST: read_gold(file).sha256[:_DIGITS]}  # its message says what is wrong
    return {**parameters, _DIGEST: _digest(file, about.st_mtime_ns, about.st_size)}


@lru_cache(maxsize=1)  # settling asks for each row
def _digest(file: str, changed: int, size: int) -> str:
    del changed, size
    return read_gold(file).sha256[:_DIGITS]


def run(work: Work) -> Findings:
    """Encode each word, alone or behind a space, and compare."""
    units = segmenter_of(work.load())
    gold = read_gold(str(work.case.parameters["gold"]))
    if not gold.sha256.startswith(work.case.parameters.get(_DIGEST, "")):
        raise InputError(f"gold file {work.case.parameters['gold']!r} has changed since the run began: run it again")
    scores = score(units, gold.words, space=bool(work.case.parameters[_SPACE]), threads=work.threads)
    findings = _findings(scores)
    about = {"format": gold.format, "sha256": gold.sha256, "left out": dict(gold.left_out)}
    return replace(findings, details={**findings.details, "gold": about}, state=scores.arrays())


def score(units: HasSegments, words: Sequence[GoldWord], *, space: bool, threads: int = 1) -> WordScores:
    """Return the outcomes of words. Those whose tokens spell another text are left out and counted."""
    rows: list[tuple[int, ...]] = []
    spelled: list[GoldWord] = []
    for batch in batches(words, count=_BATCH_WORDS):
        segments = units.segment_batch([" " * space + one.word for one in batch], threads)
        for one, (start, stop), missing in zip(batch, pairwise(segments.offsets), segments.missing, strict=True):
            if not missing:
                ends = [end - space for end in segments.ends[start:stop].tolist() if end > space]
                rows.append(outcome(one, ends))
                spelled.append(one)
    weights = [one.frequency for one in spelled]
    frequencies = None if not weights or None in weights else np.array(weights, np.float64)
    return WordScores(np.array(rows, np.int64).reshape(-1, len(COLUMNS)), frequencies, len(words) - len(rows))


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again, from the outcomes of words."""
    del case
    return _findings(WordScores.of_arrays(state))


def _findings(scores: WordScores) -> Findings:
    if not len(scores.outcomes):
        return Findings(status="failed", reason="the tokens of no gold word spell it")
    return Findings(tuple(measure(scores)), {"unspelled": scores.unspelled})


def _notes(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Say what the words are, which are left out, and how little the scores say of models."""
    del data
    gold = results[0].details.get("gold", {})
    yield f"Gold words: {gold.get('format')}. CIs are over words: a document is a word here."
    for reason, count in gold.get("left out", {}).items():
        yield f"Left out: {count:,} {reason}."
    for result in results:
        if count := result.details.get("unspelled"):
            yield f"{result.case.tokenizer}: words left out, because their tokens do not spell them: {count:,}."
    yield "MorphScore explains little of what models do downstream (arXiv 2507.06378)."


def _columns(mean: str, words: str) -> Iterator[Column]:
    part = f"{mean}, {words}"
    for metric, title in (("recall", "recall"), ("precision", "precision"), ("f1", "F1")):
        own = f"{mean}, {CUT}" if metric == "precision" else part
        yield Column(f"boundary_{metric}", title, part=own, interval=True)


def _table(mean: str, words: str, more: tuple[Column, ...] = ()) -> Table:
    notes = (_notes,) if more else ()  # once
    return Table(
        f"Morphology, {mean}, {words}", columns=(*more, *_columns(mean, words)), notes=notes, joined=(_DIGEST,)
    )


_COUNTED = (Column("gold_words", "words"), Column("one_token_share", "one token"))
TABLES = (
    _table("micro", EVERY, _COUNTED),
    _table("micro", CUT),
    _table("macro", EVERY),
    _table("macro", CUT),
    Table(
        "MorphScore",
        columns=(
            Column("morphscore_1", "version 1", interval=True),
            Column("morphscore_2_recall", "version 2 recall, cut words", part=CUT, interval=True),
            Column("morphscore_2_precision", "version 2 precision, cut words", part=CUT, interval=True),
            Column("morphscore_2_recall", "version 2 recall, one token is 1", part=ONE, interval=True),
            Column("morphscore_2_f1", "version 2 micro F1, cut words", part=f"micro, {CUT}", interval=True),
        ),
        joined=(_DIGEST,),
    ),
)
PLOTS = tuple(
    Plot(table, "Ends of tokens against gold boundaries.", drawing="dots by column", axis="share")
    for table in (_table("micro", EVERY), TABLES[1])
)

BENCHMARKS = (
    Benchmark(
        "morphology",
        "ends of tokens against gold boundaries of morphemes (?gold=FILE&space=false)",
        run,
        corpus="none",
        parameters={"gold": "", _SPACE: False},
        metrics=REPORTED,
        pace=Pace(1.0),
        tables=TABLES,
        plots=PLOTS,
        rederive=rederive,
        settle=settle,
    ),
)
