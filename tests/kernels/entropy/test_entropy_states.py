"""The associative state: any cut of the vocabulary, merged in any order, gives what the whole row gives."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from backends import Backend
from entropy_results import assert_close
from oracles import entropy as oracle
from pyharness.kernels import EntropyOutputs, entropy, entropy_finish, entropy_merge, entropy_states
from pyharness.kernels.entropy import OUTPUTS
from pyharness.types import InputError

anything = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEMPERATURE = 0.8


def states_of(backend: Backend, values: NDArray[np.float64], targets: Any, cuts: list[int]) -> list[Any]:
    edges = sorted({0, *cuts, values.shape[1]})
    return [
        entropy_states(
            backend.logits(np.ascontiguousarray(values[:, begin:end]), "float32")[0],
            targets=targets,
            first_column=begin,
            temperature=TEMPERATURE,
        )
        for begin, end in pairwise(edges)
    ]


def merge(states: Any, other: Any) -> Any:
    entropy_merge(states, other, temperature=TEMPERATURE)
    return states


@given(
    columns=st.integers(1, 90),
    cuts=st.lists(st.integers(1, 89), max_size=5),
    order=st.randoms(use_true_random=False),
    seed=st.integers(0, 99),
)
@anything
def test_any_cut_in_any_order(backend: Backend, columns: int, cuts: list[int], order: Any, seed: int) -> None:
    generator = np.random.default_rng(seed)
    values = np.round(generator.normal(0, 9, (5, columns)))  # rounded: with ties
    values[1, generator.random(columns) < 0.5] = -np.inf
    values[2, generator.integers(columns)] = generator.choice([np.nan, np.inf])
    values[3] = -np.inf
    targets = generator.integers(0, columns, 5)
    states = states_of(backend, values, backend.put(targets), [cut for cut in cuts if cut < columns])
    order.shuffle(states)
    results = entropy_finish(reduce(merge, states), temperature=TEMPERATURE, outputs=OUTPUTS)
    expected = oracle.outputs(values.astype(np.float32).astype(np.float64), targets, TEMPERATURE)
    assert_close(backend, results, expected)


def test_large_vocabulary_in_chunks(backend: Backend) -> None:
    values = np.random.default_rng(1).normal(0, 3, (2, 128256))
    targets = np.array([5, 128255])
    states = states_of(backend, values, backend.put(targets), list(range(0, 128256, 9001)))
    results = entropy_finish(reduce(merge, states), temperature=TEMPERATURE, outputs=OUTPUTS)
    expected = oracle.outputs(values.astype(np.float32).astype(np.float64), targets, TEMPERATURE)
    assert_close(backend, results, expected)


def test_layout_is_the_same_everywhere(backend: Backend) -> None:
    """What one machine wrote, another one merges: word by word."""
    values = np.array([[1.0, 4.0, 2.0, 4.0], [-np.inf] * 4])
    logits, _ = backend.logits(values, "float32")
    states = backend.get(
        entropy_states(logits, targets=backend.put(np.array([12, 13])), first_column=10, temperature=1.0)
    )
    z = (values[0] - 4) * np.log2(np.e)
    assert states.shape == (2, 8)
    np.testing.assert_allclose(states[0, 1:3], [(2**z).sum(), (z * 2**z).sum()], rtol=3e-7)
    assert states[0, [0, 3, 4]].tolist() == [4, 4, 2]
    assert states[1, :5].tolist() == [-np.inf, 0, 0, -np.inf, -np.inf]
    assert states.view(np.int32)[:, 5].tolist() == [11, 2**31 - 1]
    assert (states[:, 6:] == 0).all()


def test_target_in_another_chunk_is_not_seen(backend: Backend) -> None:
    values = np.zeros((1, 4))
    (states,) = states_of(backend, values, backend.put(np.array([7])), [])
    nll = entropy_finish(states, outputs=("nll",), temperature=TEMPERATURE).nll
    assert backend.get(nll).tolist() == [np.inf]


def test_ids_at_the_ends_of_int64_are_targets_elsewhere(backend: Backend) -> None:
    targets = backend.put(np.array([-(2**63), 2**63 - 1, 6]))
    states = entropy_states(backend.put(np.ones((3, 4), np.float32)), targets=targets, first_column=5)
    assert backend.get(states)[:, 4].tolist() == [-np.inf, -np.inf, 1]


def test_bits_and_out(backend: Backend) -> None:
    logits, _ = backend.logits(np.zeros((3, 16)), "float32")
    states = entropy_states(logits)
    whole = entropy(logits, unit="bits")
    assert backend.get(entropy_finish(states, unit="bits", out=whole).entropy).tolist() == [4, 4, 4]


def test_states_that_are_only_read_may_be_read_only(backend: Backend) -> None:
    into, other = (entropy_states(backend.put(np.zeros((3, 4), np.float32)), temperature=1) for _ in range(2))
    if isinstance(other, np.ndarray):  # no other library has such arrays
        other.flags.writeable = False
    entropy_merge(into, other)
    if isinstance(into, np.ndarray):
        into.flags.writeable = False
    assert backend.get(entropy_finish(into, unit="bits").entropy).tolist() == [3, 3, 3]


def test_what_does_not_fit_is_refused() -> None:
    states = entropy_states(np.zeros((3, 4), np.float32))
    read_only = states.copy()
    read_only.flags.writeable = False
    for bad, message in (
        (np.zeros((3, 7), np.float32), "states.*float32"),
        (np.zeros((3, 8)), "states.*float32"),
        (np.zeros((3, 16), np.float32)[:, ::2], "states.*contiguous"),
        (read_only, "states.*read-only"),
    ):
        with pytest.raises(InputError, match=message):
            entropy_merge(bad, states)
    with pytest.raises(InputError, match=r"states.*3.*other.*2"):
        entropy_merge(states, states[:2].copy())
    with pytest.raises(InputError, match=r"other.*float32"):
        entropy_merge(states, states.astype(np.float16))
    with pytest.raises(InputError, match=r"states.*memory.*other"):
        entropy_merge(states[1:], states[:2])
    with pytest.raises(InputError, match=r"out\.entropy.*memory.*states"):
        entropy_finish(states, out=EntropyOutputs(entropy=states[0, :3]))
    with pytest.raises(InputError, match=r"stream.*CUDA"):
        entropy_merge(states, states.copy(), stream=1)
    with pytest.raises(InputError, match=r"stream.*CUDA"):
        entropy_finish(states, stream=1)
    with pytest.raises(InputError, match="output 'perplexity'"):
        entropy_finish(states, outputs=("perplexity",))
    with pytest.raises(InputError, match="temperature"):
        entropy_finish(states, temperature=0)
    for first in (-1, 2**31 - 4):
        with pytest.raises(InputError, match="first_column"):
            entropy_states(np.zeros((3, 4), np.float32), first_column=first)
