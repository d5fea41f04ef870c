"""The benchmark ``cost``: what the same sentences cost in every language, by the user's prices.

Costs are per word of the reference language: a million of its words, said in another language, cost this much. So
languages compare although their words do not. So does how much of them a window holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import tokenizers
from pyharness.benchmarks import Benchmark, Findings, Pace, Work, fairness
from pyharness.corpora.streaming import batches, work_key
from pyharness.kernels import TextColumn, text_statistics
from pyharness.metrics.counting.state_arrays import taken
from pyharness.metrics.fairness import FairnessState
from pyharness.plugins.registry import pick
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS, Undefined, group_of
from pyharness.store.json_values import short
from pyharness.system import bounded_file, folders
from pyharness.types import (
    WORK,
    Answer,
    Case,
    CaseResult,
    Column,
    Format,
    InputError,
    Measurement,
    Metric,
    NotSpelled,
    Plot,
    State,
    Table,
    Tally,
    TokenizerSpec,
    counted,
    digest_of,
)

_SETTLED = ("currency", "input", "output", "window")
_EXAMPLE = '["o200k_base"] with input = 2.5, output = 10.0 and window = 128000'
_ROWS = 64  # at once
_MOST_BYTES = 1 << 20
_MOST = 1e9  # of a price: above it, a unit is wrong
_LARGEST_WINDOW = 1 << 40
_LONGEST_CURRENCY = 8


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """Prices of one row, in ``currency`` per million tokens, and the tokens of its window (0: not given)."""

    currency: str
    input: float
    output: float
    window: int = 0


def read_prices(file: str, row: str, spec: str) -> TokenPrices:
    """Read the prices of a row from the user's TOML file, by its name, its specification or that of its home.

    None is shipped, because prices change and no table of ours would.

    Raises:
        InputError: there is no such file, it has no prices of the row, or one is negative, missing or no number.
    """
    path = folders.expanded(file)
    label = f"prices {str(path)!r}"
    content = bounded_file.read_toml(path, _MOST_BYTES, label)
    currency = content.pop("currency", "")
    if not isinstance(currency, str) or not currency.isprintable() or not 0 < len(currency) <= _LONGEST_CURRENCY:
        raise InputError(f'{label}: currency = {short(currency)} is no name of a currency: write currency = "EUR"')
    if not content:
        raise InputError(f"{label} has no prices: write a table for each tokenizer, {_EXAMPLE}")
    names = (name for name in (row, spec, tokenizers.without_engine(spec).text) if name in content)
    table = pick("tokenizer with prices", next(names, row), content)
    if not isinstance(table, dict):
        raise InputError(f"{label}: {row!r} is {short(table)}, not a table: {_EXAMPLE}")
    where = f"{label}, {row!r}"
    if unknown := sorted(table.keys() - {"input", "output", "window"}):
        raise InputError(f"{where}: unknown key {unknown[0][:40]!r}; known: input, output, window")
    return TokenPrices(currency, _price(table, "input", where), _price(table, "output", where), _window(table, where))


def _price(table: Mapping[str, Any], name: str, where: str) -> float:
    if name not in table:
        raise InputError(f"{where}: {name} is missing; write the price of a million tokens: {name} = 2.5")
    value = table[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST:
        raise InputError(f"{where}: {name} = {short(value)} is not a price from 0 to {_MOST:,.0f} a million tokens")
    return float(value)


def _window(table: Mapping[str, Any], where: str) -> int:
    value = table.get("window", 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST_WINDOW:
        raise InputError(f"{where}: window = {short(value)} is not a number of tokens, such as 128000")
    return value


@dataclass(slots=True)
class CostState:
    """Tokens of aligned rows by group and language, and the words of their text in the reference language."""

    tokens: FairnessState
    words: NDArray[np.int64]  # [GROUPS]

    @classmethod
    def empty(cls, languages: tuple[str, ...], reference: str) -> CostState:
        """Return the state before any row."""
        return cls(FairnessState.empty(languages, reference), np.zeros(GROUPS, np.int64))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep with a record."""
        return {**self.tokens.arrays(), "words": self.words}

    @classmethod
    def of_arrays(cls, arrays: State) -> CostState:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        words = taken(arrays, "words", GROUPS).astype(np.int64)
        if (words < 0).any():
            raise InputError("a group has fewer than 0 words")
        return cls(FairnessState.of_arrays(arrays), words)


def measure(state: CostState, prices: TokenPrices) -> Iterator[Measurement]:
    """Yield every metric of every language."""
    functions: dict[str, Callable[[float], float]] = {  # of the tokens for a word of the reference language
        "reading_cost": lambda tokens: prices.input * tokens,
        "writing_cost": lambda tokens: prices.output * tokens,
    }
    if prices.window:
        functions["window_words"] = lambda tokens: prices.window / tokens
    for index, language in enumerate(state.tokens.languages):
        for name, of in functions.items():
            yield _estimate(state, name, language, index, of)


def _estimate(state: CostState, name: str, language: str, index: int, compute: Callable[[float], float]) -> Measurement:
    aligned, home = state.tokens, state.tokens.languages.index(state.tokens.reference)

    def of(groups: jackknife.Groups) -> float:
        tokens, words = int(aligned.tokens[groups, index].sum()), int(state.words[groups].sum())
        if not words:
            raise Undefined(f"the text has no words in the reference language {aligned.reference}")
        if not tokens:
            raise Undefined(f"{language} has no tokens")
        return float(compute(tokens / words))

    return jackknife.estimate(name, aligned.rows.tolist(), of, language, aligned.bytes[:, home].tolist())


