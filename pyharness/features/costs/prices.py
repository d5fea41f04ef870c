"""Prices of tokens: a TOML file of the user. None is shipped, because prices change and no table of ours would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyharness import tokenizers
from pyharness.plugins.registry import pick
from pyharness.store.json_values import short
from pyharness.system import bounded_file, folders
from pyharness.types import InputError

_MOST_BYTES = 1 << 20
_MOST = 1e9  # of a price: above it, a unit is wrong
_LARGEST_WINDOW = 1 << 40
_LONGEST_CURRENCY = 8
EXAMPLE = '["o200k_base"] with input = 2.5, output = 10.0 and window = 128000'


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """Prices of one row, in ``currency`` per million tokens, and the tokens of its window (0: not given)."""

    currency: str
    input: float
    output: float
    window: int = 0


def read_prices(file: str, row: str) -> TokenPrices:
    """Read the prices of a row; with an engine, those of the row or of its home.

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
        raise InputError(f"{label} has no prices: write a table for each tokenizer, {EXAMPLE}")
    table = content.get(row) or pick("tokenizer with prices", tokenizers.without_engine(row).text, content)
    if not isinstance(table, dict):
        raise InputError(f"{label}: {row!r} is {short(table)}, not a table: {EXAMPLE}")
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
