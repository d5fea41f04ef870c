"""Entropy from hidden states: the same outputs as from stored logits, in bounded memory."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from backends import Backend, Bfloat16Array, module
from oracles import entropy as oracle
from pyharness.kernels import EntropyOutputs, entropy, linear_entropy
from pyharness.kernels.arrays import Device, describe
from pyharness.kernels.entropy import OUTPUTS
from pyharness.kernels.linear_entropy import ChunkMemory, Chunks
from pyharness.kernels.place import Place
from pyharness.types import InputError

Singles = NDArray[np.float32]
SHARED = np.zeros(9, np.float32)
PRODUCT_ERROR = 2e-5  # of a float32 product with logits up to 40; entropy itself errs by 2e-6
anything = settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])


def factors(rows: int, columns: int, width: int, seed: int = 0) -> tuple[Singles, Singles, Singles]:
    generator = np.random.default_rng(seed)
    shapes = ((rows, width), (columns, width), (columns,))
    hidden, weight, bias = (generator.normal(size=shape).astype(np.float32) for shape in shapes)
    return hidden, weight, bias


def expected_of(hidden: Any, weight: Any, bias: Any, targets: Any, temperature: float = 1.0) -> dict[str, Any]:
    logits = hidden.astype(np.float64) @ weight.astype(np.float64).T + (0 if bias is None else bias)
    return oracle.outputs(logits, targets, temperature)


def assert_close(backend: Backend, results: EntropyOutputs, expected: dict[str, Any]) -> None:
    for name in OUTPUTS:
        found = backend.get(getattr(results, name))
        if name == "argmax":
            assert found.tolist() == expected[name].tolist()
        else:
            np.testing.assert_allclose(found, expected[name], rtol=2e-5, atol=PRODUCT_ERROR, err_msg=name)


@given(
    rows=st.integers(0, 9),
    columns=st.integers(1, 200),
    width=st.integers(1, 12),
    padding=st.integers(0, 70),
    with_bias=st.booleans(),
    max_bytes=st.sampled_from([None, 1 << 10, 3000, 1 << 14, 1 << 20]),
    seed=st.integers(0, 9),
)
@anything
def test_chunks_and_padding(
    backend: Backend,
    rows: int,
    columns: int,
    width: int,
    padding: int,
    with_bias: bool,
    max_bytes: int | None,
    seed: int,
) -> None:
    hidden, weight, bias = factors(rows, columns + padding, width, seed)
    # Padding that would win if it counted: a known defect elsewhere took it as logit 0.
    weight[columns:], bias[columns:] = 0, 50
    targets = np.random.default_rng(seed).integers(0, columns, rows)
    results = linear_entropy(
        backend.put(hidden),
        backend.put(weight),
        backend.put(bias) if with_bias else None,
        targets=backend.put(targets),
        outputs=OUTPUTS,
        vocab_size=columns,
        max_bytes=max_bytes,
    )
    used_bias = bias[:columns] if with_bias else None
    assert_close(backend, results, expected_of(hidden, weight[:columns], used_bias, targets))


@pytest.mark.parametrize("max_bytes", [None, 1 << 16, 1 << 20])
def test_large_vocabulary(backend: Backend, max_bytes: int | None) -> None:
    hidden, weight, bias = factors(5, 32001, 16)
    targets = np.arange(5) * 8000
    results = linear_entropy(
        backend.put(hidden),
        backend.put(weight),
        backend.put(bias),
        targets=backend.put(targets),
        outputs=OUTPUTS,
        temperature=1.5,
        max_bytes=max_bytes,
    )
    assert_close(backend, results, expected_of(hidden, weight, bias, targets, 1.5))


@pytest.mark.parametrize("shape", [(40, 3000, 8), (1, 50_000, 4), (900, 10, 4), (150, 200, 16)])
@pytest.mark.parametrize("max_bytes", [20_000, 300_000])
def test_memory_stays_in_bounds(
    backend: Backend, shape: tuple[int, int, int], max_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is made beside the outputs, counted."""
    allocated: dict[str, int] = {}
    real = Place.empty

    def counting(self: Place, shape: tuple[int, ...], dtype: str, purpose: str) -> Any:
        array = real(self, shape, dtype, purpose)
        allocated[purpose] = max(allocated.get(purpose, 0), int(array.nbytes))
        return array

    monkeypatch.setattr(Place, "empty", counting)
    hidden, weight, _ = factors(*shape)
    found = linear_entropy(backend.put(hidden), backend.put(weight), max_bytes=max_bytes).entropy
    outputs = allocated.pop("the output entropy")
    assert outputs == 4 * shape[0]
    assert sum(allocated.values()) <= max_bytes
    # Halving stops as soon as it fits: not less than a fifth of what is allowed, unless all fits.
    assert sum(allocated.values()) > max_bytes / 5 or max(allocated.values()) >= 4 * shape[0] * shape[1]
    stored = entropy(backend.put(hidden @ weight.T)).entropy
    np.testing.assert_allclose(backend.get(found), backend.get(stored), atol=PRODUCT_ERROR)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("max_bytes", [400_000, 1_000_000])
