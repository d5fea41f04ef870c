"""Prices of the user: arithmetic in the tests, intervals, and files that are no prices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cases.command_line import call, refused
from pyharness import tokenizers
from pyharness.benchmarks import Work, benchmarks
from pyharness.corpora import open_corpus
from pyharness.features.costs.cost import COST, CostState, TokenPrices, measure, read_prices
from pyharness.statistics.jackknife import GROUPS
from pyharness.types import Case, InputError

PRICES = TokenPrices("EUR", 2.5, 10.0, 1000)
RUN = ("run", "-t", "raw_bytes", "-c", "parallel:a.jsonl", "-b", "cost?prices=prices.toml", "-o", "r.json")


def aligned(folder: Path, rows: int = 80) -> Path:
    path = folder / "a.jsonl"
    lines = ({"text": {"en": f"one two {n}", "xx": f"one two three {n}"}} for n in range(rows))
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


def priced(
    folder: Path, text: str = 'currency = "EUR"\n[raw_bytes]\ninput = 2.5\noutput = 10\nwindow = 1000\n'
) -> Path:
    path = folder / "prices.toml"
    path.write_text(text)
    return path


def values(state: CostState, prices: TokenPrices = PRICES) -> dict[tuple[str, str | None], Any]:
    return {(one.metric, one.part): one.value for one in measure(state, prices)}


def test_costs_are_the_arithmetic_of_the_tests() -> None:
    state = CostState.empty(("en", "xx"), "en")
    for group in range(GROUPS):
        for _ in range(3):
            state.tokens.update(group, np.array([4, 6 + group % 2]), np.array([8, 9]))
        state.words[group] += 6
    numbers = values(state)
    words, english, other = 6 * GROUPS, 12 * GROUPS, 18 * GROUPS + 3 * (GROUPS // 2)
    assert numbers["reading_cost", "en"] == pytest.approx(2.5 * english / words)
    assert numbers["reading_cost", "xx"] == pytest.approx(2.5 * other / words)
    assert numbers["writing_cost", "xx"] == pytest.approx(10 * other / words)
    assert numbers["window_words", "xx"] == pytest.approx(1000 * words / other)
    measured = {(one.metric, one.part): one for one in measure(state, PRICES)}
    assert len(measured["reading_cost", "xx"].replicates) == GROUPS
    assert "window_words" not in {metric for metric, _ in values(state, TokenPrices("EUR", 1, 1))}
    assert list(measure(CostState.of_arrays(state.arrays()), PRICES)) == list(measure(state, PRICES))


def test_small_prices_keep_their_digits() -> None:
    cheap, dear = (COST.show(0.02 * tokens) for tokens in (1.15, 1.34))
    assert float(cheap) == pytest.approx(0.023)
    assert float(dear) == pytest.approx(0.0268)


def test_a_text_without_words_has_no_cost() -> None:
    state = CostState.empty(("en", "xx"), "en")
    state.tokens.update(0, np.array([4, 6]), np.array([8, 9]))
    assert set(values(state).values()) == {None}


def test_a_pass_counts_words_in_the_group_of_their_tokens(tmp_path: Path) -> None:
    case = Case("cost", "raw_bytes", "t", {"currency": "EUR", "input": 2.5, "output": 10.0, "window": 0})
    corpus = open_corpus(f"parallel:{aligned(tmp_path)}")
    found = benchmarks()["cost"].run(
        Work(case, tokenizers.resolve("raw_bytes"), lambda: tokenizers.load("raw_bytes"), corpus, 1)
    )
    state = CostState.of_arrays(found.state)
    assert state.words.tolist() == (3 * state.tokens.rows).tolist()
    assert found.details["words"] == 240
    again = benchmarks()["cost"].rederive
    assert again is not None
    assert again(found.state, case).measurements == found.measurements


def test_a_run_shows_costs_and_says_what_is_dear(tmp_path: Path) -> None:
    aligned(tmp_path)
    priced(tmp_path)
    done = call(*RUN, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in ("EUR", "Cost by language", "window"):
        assert shown in done.stdout
    data = json.loads((tmp_path / "r.json").read_text())
    (result,) = [one for one in data["results"] if one["benchmark"] == "cost"]
    numbers = {(one["metric"], one["part"]): one["value"] for one in result["measurements"]}
    tokens, words = result["details"]["tokens"], result["details"]["words"]
    assert numbers["reading_cost", "xx"] == pytest.approx(2.5 * tokens["xx"] / words)
    assert result["parameters"]["window"] == 1000
    assert call("report", "r.json", "--rederive", cwd=tmp_path).returncode == 0


BAD = {
    "no currency": "[raw_bytes]\ninput = 1\noutput = 1\n",
    "a currency of none": 'currency = 3\n[raw_bytes]\ninput = 1\noutput = 1\n',
    "nothing": 'currency = "EUR"\n',
    "another row": 'currency = "EUR"\n[other]\ninput = 1\noutput = 1\n',
    "no table": 'currency = "EUR"\nraw_bytes = 3\n',
    "negative": 'currency = "EUR"\n[raw_bytes]\ninput = -0.1\noutput = 1\n',
    "missing": 'currency = "EUR"\n[raw_bytes]\ninput = 1\n',
    "nan": 'currency = "EUR"\n[raw_bytes]\ninput = 1\noutput = nan\n',
    "infinite": 'currency = "EUR"\n[raw_bytes]\ninput = inf\noutput = 1\n',
    "text": 'currency = "EUR"\n[raw_bytes]\ninput = "1"\noutput = 1\n',
    "true": 'currency = "EUR"\n[raw_bytes]\ninput = true\noutput = 1\n',
    "a window of less": 'currency = "EUR"\n[raw_bytes]\ninput = 1\noutput = 1\nwindow = -1\n',
    "half a window": 'currency = "EUR"\n[raw_bytes]\ninput = 1\noutput = 1\nwindow = 1.5\n',
    "an unknown key": 'currency = "EUR"\n[raw_bytes]\ninput = 1\noutput = 1\ncached = 1\n',
    "no TOML": "currency = ",
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_price_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_prices(str(priced(tmp_path, BAD[name])), "raw_bytes", "raw_bytes")
    assert "\n" not in str(error.value)


def test_bad_prices_end_a_run_before_it_begins(tmp_path: Path) -> None:
    aligned(tmp_path)
    for text in (BAD["negative"], BAD["missing"], BAD["nan"]):
        priced(tmp_path, text)
        told = refused(*RUN, cwd=tmp_path)
        assert len(told.splitlines()) == 1
    (tmp_path / "prices.toml").unlink()
    refused(*RUN, cwd=tmp_path)
    refused("run", "-t", "raw_bytes", "-c", "parallel:a.jsonl", "-b", "cost", cwd=tmp_path)
    assert not (tmp_path / "r.json").exists()


def test_a_row_with_an_engine_has_the_prices_of_its_home(tmp_path: Path) -> None:
    path = priced(tmp_path, 'currency = "EUR"\n["cl100k_base"]\ninput = 1\noutput = 2\n')
    assert read_prices(str(path), "a", "native+cl100k_base") == TokenPrices("EUR", 1.0, 2.0)


def test_prices_are_found_by_the_name_of_the_row_first(tmp_path: Path) -> None:
    aligned(tmp_path)
    tables = {"a": 1, "b": 2, "raw_bytes": 3}
    text = "".join(f"[{name}]\ninput = {price}\noutput = {price}\n" for name, price in tables.items())
    priced(tmp_path, f'currency = "EUR"\n{text}')
    rows = ("-t", "a=raw_bytes", "-t", "b=raw_bytes", "-t", "c=raw_bytes")
    done = call("run", *rows, *RUN[3:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "r.json").read_text())["results"]
    prices = {one["tokenizer"]: one["parameters"]["input"] for one in results if one["benchmark"] == "cost"}
    assert prices == {"a": 1.0, "b": 2.0, "c": 3.0}
    priced(tmp_path, 'currency = "EUR"\n[a]\ninput = 1\noutput = 1\n')
    assert "'b'; known: a" in refused("run", *rows[:4], *RUN[3:-2], cwd=tmp_path)
