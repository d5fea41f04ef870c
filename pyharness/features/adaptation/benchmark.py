"""Adaptation benchmark: an adapted tokenizer against its base, and against another adaptation of that base.

Rows of one recipe on one text that differ only in their number of new tokens form a curve. The notes tell the knee of
every curve of three rows or more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from pyharness import corpora, tokenizers
from pyharness.benchmarks import Benchmark, Findings, Work, notes
from pyharness.benchmarks.compression import CorpusPass
from pyharness.features.adaptation import metrics as adaptation
from pyharness.features.adaptation.metrics import LITTLE, AdaptationCounts, Knee, Unreachable, knee
from pyharness.features.adaptation.trainers.adapted import RECORD
from pyharness.features.training import rows as trained
from pyharness.features.training.recipe import Recipe, file_of
from pyharness.metrics import reachability
from pyharness.metrics.counting.state import MOST_IDS, Sums
from pyharness.metrics.reachability import UNREACHABLE, PipelineTest, Verdict
from pyharness.plugins.specification import TOKENIZER
from pyharness.system import bounded_file
from pyharness.types import (
    PERCENT,
    Case,
    CaseResult,
    Column,
    HasVocabulary,
    Ids,
    InputError,
    Measurement,
    Plot,
    Published,
    State,
    Table,
    Tokenizer,
    TokenizerSpec,
    Unsupported,
    Vocabulary,
)

BASE = "base"  # part of the gain over the row's base
MOST_BYTES = 64 << 20  # of the file that lists added tokens
# Facts next to the row's file that the record repeats: the trainer's options, whether pieces are looked up whole, the
# amount of text, and its characters without a token.
LEARNT = ("asked", "whole_piece_lookup", "bytes", "documents", "missing_characters")
# Strings of unreachable tokens: in the merge graph, and in the model; None: not tested.
Dead: TypeAlias = tuple[frozenset[bytes] | None, frozenset[bytes] | None]


def run(work: Work) -> Findings:
    """Measure an adapted row on the text, against its base and against the other adaptation, if one is named.

    Raises:
        Unsupported: the row has no base.
        InputError: the facts next to the row's file are unusable or do not fit it, or the text has changed.
    """
    recipe = adapting(work.spec)
    added, removed, learnt = changes(work.spec)
    tokenizer, base = work.load(), tokenizers.resolve(base_of(work.spec, recipe))
    others = {BASE: base}
    if (name := against(work.case.parameters, recipe)) is not None:
        others[name] = tokenizers.resolve(counterpart(work.spec, recipe, name))
    passed = CorpusPass.start(tokenizer).read(work.text, work.threads, work.progress)
    text = work.text.name, passed.tally.digest
    tokens = {name: _tokens(row.name, row.vocabulary, *text, work.threads) for name, row in others.items()}
    if len(added) and int(added.max()) >= tokenizer.id_limit:
        raise InputError(f"{RECORD} of {work.spec.name!r} names ids that the tokenizer lacks")
    seen = np.flatnonzero(passed.state.histogram.any(axis=0)).astype(np.uint32)
    before = _unreachable_of(base.name, base.vocabulary, work.threads)
    unreachable = Unreachable(
        *newly(_unreachable(tokenizer, work.threads), before),
        *(pipeline_verdicts(tokenizer, added, seen, work.threads) if work.case.parameters.get("pipeline") else ()),
    )
    counts = AdaptationCounts.of(passed.state, tokens, added, removed, unreachable)
    details = {"learnt": learnt, "groups": {"documents": counts.sums["documents"].tolist()}}
    return Findings(tuple(counts.measurements()), details, tally=passed.tally, state=counts.arrays())


def rederive(state: State, case: Case) -> Findings:
    """Recompute every number from the stored counts.

    Raises:
        InputError: a count is missing or has another shape.
    """
    del case
    return Findings(tuple(AdaptationCounts.of_arrays(state).measurements()))


def settle(parameters: Mapping[str, Any], row: TokenizerSpec, device: str) -> Mapping[str, Any]:
    """Drop parameters that are False, so that a case has the same key as in records made before they existed.

    Raises:
        Unsupported: the row has no base.
    """
    del device
    adapting(row)
    return {name: value for name, value in parameters.items() if value is not False}


def other(parameters: Mapping[str, Any], row: TokenizerSpec) -> str | None:
    """Return the specification of the other adaptation; None if none other than the row's is named.

    Raises:
        Unsupported: the row has no base.
    """
    recipe = adapting(row)
    name = against(parameters, recipe)
    return None if name is None else counterpart(row, recipe, name)


def adapting(row: TokenizerSpec) -> Recipe:
    """Return the recipe of a row that was made from another tokenizer.

    Raises:
        Unsupported: the row has no base, or options of its engine, which the rows it is compared with would lack.
    """
    recipe = trained.recipe_of(row.name)
    if recipe is None or not recipe.trainer.adapts:
        raise Unsupported("it was not made from another tokenizer: only rows trained:...?base=... were")
    if of_engine := TOKENIZER.parse(row.name).options.keys() - {"corpus", *recipe.options}:
        raise Unsupported(f"its base would be encoded without {', '.join(sorted(of_engine))}=; leave that out")
    return recipe


def base_of(row: TokenizerSpec, recipe: Recipe) -> str:
    """Return the specification of the row's base, in the row's engine."""
    base, engine = file_of(str(recipe.options["base"])), TOKENIZER.parse(row.name).engine
    named = base if base.startswith("file:") else TOKENIZER.write("file", base)
    return f"{engine}+{named}" if engine else named


def counterpart(row: TokenizerSpec, recipe: Recipe, trainer: str) -> str:
    """Return the specification of the other adaptation: the same recipe with another trainer."""
    wanted = TOKENIZER.parse(row.name)
    others = {name: value for name, value in wanted.options.items() if name in ("corpus", *recipe.options)}
    return TOKENIZER.write("trained", trainer, others, wanted.engine)


def against(parameters: Mapping[str, Any], recipe: Recipe) -> str | None:
    """Return the trainer of the other adaptation; None if none other than the row's is named."""
    name = str(parameters["against"])
    return name if name not in ("", recipe.trainer.name) else None