def test_numpy_allocates_no_more(dtype: str, max_bytes: int) -> None:
    """All that NumPy takes, conversions to float32 included, beside 100 kB of buffers inside NumPy's addition."""
    hidden, weight, bias = (factor.astype(dtype) for factor in factors(300, 4000, 200))
    linear_entropy(hidden[:1], weight, bias, max_bytes=max_bytes)  # imports and caches
    tracemalloc.start()
    try:
        linear_entropy(hidden, weight, bias, max_bytes=max_bytes)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert max_bytes / 5 < most < max_bytes + 100_000


def test_workspace_is_for_a_short_last_chunk_too() -> None:
    """Few rows are split over more blocks than many."""
    emulated, hidden = module("_emulated"), np.zeros((1030, 4), np.float32)
    here = Place(emulated, Place.of(hidden, describe(hidden, "hidden"), None, 1).library, Device(False, 0), None, 1)
    whole, short = (emulated.entropy_workspace(rows, 1 << 17) for rows in (1024, 6))
    assert short > whole
    memory = ChunkMemory(here, "float32", 4)
    assert memory.workspace(Chunks(1030, 1 << 17, row_step=1024, column_step=1 << 17)) == short


@pytest.mark.parametrize(("dtype", "max_bytes"), [("float32", -1), ("float16", 1)])
def test_no_rows_need_no_memory(dtype: str, max_bytes: int) -> None:
    hidden, weight = np.zeros((0, 4), dtype), np.zeros((9, 4), dtype)
    assert linear_entropy(hidden, weight, max_bytes=max_bytes).entropy.shape == (0,)


def test_special_logits_in_any_chunk(backend: Backend) -> None:
    hidden = np.eye(4, dtype=np.float32)
    weight = np.zeros((300, 4), np.float32)
    weight[250, 1], weight[3, 2] = np.nan, np.inf
    bias = np.zeros(300, np.float32)
    bias[[0, 299]] = -np.inf
    with np.errstate(invalid="ignore"):
        results = linear_entropy(
            backend.put(hidden), backend.put(weight), backend.put(bias), outputs=("entropy", "argmax"), max_bytes=4000
        )
    # One NaN or inf in a factor makes NaN of every product with it, 0 * inf included: columns 250 and 3 of all rows.
    assert np.isnan(backend.get(results.entropy)).all()
    assert backend.get(results.argmax).tolist() == [-1] * 4
    weight[[250, 3]] = 0
    found = linear_entropy(backend.put(hidden), backend.put(weight), backend.put(bias), max_bytes=4000).entropy
    np.testing.assert_allclose(backend.get(found), np.log(298), rtol=1e-6)


def test_out_and_strided_factors(backend: Backend) -> None:
    hidden, weight, _ = factors(6, 50, 9)
    out = EntropyOutputs(entropy=backend.put(np.zeros(6, np.float32)))
    results = linear_entropy(
        backend.put(np.asfortranarray(hidden)), backend.put(np.asfortranarray(weight)), out=out, max_bytes=2000
    )
    assert results.entropy is out.entropy
    expected = expected_of(hidden, weight, None, np.zeros(6, np.int64))
    np.testing.assert_allclose(backend.get(out.entropy), expected["entropy"], atol=PRODUCT_ERROR)