COST = Format("{:.4g}")  # prices go from cents to hundreds
REPORTED = (
    Metric(
        "reading_cost", "price/million words", "lower",
        "price of a million words of the reference language, read in a language", primary=True, format=COST,
    ),
    Metric(
        "writing_cost", "price/million words", "lower",
        "price of a million words of the reference language, written in a language", format=COST,
    ),
    Metric(
        "window_words", "word", "higher",
        "words of the reference language whose translation fits the window", format=Format("{:,.0f}"),
    ),
)  # fmt: skip


def settle(parameters: Mapping[str, Any], row: TokenizerSpec, device: str) -> Mapping[str, Any]:
    """Replace the file of prices by the prices of the row.

    Raises:
        InputError: no file is named, or it has no valid prices of the row.
    """
    del device
    if not parameters.get("prices"):
        raise InputError("it needs your prices: -b 'cost?prices=prices.toml'")
    return asdict(read_prices(str(parameters["prices"]), row.label or row.name, row.name))


def _prices_of(case: Case) -> TokenPrices:
    return TokenPrices(*(case.parameters[name] for name in _SETTLED))


def run(work: Work) -> Findings:
    """Read aligned text once, and count tokens by language and words of the reference language."""
    corpus, tally, count = work.aligned, Tally(), fairness.starts(work).count
    state = CostState.empty(corpus.languages, corpus.reference)
    try:
        for rows in batches(corpus.rows(tally), count=_ROWS):
            fairness.add_rows(state.tokens, count, rows, tally)
            _add_words(state, rows, work.threads)
            work.progress(tally.bytes)
    except NotSpelled as reason:
        return Findings(status="failed", reason=f"{work.spec.name}: {reason}", tally=tally)
    return replace(_findings(state, _prices_of(work.case)), tally=tally, state=state.arrays())


def _add_words(state: CostState, rows: Sequence[Mapping[str, str]], threads: int) -> None:
    """Count the words of the reference language, in the group that the tokens of a row have."""
    texts = [row[state.tokens.reference] for row in rows]
    words = text_statistics(texts, threads=threads)[:, TextColumn.WORDS]
    keys = [digest_of(work_key(row[WORK]) if row.get(WORK) else text) for row, text in zip(rows, texts, strict=True)]
    np.add.at(state.words, [group_of(key) for key in keys], words)


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again, from the counts by group and the prices of the case."""
    return _findings(CostState.of_arrays(state), _prices_of(case))


def _findings(state: CostState, prices: TokenPrices) -> Findings:
    aligned = state.tokens
    details = {
        "reference": aligned.reference,
        "rows": int(aligned.rows.sum()),
        "words": int(state.words.sum()),
        "tokens": dict(zip(aligned.languages, aligned.tokens.sum(axis=0).tolist(), strict=True)),
        "currency": prices.currency,
    }
    return Findings(tuple(measure(state, prices)), details)


def dearest(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[Answer]:
    """Say what the dearest language costs, and what the reference language does, in the row where they differ most."""
    del data
    for label in dict.fromkeys(result.case.corpus for result in results):
        own = (_dearest(result) for result in results if result.case.corpus == label)
        if (most := max((one for one in own if one is not None), default=None)) is not None:
            yield Answer("Cost by language", most[1])


def _dearest(result: CaseResult) -> tuple[float, str] | None:
    costs = {one.part: one.value for one in result.measurements if one.metric == "reading_cost" and one.value}
    home, currency = result.details.get("reference"), result.details.get("currency")
    if home not in costs or len(costs) < 2:
        return None
    most = max((one for one in costs if one != home), key=lambda one: costs[one])
    times = costs[most] / costs[home]
    text = (
        f"{result.case.tokenizer}: a million words of {home} cost {COST.show(costs[home])} {currency} to read, "
        f"and {COST.show(costs[most])} in {most} ({times:.2g}x)."
    )
    return times, text


def _about(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Name the currency and the reference."""
    del data
    homes = dict.fromkeys((one.details.get("reference"), one.details.get("currency")) for one in results)
    for home, currency in homes:
        yield f"read, write: {currency} for a million words of {home}, said in a language."
        yield f"window: words of {home} whose translation fits."


def _text(results: Sequence[CaseResult], data: Mapping[str, Any]) -> str:
    del data
    details, corpus = results[0].details, results[0].case.corpus
    return f"{corpus}, {len(details.get('tokens', ()))} languages, {counted(details.get('rows', 0), 'line')}"


TABLE = Table(
    "Cost",
    columns=(
        Column("reading_cost", "read, median", pick="median"),
        Column("reading_cost", "read, least", pick="least", shows="value and part", interval=True),
        Column("reading_cost", "read, most", pick="most", shows="value and part", interval=True),
        Column("writing_cost", "write, median", pick="median"),
        Column("writing_cost", "write, most", pick="most", shows="value and part"),
        Column("window_words", "window, least", pick="least", shows="value and part", interval=True, optional=True),
    ),
    notes=(_about,),
    joined=_SETTLED,
    text=_text,
)


def _plot(metric: str, title: str, about: str) -> Plot:
    columns = (Column(metric, "{part}", each=True, interval=True),)
    return Plot(Table(title, columns=columns, joined=_SETTLED, text=_text), about, drawing="dots by column")


PLOTS = (
    _plot("reading_cost", "Cost of reading, by language", "Price of a million words of the reference language, said in "
          "a language and read by the model."),
    _plot("window_words", "Words that fit the window", "Words of the reference language whose translation fits."),
)  # fmt: skip

BENCHMARKS = (
    Benchmark(
        "cost",
        "what the same sentences cost in every language, by your prices (?prices=FILE)",
        run,
        corpus="parallel",
        parameters={"prices": ""},
        metrics=REPORTED,
        pace=Pace(0.2),
        tables=(TABLE,),
        plots=PLOTS,
        answers=dearest,
        rederive=rederive,
        settle=settle,
    ),
)
