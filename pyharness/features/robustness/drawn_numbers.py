"""Numbers drawn by a seed: whole ones of 1 to 12 digits, decimals and dates.

Of each length there are as many, so that a mean over numbers is one over lengths. Draws are the same on every machine
and with every version of NumPy. The i-th draw of each kind falls into group i modulo 32 of the jackknife: every group
has all lengths.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

LONGEST = 12  # digits of whole numbers
PER_KIND = 2048  # numbers of each length, decimals, and dates of each form
_FIRST_DAY, _DAYS = dt.date(1900, 1, 1).toordinal(), 73049  # to the end of 2099


def whole_numbers(seed: int) -> NDArray[np.int64]:
    """Return whole numbers, int64 [LONGEST, PER_KIND]: row k has k + 1 digits, the first of which is 0 only alone."""
    rows = []
    for digits in range(1, LONGEST + 1):
        least = 10 ** (digits - 1) if digits > 1 else 0
        rows.append(least + _draws(seed, digits) % np.uint64(10**digits - least))
    return np.array(rows).astype(np.int64)


def written(form: str, seed: int) -> list[str]:
    """Return the decimals or dates of a form, a key of ``FORMS``."""
    return FORMS[form](_draws(seed, LONGEST + 1 + list(FORMS).index(form)).tolist())


def _draws(seed: int, series: int) -> NDArray[np.uint64]:
    return np.asarray(np.random.PCG64([seed, series]).random_raw(PER_KIND), np.uint64)


def _decimals(draws: Sequence[int]) -> list[str]:
    """One to four digits before the point, and one to four behind it."""
    texts = []
    for draw in draws:
        before, behind = 1 + draw % 4, 1 + (draw >> 2) % 4
        texts.append(f"{(draw >> 4) % 10**before}.{(draw >> 32) % 10**behind:0{behind}}")
    return texts


def _dates(pattern: str) -> Callable[[Sequence[int]], list[str]]:
    def of(draws: Sequence[int]) -> list[str]:
        days = (dt.date.fromordinal(_FIRST_DAY + draw % _DAYS) for draw in draws)
        return [pattern.format(day=day) for day in days]

    return of


FORMS: Mapping[str, Callable[[Sequence[int]], list[str]]] = {
    "decimals": _decimals,
    "ISO dates": _dates("{day.year:04}-{day.month:02}-{day.day:02}"),
    "dates": _dates("{day.day:02}/{day.month:02}/{day.year:04}"),
}