def changes(row: TokenizerSpec) -> tuple[Ids, int, Mapping[str, Any]]:
    """Read the added ids, the number of removed tokens, and facts of the training, from next to the row's file.

    A row without a file has none of these.

    Raises:
        InputError: the facts are absent, unreadable or inconsistent.
    """
    if row.path is None:
        return np.zeros(0, np.uint32), 0, {}  # loading the row raises the reason
    path = Path(row.path).parent / RECORD
    try:
        facts = json.loads(bounded_file.read(path, MOST_BYTES, str(path)))
        runs = [range(first, last + 1) for first, last in facts["added_ids"]]
        if sum(map(len, runs)) == facts["added"] <= MOST_IDS:
            learnt = {name: facts[name] for name in LEARNT if name in facts}
            return np.concatenate([np.zeros(0, np.uint32), *map(_ids, runs)]), int(facts["removed"]), learnt
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        pass
    raise InputError(f"{path} does not say which tokens of {row.name!r} are new: remove its folder")


def _ids(run: range) -> Ids:
    return np.arange(run.start, run.stop, dtype=np.uint32)


@lru_cache(maxsize=1)
def _load(name: str, vocabulary: str | None) -> Tokenizer:
    del vocabulary
    return tokenizers.load(name)


@lru_cache(maxsize=4096)
def _tokens(name: str, vocabulary: str | None, corpus: str, digest: int, threads: int) -> Sums:
    """Count a row's tokens by group of documents; raise ``InputError`` where the text's digest has changed."""
    passed = CorpusPass.start(_load(name, vocabulary)).read(corpora.open_corpus(corpus), threads)
    if passed.tally.digest != digest:
        raise InputError(f"{corpus!r} changed while it was read; measure a text that stays as it is")
    return passed.state.counters["tokens"]


@lru_cache(maxsize=64)
def _unreachable_of(name: str, vocabulary: str | None, threads: int) -> Dead:
    return _unreachable(_load(name, vocabulary), threads)


