"""Next-token entropy on every backend, against float64."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from backends import Backend, Bfloat16Array
from entropy_results import ULP, assert_close
from oracles import entropy as oracle
from pyharness import _core
from pyharness.kernels import EntropyOutputs, entropy
from pyharness.kernels.entropy import OUTPUTS

Floats = NDArray[np.float64]
DTYPES = ("float32", "float16", "bfloat16")
VOCABULARIES = (1, 2, 7, 1100, 32000, 50257, pytest.param(128256, marks=pytest.mark.slow), 256000)
MAP_NORESERVE = 0x4000  # Linux's; Python names it from 3.13 on
anything = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def check(backend: Backend, values: Floats, dtype: str, temperature: float = 1.0, seed: int = 0) -> None:
    logits, rounded = backend.logits(values, dtype)
    targets = np.random.default_rng(seed).integers(0, values.shape[1], len(values))
    results = entropy(logits, targets=backend.put(targets), outputs=OUTPUTS, temperature=temperature)
    assert_close(backend, results, oracle.outputs(rounded, targets, temperature))


def kinds_of_rows(columns: int, seed: int) -> dict[str, Floats]:
    generator = np.random.default_rng(seed)
    random = generator.normal(0, 3, columns)
    peaked = np.where(np.arange(columns) == columns // 2, 40.0, random)
    masked = np.where(generator.random(columns) < 0.4, -np.inf, random)
    masked[columns // 3] = 1.5
    return {
        "random": random,
        "peaked": peaked,
        "masked": masked,
        "masked at first": np.where(np.arange(columns) < columns * 7 // 10, -np.inf, random),
        "shifted up": random + 3000,
        "shifted down": random - 3000,
        "nearly uniform": random / 1000,
        # 16-bit floats have few values up there: sums of equal terms, which round the same way at every step.
        "few values": np.where(np.arange(columns) == 0, 10.0, random / 6) + 3000,
        "falling": -np.arange(columns) / 7,
        "rising": np.arange(columns) / 7 - columns / 7,
    }


@pytest.mark.parametrize("columns", VOCABULARIES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_against_float64(backend: Backend, dtype: str, columns: int) -> None:
    rows = kinds_of_rows(columns, seed=columns)
    check(backend, np.stack(list(rows.values())), dtype)


@given(
    values=arrays.arrays(
        np.float32,
        st.tuples(st.integers(1, 4), st.integers(1, 70)),
        elements=st.one_of(st.floats(-90, 90, width=32), st.sampled_from([-np.inf, 0.0, -5e37, 1e-40])),
    ),
    dtype=st.sampled_from(DTYPES),
    temperature=st.sampled_from([0.25, 1.0, 3.0]),
    gap=st.integers(0, 9),
    start=st.integers(0, 5),
    backwards=st.booleans(),
)
@anything
def test_small_shapes_and_strides(
    backend: Backend, values: NDArray[np.float32], dtype: str, temperature: float, gap: int, start: int, backwards: bool
) -> None:
    rows, columns = values.shape
    logits, rounded = backend.logits(values.astype(np.float64), dtype)
    raw = logits.bits if isinstance(logits, Bfloat16Array) else logits
    host = raw.get() if backend.kind == "cuda" else raw
    room = np.full((rows, start + columns + gap), 77, host.dtype)
    room[:, start : start + columns] = host
    strided = room[:, start : start + columns]
    if backwards and backend.kind != "cuda":  # cupy hands out no negative strides
        strided, rounded = strided[::-1], rounded[::-1]
    placed = backend.put(strided)
    targets = np.arange(rows) % columns
    results = entropy(
        Bfloat16Array(placed) if dtype == "bfloat16" else placed,
        targets=backend.put(targets),
        outputs=OUTPUTS,
        temperature=temperature,
    )
    assert_close(backend, results, oracle.outputs(rounded, targets, temperature))


def special_rows(columns: int) -> Floats:
    """NaN, +inf and -inf in the first, a middle and the last column, alone and together; every row of them is odd."""
    rows = []
    for value in (np.nan, np.inf):
        for position in (0, columns // 2, columns - 1):
            row = np.linspace(-2, 2, columns)
            row[position] = value
            rows.append(row)
            row = np.full(columns, -np.inf)
            row[position] = value
            rows.append(row)
    both = np.zeros(columns)
    both[0], both[-1] = np.inf, -np.inf
    late = np.full(columns, -np.inf)  # a finite logit, but only after the NaN and much of nothing
    late[0], late[-1] = np.nan, 1
    return np.stack([*rows, both, late, np.full(columns, -np.inf), np.full(columns, np.nan)])


@pytest.mark.parametrize("columns", [2, 3, 65, 2500])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_without_a_distribution(backend: Backend, dtype: str, columns: int) -> None:
    rows = special_rows(columns)
    fine = np.linspace(-1, 1, columns)
    fine[-1] = 2
    values = np.stack([row for bad in rows for row in (bad, fine)])
    logits, _ = backend.logits(values, dtype)
    targets = backend.put(np.zeros(len(values), np.int32))
    results = entropy(logits, targets=targets, outputs=OUTPUTS)
    for name in OUTPUTS:
        found = backend.get(getattr(results, name))
        bad, good = found[::2], found[1::2]
        assert (bad == -1).all() if name == "argmax" else np.isnan(bad).all(), name
        assert (good == columns - 1).all() if name == "argmax" else np.isfinite(good).all(), name


@pytest.mark.parametrize("bits", [0x7F800001, 0x7FC00001, 0xFFC001FF, 0x7FFFFFFF, 0xFF800100])
def test_every_nan_is_one(backend: Backend, bits: int) -> None:
    """NaN with low bits set, which integer arithmetic on exponents could turn into a number."""
    values = np.zeros((1, 40), np.float32)
    values.view(np.uint32)[0, 17] = bits
    assert np.isnan(backend.get(entropy(backend.put(values)).entropy)).all()


def test_one_column_and_one_finite_logit(backend: Backend) -> None:
    for values in (np.array([[5.0]]), np.array([[-np.inf, 5.0, -np.inf]])):
        logits, _ = backend.logits(values, "float32")
        last = values.shape[1] // 2
        results = entropy(logits, targets=backend.put(np.array([last])), outputs=OUTPUTS)
        found = {name: backend.get(getattr(results, name)).tolist() for name in OUTPUTS}
        expected = (0.0, 5.0, 0.0, 1.0, last, np.inf)
        assert found == {name: [value] for name, value in zip(OUTPUTS, expected, strict=True)}


def test_ties_go_to_the_smallest_index(backend: Backend) -> None:
    for columns, places in ((2, (0, 1)), (40, (7, 8)), (9000, (1, 8999)), (9000, (4000, 4100)), (9000, (3, 5000))):
        values = np.zeros((1, columns))
        values[0, list(places)] = 2
        logits, _ = backend.logits(values, "bfloat16")
        results = entropy(logits, outputs=("argmax", "margin"))
        assert backend.get(results.argmax).tolist() == [places[0]]
        assert backend.get(results.margin).tolist() == [0]


def test_masked_target_has_infinite_nll(backend: Backend) -> None:
    logits, _ = backend.logits(np.array([[0.0, -np.inf], [0.0, -np.inf]]), "float16")
    nll = backend.get(entropy(logits, targets=backend.put(np.array([1, 0])), outputs=("nll",)).nll)
    assert nll.tolist() == [np.inf, 0]


@pytest.mark.parametrize("temperature", [1e-30, 0.01, 0.7, 100.0, 1e30])
def test_temperature(backend: Backend, temperature: float) -> None:
    values = np.random.default_rng(3).normal(0, 4, (3, 300))
    values[1, 5] = -np.inf
    logits, rounded = backend.logits(values, "float32")
    targets = np.array([3, 5, 299])
    results = entropy(logits, targets=backend.put(targets), outputs=OUTPUTS, temperature=temperature)
    assert_close(backend, results, oracle.outputs(rounded, targets, temperature))


def test_bits(backend: Backend) -> None:
    values = np.random.default_rng(4).normal(0, 2, (3, 500))
    logits, rounded = backend.logits(values, "float32")
    targets = np.array([0, 250, 499])
    results = entropy(logits, targets=backend.put(targets), outputs=OUTPUTS, unit="bits")
    expected = oracle.outputs(rounded, targets)
    for name in ("entropy", "log_sum_exp", "nll", "margin"):
        expected[name] /= np.log(2)
    assert_close(backend, results, expected, scale=1 / np.log(2))


def test_no_rows(backend: Backend) -> None:
    logits, _ = backend.logits(np.zeros((0, 9)), "float32")
    results = entropy(logits, targets=backend.put(np.zeros(0, np.int64)), outputs=OUTPUTS)
    for name in OUTPUTS:
        assert backend.get(getattr(results, name)).shape == (0,)


def test_only_what_is_asked_for(backend: Backend) -> None:
    logits, _ = backend.logits(np.zeros((2, 4)), "float32")
    for name in OUTPUTS:
        if name == "nll":
            continue
        results = entropy(logits, outputs=name)
        assert [other for other in OUTPUTS if getattr(results, other) is not None] == [name]


def test_out_is_written_and_returned(backend: Backend) -> None:
    logits, rounded = backend.logits(np.random.default_rng(5).normal(size=(4, 60)), "float16")
    out = EntropyOutputs(entropy=backend.put(np.full(4, 9, np.float32)), argmax=backend.put(np.full(4, 9, np.int64)))
    results = entropy(logits, outputs=("argmax", "entropy"), out=out)
    assert results.entropy is out.entropy
    assert results.argmax is out.argmax
    expected = oracle.outputs(rounded, np.zeros(4, np.int64))
    np.testing.assert_allclose(backend.get(out.entropy), expected["entropy"], atol=2e-6, rtol=0)
    assert backend.get(out.argmax).tolist() == expected["argmax"].tolist()


def test_more_than_two_to_the_31_elements(backend: Backend) -> None:
    """Rows so far apart that offsets leave 32 bits; the memory between them is never touched."""
    if backend.kind == "cuda":
        pytest.skip("sparse memory is the host's")
    columns, stride, rows = 7, 1_200_000_011, 3
    with mmap.mmap(-1, 2 * (stride * (rows - 1) + columns), mmap.MAP_PRIVATE | MAP_NORESERVE) as memory:
        everything = np.frombuffer(memory, np.float16)
        logits = np.lib.stride_tricks.as_strided(everything, (rows, columns), (2 * stride, 2), writeable=True)
        logits[...] = np.random.default_rng(6).normal(size=(rows, columns))
        expected = oracle.outputs(logits.astype(np.float64), np.zeros(rows, np.int64))
        found = entropy(logits, outputs=("entropy", "argmax"))
        np.testing.assert_allclose(found.entropy, expected["entropy"], atol=2e-6, rtol=0)
        assert found.argmax.tolist() == expected["argmax"].tolist()
        del everything, logits, found


@pytest.mark.parametrize("shape", [(1, 400_000), (3, 150_000), (5, 40_000), (700, 500), (2, 65_537)])
def test_threads_change_nothing(shape: tuple[int, int]) -> None:
    """Rows cut between threads are put together again."""
    values = np.random.default_rng(7).normal(0, 2, shape).astype(np.float32)
    values[0, shape[1] // 2] = values[0].max()  # a tie
    targets = np.random.default_rng(8).integers(0, shape[1], shape[0])
    alone = entropy(values, targets=targets, outputs=OUTPUTS, threads=1)
    for threads in (2, 3, 8, 61):
        results = entropy(values, targets=targets, outputs=OUTPUTS, threads=threads)
        assert (results.argmax == alone.argmax).all()
        for name in OUTPUTS:
            np.testing.assert_allclose(getattr(results, name), getattr(alone, name), rtol=ULP, err_msg=name)


def test_reference_is_the_definition() -> None:
    """The core's double-precision reference, which has nothing in common with NumPy's."""
    values = np.concatenate([np.stack(list(kinds_of_rows(300, 9).values())), special_rows(300)])
    targets = np.arange(len(values)) % 300
    for temperature in (0.5, 1.0, 2.0):
        found = {name: np.empty(len(values), np.int64 if name == "argmax" else np.float64) for name in OUTPUTS}
        single = values.astype(np.float32)
        _core.entropy_reference(single, targets, temperature=temperature, **found)  # type: ignore[arg-type]
        expected = oracle.outputs(single.astype(np.float64), targets, temperature)
        for name in OUTPUTS:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-12, atol=1e-12, err_msg=name)
