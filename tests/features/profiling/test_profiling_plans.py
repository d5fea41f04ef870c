"""What a profile is of: floors, shapes and sizes, and the synthetic data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.features.profiling import arrays
from pyharness.features.profiling.kernels import pair_histogram
from pyharness.features.profiling.kernels.pair_histogram import phrases
from pyharness.features.profiling.plan import check_memory, parse_shape, plan
from pyharness.features.profiling.types import Problem, profiles
from pyharness.types import InputError, Unsupported

GB = 1_000_000_000

# ---------------------------------------------------------------------------------------------- floors


@pytest.mark.parametrize(
    ("kernel", "shape", "milliseconds"),
    [
        ("entropy", (16384, 32000), 0.24),
        ("entropy", (16384, 128256), 0.98),
        ("entropy", (16384, 256000), 1.95),
        ("linear_entropy", (16384, 4096, 128256), 21.8),
        ("pair_histogram", (10**9, 131072), 0.93),
    ],
)
def test_floors_on_an_h200(kernel: str, shape: tuple[int, ...], milliseconds: float) -> None:
    profile = profiles()[kernel]
    floor = profile.floor(Problem(shape, profile.default_dtypes[0], "cuda", 1))
    seconds = floor.reference_seconds(profile.default_dtypes[0])
    assert seconds is not None
    assert seconds * 1e3 == pytest.approx(milliseconds, rel=0.02)


def test_an_unknown_matrix_rate_is_no_floor() -> None:
    floor = profiles()["linear_entropy"].floor(Problem((16, 16, 16), "fp32", "cuda", 1))
    assert floor.reference_seconds("fp32") is None


@given(st.integers(1, 1 << 20), st.integers(1, 1 << 20))
def test_floors_count_what_is_read_and_written(rows: int, vocabulary: int) -> None:
    shape, floor = (rows, vocabulary), profiles()["entropy"].floor
    assert floor(Problem(shape, "bf16", "cpu", 1)).bytes == 2 * rows * vocabulary + 4 * rows
    assert floor(Problem(shape, "fp32", "cpu", 1)).bytes == 4 * rows * vocabulary + 4 * rows
    hidden = profiles()["linear_entropy"].floor(Problem((rows, 64, vocabulary), "fp32", "cpu", 1))
    assert hidden.bytes == 4 * 64 * (rows + vocabulary) + 4 * rows
    assert hidden.flop > hidden.matrix_flop == 2 * rows * 64 * vocabulary


# ---------------------------------------------------------------------------------------------- plans


def test_kernels_are_found() -> None:
    assert set(profiles()) == {"entropy", "linear_entropy", "pair_histogram"}
    for profile in profiles().values():
        assert set(profile.default_dtypes) <= set(profile.dtypes)
        for shapes in profile.shapes.values():
            assert all(len(shape) == len(profile.axes) for shape in shapes)


@pytest.mark.parametrize(
    ("kernel", "options", "said"),
    [
        ("entrpy", {}, "unknown kernel 'entrpy'; did you mean 'entropy'"),
        ("entropy", {"shapes": ["12"]}, "shape '12' is not ROWSxV; write it like 128x50257"),
        ("entropy", {"shapes": ["2x3x4"]}, "shape '2x3x4' is not ROWSxV"),
        ("entropy", {"shapes": ["-2x3"]}, "is not ROWSxV"),
        ("entropy", {"shapes": ["2x"]}, "is not ROWSxV"),
        ("entropy", {"shapes": ["٣x3"]}, "is not ROWSxV"),
        ("entropy", {"shapes": ["0x3"]}, "shape '0x3' is too small: ROWS"),
        ("entropy", {"shapes": ["1x4e9"]}, "shape '1x4e9' is too large: V can be 2147483647 at most"),
        ("linear_entropy", {"shapes": ["1x1x4e9"]}, "V can be 2147483647 at most"),
        ("pair_histogram", {"shapes": ["1x5"]}, "shape '1x5' is too small: TOKENS"),
        ("pair_histogram", {"shapes": ["9x1e10"]}, "V can be 4294967296 at most"),
        ("entropy", {"shapes": ["9e18x3"]}, "ROWS can be 4611686018427387904 at most"),
        ("linear_entropy", {"shapes": ["9e9x9e9x9"]}, "more than 2**62 elements"),
        ("entropy", {"dtypes": ["fp8"]}, "unknown dtype of entropy 'fp8'"),
        ("linear_entropy", {"shapes": ["2x3"]}, "is not ROWSxDxV; write it like 256x768x50257"),
        ("pair_histogram", {"dtypes": ["fp32"]}, "unknown dtype of pair_histogram 'fp32'"),
        ("entropy", {"variants": ["chunks"]}, "entropy has no variants"),
        (
            "pair_histogram",
            {"variants": ["segment"]},
            "unknown variant of pair_histogram 'segment'; did you mean 'segm",
        ),
        ("entropy", {"threads": 0}, "cannot run on 0 threads"),
        ("entropy", {"corpus": "sample", "tokenizer": "raw_bytes"}, "entropy reads no text"),
        ("pair_histogram", {"corpus": "sample"}, "both: --corpus"),
        ("pair_histogram", {"corpus": "a", "tokenizer": "b", "shapes": ["5x5"]}, "leave out --shape"),
    ],
)
def test_bad_input(kernel: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        plan(kernel, **options)
    assert said in str(caught.value)


def test_shapes_can_be_written_short() -> None:
    assert parse_shape(profiles()["pair_histogram"], "1e9x131_072") == (10**9, 131072)


def test_shapes_and_dtypes_given_twice_are_profiled_once() -> None:
    planned = plan("entropy", shapes=["2x3", "2x3", "4x5"], dtypes=["fp32", "fp32"], threads=1)
    assert [problem.shape for problem in planned.problems] == [(2, 3), (4, 5)]


def test_memory_is_checked_before_anything_is_allocated() -> None:
    wanted = plan("entropy", shapes=["1e6x1e6"], dtypes=["fp32"])
    with pytest.raises(InputError, match=r"entropy 1000000x1000000 fp32 needs 4e\+03 GB on the cpu, 8 GB are free"):
        check_memory(wanted.profile, wanted.problems[0], 8 * GB)
    check_memory(wanted.profile, wanted.problems[0], None)


# ---------------------------------------------------------------------------------------------- data


@pytest.mark.parametrize(("tokens", "vocabulary"), [(2, 1), (9, 1), (3000, 300), (7, 131072)])
def test_synthetic_ids_are_of_the_vocabulary(tokens: int, vocabulary: int) -> None:
    ids = phrases(tokens, vocabulary)
    assert (ids.dtype, ids.shape) == (np.uint32, (tokens,))
    assert ids.max() < vocabulary
    assert np.array_equal(ids, phrases(tokens, vocabulary))


@pytest.mark.parametrize(("tokens", "vocabulary"), [(2, 1), (3000, 300), (2500, 131072)])
def test_torch_draws_synthetic_ids_too(tokens: int, vocabulary: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(pair_histogram, "BATCH", 1000)
    with arrays.placed(torch, "cpu"):
        ids, again = (phrases(tokens, vocabulary, torch) for _ in range(2))
    values = arrays.on_host(ids)
    assert values.dtype == np.uint32
    assert values.shape == (tokens,)
    assert values.max() < vocabulary
    assert np.array_equal(values, arrays.on_host(again))
    assert len(np.unique(values)) > min(vocabulary, 100) // 2


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_unsigned_numbers_of_either_library_are_the_same(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    values = np.array([0, 7, 2**31, 2**32 - 1], dtype)
    assert arrays.wide(values).dtype == np.uint64
    assert arrays.wide(values).tolist() == arrays.wide(torch.from_numpy(values)).tolist() == values.tolist()


def test_synthetic_ids_repeat_pairs_as_text_does() -> None:
    """Between independent draws of ids (0.63 of a million pairs distinct) and real text (0.18)."""
    ids = phrases(1_000_000, 50257).astype(np.uint64)
    counts = np.sort(np.unique(ids[:-1] << np.uint64(32) | ids[1:], return_counts=True)[1])[::-1]
    assert 0.18 < len(counts) / 1e6 < 0.45
    assert 0.1 < counts[:1000].sum() / 1e6 < 0.35  # text: 0.33 of a million, 0.16 of sixty


def test_every_batch_of_synthetic_ids_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_histogram, "BATCH", 1000)
    first, second, rest = np.split(phrases(2500, 50257), [1000, 2000])
    assert (first != second).mean() > 0.5
    assert (first[:500] != rest).mean() > 0.5


@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
def test_normal_values_without_torch(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "torch_for", lambda kind: None)
    values = arrays.normal("cpu", dtype, (50, 2000), 3.0)
    assert (values.dtype, values.shape) == ({"fp16": np.float16, "fp32": np.float32}[dtype], (50, 2000))
    assert values.std(dtype=np.float64) == pytest.approx(3.0, rel=0.02)
    assert not np.array_equal(values[0], values[1])
    with pytest.raises(Unsupported, match="bf16 needs torch"):
        arrays.normal("cpu", "bf16", (2, 2), 1.0)