def newly(after: Dead, before: Dead) -> tuple[int | None, int | None]:
    """Count tokens, by their bytes, that newly fail in the merge graph and in the model; None: not tested in both."""
    pairs = zip(after, before, strict=True)
    graph, model = (None if mine is None or theirs is None else len(mine - theirs) for mine, theirs in pairs)
    return graph, model


def pipeline_verdicts(tokenizer: Tokenizer, added: Ids, seen: Ids, threads: int) -> tuple[int, int] | tuple[()]:
    """Count added tokens that provably no text gives, and those with neither a proof nor a text.

    The result is empty for a tokenizer without a vocabulary.
    """
    vocabulary = tokenizer.vocabulary() if isinstance(tokenizer, HasVocabulary) else None
    if vocabulary is None:
        return ()
    test = PipelineTest(tokenizer, vocabulary, threads, frozenset(added.tolist()))
    test.run(reachability.examine_model(tokenizer, vocabulary, threads), seen)
    verdicts = test.verdicts[added]
    return int(np.isin(verdicts, UNREACHABLE).sum()), int((verdicts == Verdict.NO_WITNESS_FOUND).sum())


def _unreachable(tokenizer: Tokenizer, threads: int) -> Dead:
    vocabulary = tokenizer.vocabulary() if isinstance(tokenizer, HasVocabulary) else None
    tested = None if vocabulary is None else reachability.examine_model(tokenizer, vocabulary, threads)
    if vocabulary is None or tested is None:
        return None, None
    graph = None if tested.graph is None else _strings(vocabulary, tested.underivable)
    return graph, _strings(vocabulary, tested.failed)


def _strings(vocabulary: Vocabulary, ids: Ids) -> frozenset[bytes]:
    return frozenset(vocabulary[token] for token in ids.tolist())


