"""Logits so large, so far apart or so cold that a fused multiply-add would err: both sides of where kernels stop it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends import Backend
from entropy_results import assert_close
from oracles import entropy as oracle
from pyharness.kernels import entropy
from pyharness.kernels.entropy import OUTPUTS

DTYPES = ("float32", "float16", "bfloat16")
anything = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(
    dtype=st.sampled_from(DTYPES),
    columns=st.sampled_from([1, 5, 31, 260, 1100]),
    exponent=st.floats(14, 23),
    sign=st.sampled_from([-1, 1]),
    temperature=st.sampled_from([1e-3, 1.0, 7.0, 1e3, 1e20]),
    masked=st.floats(0, 0.9),
    seed=st.integers(0, 99),
)
@anything
def test_scaled_logits_of_any_size(
    backend: Backend,
    dtype: str,
    columns: int,
    exponent: float,
    sign: int,
    temperature: float,
    masked: float,
    seed: int,
) -> None:
    """The largest scaled logit is about 2^exponent in size: the kernels' bounds are 2^18 in float16, else 2^20."""
    generator = np.random.default_rng(seed)
    offset = sign * 2.0**exponent * temperature * np.log(2)
    values = (offset + generator.normal(0, 3 * temperature, (3, columns))).clip(-6e4 if dtype == "float16" else None)
    values = values.clip(None, 6e4) if dtype == "float16" else values
    values[generator.random(values.shape) < masked] = -np.inf
    values[:, columns // 2] = offset if dtype != "float16" else np.clip(offset, -6e4, 6e4)
    logits, rounded = backend.logits(values, dtype)
    targets = np.full(3, columns // 2)
    results = entropy(logits, targets=backend.put(targets), outputs=OUTPUTS, temperature=temperature)
    assert_close(backend, results, oracle.outputs(rounded, targets, temperature))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("temperature", [0.01, 1.0, 200.0, 1e6])
def test_the_least_number_is_not_minus_infinity(backend: Backend, dtype: str, temperature: float) -> None:
    """Both lie far below the largest logit; hot enough, only one of them has probability 0."""
    least = {"float16": -65504.0, "bfloat16": -(2.0**127) * 1.9921875, "float32": float(np.finfo(np.float32).min)}[
        dtype
    ]
    values = np.array([[0.0, least, -np.inf, -1.0], [-np.inf, -np.inf, least, least], [least, 3.0, 3.0, -np.inf]])
    logits, rounded = backend.logits(values, dtype)
    targets = np.array([0, 2, 1])
    results = entropy(logits, targets=backend.put(targets), outputs=OUTPUTS, temperature=temperature)
    expected = oracle.outputs(rounded, targets, temperature)
    with np.errstate(over="ignore"):
        expected["log_sum_exp"] = expected["log_sum_exp"].astype(np.float32)  # -inf where it is no float32
    assert_close(backend, results, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_probability_is_above_one(backend: Backend, dtype: str) -> None:
    """Whatever the largest logit, whose scaled value is not a float."""
    values = np.full((400, 40), -np.inf)
    values[:, 7] = np.linspace(-300, 300, 400)
    values[::2, 8] = values[::2, 7] - 60
    logits, _ = backend.logits(values, dtype)
    results = entropy(logits, targets=backend.put(np.full(400, 7)), outputs=("max_probability", "nll", "entropy"))
    assert (backend.get(results.max_probability) == 1).all()
    assert (backend.get(results.nll) == 0).all()
    assert (backend.get(results.entropy) < 1e-20).all()