def test_numpy_float16_is_multiplied_in_float32() -> None:
    hidden, weight, bias = (factor.astype(np.float16) for factor in factors(7, 90, 33))
    targets = np.arange(7)
    for max_bytes in (None, 40_000):
        results = linear_entropy(hidden, weight, bias, targets=targets, outputs=OUTPUTS, max_bytes=max_bytes)
        assert_close(Backend("core"), results, expected_of(hidden, weight, bias.astype(np.float64), targets))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_torch(dtype: str) -> None:
    """Tensors give tensors, and the logits have the dtype of hidden as the model's own."""
    torch: Any = pytest.importorskip("torch")
    hidden, weight, bias = (torch.from_numpy(factor).to(getattr(torch, dtype)) for factor in factors(11, 333, 24))
    targets = torch.arange(11) * 30
    stored = entropy(torch.addmm(bias, hidden, weight.T), targets=targets, outputs=OUTPUTS)
    for max_bytes in (None, 10_000):
        results = linear_entropy(hidden, weight, bias, targets=targets, outputs=OUTPUTS, max_bytes=max_bytes)
        for name in OUTPUTS:
            found = getattr(results, name)
            assert isinstance(found, torch.Tensor)
            # Another chunk may be summed in another order: one rounding of a 16-bit logit.
            tolerance = 2e-5 if dtype == "float32" else 0.05
            if name != "argmax":
                torch.testing.assert_close(found, getattr(stored, name), rtol=tolerance, atol=tolerance)
    with pytest.raises(InputError, match=r"weight .*detach"):
        linear_entropy(hidden, weight.clone().requires_grad_())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hidden": np.zeros(4, np.float32)}, r"hidden .*shape.*\[4\]"),
        ({"weight": np.zeros((3, 4, 1), np.float32)}, "weight .*shape"),
        ({"hidden": np.zeros((2, 0), np.float32)}, "hidden .*shape"),
        ({"hidden": np.zeros((2, 4))}, "hidden .*float32, float16, bfloat16.*float64"),
        ({"hidden": np.zeros((2, 5), np.float32)}, "hidden.*5.*weight.*4"),
        ({"weight": np.zeros((9, 4), np.float16)}, "hidden.*float32.*weight.*float16"),
        ({"bias": np.zeros(9, np.float16)}, "hidden.*float32.*bias.*float16"),
        ({"bias": np.zeros(8, np.float32)}, r"bias .*\[9\].*\[8\]"),
        ({"vocab_size": 0}, r"vocab_size .*9.* 0\b"),
        ({"vocab_size": 10}, "vocab_size .*9.* 10"),
        ({"weight": np.zeros((0, 4), np.float32)}, r"vocab_size .* 0\b"),
        ({"max_bytes": 100}, r"max_bytes = 100\b.* [0-9]+ "),
        ({"targets": np.array([0, 7]), "vocab_size": 7}, r"targets\[1\] = 7\b.*0\.\.6"),
        ({"targets": np.zeros(3, np.int64)}, r"targets .*\[2\]"),
        ({"outputs": ("nll",)}, "nll.*targets"),
        ({"temperature": 0}, "temperature"),
        ({"unit": "bans"}, "unit 'bans'"),
        ({"stream": 1}, "stream.*CUDA"),
        ({"out": EntropyOutputs(entropy=np.zeros(3, np.float32))}, r"out\.entropy .*shape"),
        ({"hidden": [[1.0] * 4]}, "hidden .*list"),
        ({"max_bytes": -1}, r"max_bytes = -1\b"),
        ({"bias": SHARED, "out": EntropyOutputs(entropy=SHARED[:2])}, r"out\.entropy.*memory.*bias"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: dict[str, Any], message: str) -> None:
    given = {"hidden": np.zeros((2, 4), np.float32), "weight": np.zeros((9, 4), np.float32), **arguments}
    with pytest.raises(InputError, match=message):
        linear_entropy(**given)


def test_bfloat16_without_a_library_is_refused() -> None:
    """NumPy cannot multiply what it cannot hold."""
    hidden = Bfloat16Array(np.zeros((2, 4), np.uint16))
    with pytest.raises(InputError, match="NumPy"):
        linear_entropy(hidden, hidden)