def _explain(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes on the reference of gains, on dead tokens relative to the base, and on the knees of curves."""
    if any(measurement.metric == "compression_gain" for result in results for measurement in result.measurements):
        yield "vs: gain in bytes/token over the base, or over another adaptation of it."
        yield "dead: tokens that the model never gives, and that are new or were alive in the base."
        yield "no text: new tokens that no text gives, by an argument; open: those with neither a text nor an argument."
        yield from knees(results, data, BASE)


def _note_unspelled(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes on rows without tokens for characters of their training text, unless a coverage was requested."""
    del data
    rows: dict[str, list[str]] = {}
    for result in results:
        learnt = result.details.get("learnt") or {}
        missing = learnt.get("missing_characters") or {}
        if missing.get("distinct") and learnt.get("asked", {}).get("character_coverage") is None:
            lack = f"{missing['distinct']:,} characters, {100 * missing['share']:.2g} % of that text, {missing['are']}"
            rows.setdefault(lack, []).append(result.case.tokenizer)
    for lack, names in rows.items():
        yield f"Trained without a token for {lack} (character_coverage=0.99995): {', '.join(names)}."


def knees(results: Sequence[CaseResult], data: Mapping[str, Any], part: str) -> Iterator[str]:
    """Yield the knee of every curve of three sizes or more; ``part``: the reference of the gains."""
    for rows in _curves(results, data, part).values():
        sizes = sorted(rows)
        if (point := knee(sizes, [rows[size][1] for size in sizes])) is not None:
            first, *_, last = (rows[size][0] for size in sizes)
            yield f"{first} to {_beyond(first, last)}: {_describe(point)}."


def _curves(
    results: Sequence[CaseResult], data: Mapping[str, Any], part: str
) -> Mapping[str, Mapping[int, tuple[str, Measurement]]]:
    """Return rows and gains by recipe and number of new tokens."""
    curves: dict[str, dict[int, tuple[str, Measurement]]] = {}
    for result in results:
        recipe = notes.recipe(data, result.case.tokenizer, _TOKENS)
        by_name = {(one.metric, one.part): one for one in result.measurements}
        added, gain = by_name.get(("added_tokens", None)), by_name.get(("compression_gain", part))
        if recipe is not None and added is not None and added.value and gain is not None:
            curves.setdefault(recipe, {}).setdefault(int(added.value), (result.case.tokenizer, gain))
    return curves


def _beyond(first: str, last: str) -> str:
    """Return the name of the last row without the words that both names begin with.

    It is whole where one name continues the other.
    """
    words, others = last.split(" "), first.split(" ")
    alike = next((at for at, (word, other) in enumerate(zip(words, others, strict=False)) if word != other), 0)
    return " ".join(words[alike:])


def _describe(found: Knee) -> str:
    percent = f"{100 * LITTLE:g} %"
    if not found.resolved:
        end = "last" if found.size else "first"
        return f"whether 1,000 more tokens give {percent} is undecided at the {end} size"
    if math.isinf(found.size):
        return f"1,000 more tokens give {percent} or more at the last of these sizes"
    little = f"1,000 more tokens give under {percent}"
    if found.size == 0:
        return f"{little} from the first size on"
    low, high = found.interval or (found.size, found.size)
    bounds = f" ({low:,.0f} to {high:,.0f})" if found.interval else ""
    return f"{little} from about {found.size:,.0f} on{bounds}"


PAPER = Published(
    "Paper (arXiv 2512.03989), other data: continued up to +9.6 % over naive; of what was added, dead 0.0 % (naive 3.6 "
    "to 10.5 %) and unused 0.0 to 7.1 % (naive 4.0 to 20.9 %); Llama 3 with 16k more for Estonian 4.46 bytes/token; "
    "gains flatten at 8k to 16k; pruning leaves leaves no dead tokens, pruning by frequency thousands.",
    rows=(),
    metrics=("compression_gain",),
)
TABLE = Table(
    "Adaptation",
    columns=(
        Column("added_tokens", "added", optional=True),
        Column("removed_tokens", "removed", optional=True),
        Column("bytes_per_token", "bytes/token", optional=True),
        Column("compression_gain", "vs {part} %", each=True, interval=True),
        Column("unused_added", "unused %", optional=True),
        Column("added_token_uses", "uses/MB", optional=True),
        Column("newly_unreachable_model", "dead"),
        Column("added_unreachable_pipeline", "no text", optional=True),
        Column("added_without_witness", "open", optional=True),
    ),
    notes=(_explain, notes.provenance, _note_unspelled),
    sized=False,
    joined=("against", "pipeline"),
    needs=("compression_gain",),
    published=PAPER,
)
WORDS = Table(
    "Words and characters of adapted rows",
    columns=(
        Column("renyi_efficiency", "Rényi 2.5"),
        Column("tokens_per_word", "tok/word"),
        Column("continued_word_share", "cut words %", format=PERCENT),
        Column("character_split_share", "split characters %", format=PERCENT),
    ),
    notes=("cut words %: words of more than one token.",),
    sized=False,
    needs=("compression_gain", "renyi_efficiency"),
)
_TOKENS = ("tokens",)  # size option of an extension
_CHANGES = (("Growth", "added_tokens", "added"), ("Pruning", "removed_tokens", "removed"))
PLOTS = tuple(
    Plot(
        Table(
            f"{title}: gain by the number of tokens {word}",
            columns=(Column(metric, word), Column("compression_gain", "vs {part}", each=True, interval=True)),
            notes=(notes.provenance,),
            sized=False,
            joined=("against", "pipeline"),
            needs=("compression_gain", metric),
        ),
        f"A point is a row: tokens {word} across, bytes per token over those of the other row up. Rows that differ "
        "only in their number of tokens are joined. Vertical lines are 95 % CIs.",
        drawing="points",
        log=True,
        joins=notes.recipe,
    )
    for title, metric, word in _CHANGES
)
BENCHMARKS = (
    Benchmark(
        "adaptation",
        "an adapted tokenizer against its base and another adaptation of it: gains, use, dead tokens",
        run,
        corpus="required",
        metrics=adaptation.REPORTED,
        tables=(TABLE, WORDS),
        plots=PLOTS,
        # against: trainer of the other adaptation, such as naive-extension or frequency-pruning; empty: none.
        # pipeline: whether to test added tokens in layer 3, too.
        parameters={"against": "", "pipeline": False},
        settle=settle,
        loads=other,
        rederive=rederive,
    ),
)
