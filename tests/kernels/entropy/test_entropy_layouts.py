"""However rows are laid over blocks and whatever the order of threads: the CPU's results, and always the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from backends import SEEDS, Backend, Bfloat16Array, module
from entropy_results import ULP
from layout.thoroughness import examples
from pyharness import _core
from pyharness.kernels.entropy import OUTPUTS

DTYPES = ("float32", "float16", "bfloat16")
EMULATED = Backend("emulated")
TUNINGS: dict[str, dict[str, int]] = {
    "usual": {},
    # Rows of 12 logits are worth a second block, and short ones share none.
    "split": {"threads": 64, "blocks": 64, "loads_per_part": 3, "loads_of_short_rows": 0},
    # As on devices without clusters.
    "counted": {"threads": 64, "blocks": 64, "loads_per_part": 3, "loads_of_short_rows": 0, "most_in_cluster": 0},
    # Up to 32 rows for a block, which takes them in several rounds.
    "shared": {"threads": 64, "blocks": 2},
}
GARBAGE = (0x00, 0xFF, 0x5A)  # what memory for the counters of arrivals may hold


@dataclass(frozen=True, slots=True)
class Case:
    logits: Any
    targets: NDArray[Any] | None
    temperature: float

    @property
    def rows(self) -> int:
        return int((self.logits.bits if isinstance(self.logits, Bfloat16Array) else self.logits).shape[0])


def random_case(case: int) -> Case:
    """Rows of every kind in memory that is aligned or not, with ties, masked logits and rows without a distribution."""
    generator = np.random.default_rng(case)
    rows = int(generator.choice([1, 2, 5, 37], p=[0.3, 0.3, 0.2, 0.2]))
    kinds = int(generator.integers(1, 40)), int(generator.integers(250, 270)), 1000, 1500
    columns = int(generator.choice(kinds))
    values = generator.normal(0, float(generator.choice([0.01, 3, 30])), (rows, columns))
    values = np.round(values) if generator.random() < 0.3 else values  # with ties
    values[generator.random((rows, columns)) < generator.choice([0, 0.5])] = -np.inf
    for row in range(0, rows, 4):
        values[row, generator.integers(columns)] = generator.choice([np.nan, np.inf, -np.inf, 50.0, -2e4])
    start, gap = (int(generator.choice([0, 1, 3, 4])) for _ in range(2))
    logits, _ = EMULATED.logits(values, DTYPES[case % 3])
    raw = logits.bits if isinstance(logits, Bfloat16Array) else logits
    room = np.zeros((rows, start + columns + gap), raw.dtype)
    strided = room[:, start : start + columns]
    strided[...] = raw
    targets = generator.integers(0, columns, rows).astype(generator.choice(["int32", "int64"]))
    return Case(
        Bfloat16Array(strided) if DTYPES[case % 3] == "bfloat16" else strided,
        targets if generator.random() < 0.7 else None,
        float(generator.choice([1.0, 0.3])),
    )


def results_of(native: Any, case: Case, only: tuple[str, ...] = OUTPUTS, **options: Any) -> dict[str, NDArray[Any]]:
    names = [name for name in only if name != "nll" or case.targets is not None]
    out = {name: np.empty(case.rows, np.int64 if name == "argmax" else np.float32) for name in names}
    native.entropy(case.logits, case.targets, temperature=case.temperature, **out, **options)
    return out


def poisoned(byte: int) -> Any:
    return lambda size, purpose: np.full(size, byte, np.uint8)


@pytest.fixture
def emulated() -> Iterator[Any]:
    native = module("_emulated")
    yield native
    native.set_entropy_tuning()
    native.set_seed(0)


def assert_same_bits(found: dict[str, NDArray[Any]], expected: dict[str, NDArray[Any]]) -> None:
    for name, values in expected.items():
        assert found[name].tobytes() == values.tobytes(), name


@pytest.mark.parametrize("tuning", TUNINGS)
def test_random_cases(emulated: Any, tuning: str) -> None:
    """Cases for every tuning: equal to the CPU, and bit for bit the same under three orders of threads."""
    emulated.set_entropy_tuning(**TUNINGS[tuning])
    for number in range(examples(200)):
        case = random_case(number)
        expected = results_of(_core, case)
        runs = []
        for seed in SEEDS:
            emulated.set_seed(seed)
            runs.append(results_of(emulated, case, allocate=poisoned(GARBAGE[seed])))
        for name, values in expected.items():
            relative = 0.0 if name in ("entropy", "argmax") else 2 * ULP
            np.testing.assert_allclose(runs[0][name], values, rtol=relative, atol=2e-6, err_msg=f"{number}: {name}")
        for other in runs[1:]:
            assert_same_bits(other, runs[0])
        alone = results_of(emulated, case, ("entropy",), allocate=poisoned(0))
        assert_same_bits(alone, {"entropy": runs[0]["entropy"]})


@pytest.mark.parametrize("byte", GARBAGE)
def test_memory_of_earlier_launches_counts_no_arrivals(emulated: Any, byte: int) -> None:
    """Pools hand the same memory out again, with the counters and parts of other rows in it."""
    emulated.set_entropy_tuning(**TUNINGS["counted"])
    memory: dict[int, NDArray[Any]] = {}

    def again(size: int, purpose: str) -> NDArray[Any]:
        return memory.setdefault(size, np.full(size, byte, np.uint8))

    for number in range(12):
        emulated.set_seed(number % 3)
        logits = np.random.default_rng(number).normal(0, 3, (3, 300)).astype(np.float32)
        case = Case(logits, None, 1.0)
        found = results_of(emulated, case, allocate=again)["entropy"]
        np.testing.assert_allclose(found, results_of(_core, case)["entropy"], atol=2e-6)
    assert len(memory) == 1


def test_a_cluster_joins_to_the_same_bits(emulated: Any) -> None:
    """As the last block to arrive does, for every size of a cluster and any order of threads; memory is left alone."""
    generator = np.random.default_rng(5)
    for number in range(examples(150)):
        case = random_case(number)
        runs: list[dict[str, NDArray[Any]]] = []
        blocks = case.rows * int(generator.integers(2, 17))
        for seed, most in enumerate((0, 16, 16)):
            memory: list[NDArray[np.uint8]] = []

            def allocate(size: int, purpose: str, memory: list[NDArray[np.uint8]] = memory) -> NDArray[np.uint8]:
                memory.append(np.full(size, 0xFF, np.uint8))
                return memory[-1]

            emulated.set_entropy_tuning(**TUNINGS["counted"] | {"blocks": blocks, "most_in_cluster": most})
            emulated.set_seed(seed)
            runs.append(results_of(emulated, case, allocate=allocate))
            assert all((array == 0xFF).all() == (most != 0) for array in memory)
        for other in runs[1:]:
            assert_same_bits(other, runs[0])


def test_states_of_parts_are_those_of_the_cpu(emulated: Any) -> None:
    """Split or shared, states are what chunks of a vocabulary merge."""
    logits = np.random.default_rng(1).normal(0, 3, (5, 700)).astype(np.float32)
    targets = np.array([0, 300, 999, 1000, 1699])
    expected = np.empty((5, 8), np.float32)
    _core.entropy_states(logits, targets, expected, first_column=1000)
    for tuning in TUNINGS.values():
        emulated.set_entropy_tuning(**tuning)
        states = np.empty((5, 8), np.float32)
        emulated.entropy_states(logits, targets, states, first_column=1000, allocate=poisoned(0xFF))
        np.testing.assert_allclose(states[:, [0, 3, 4]], expected[:, [0, 3, 4]])
        np.testing.assert_allclose(states[:, 1:3], expected[:, 1:3], rtol=1e-5)
        assert states[:, 5].tobytes() == expected[:, 5].tobytes()


def test_workspace_is_for_parts_and_their_counters(emulated: Any) -> None:
    assert emulated.entropy_workspace(64, 128_256) == 64 * (16 * 32 + 8)
    assert emulated.entropy_workspace(1024, 128_256) == 0
    assert emulated.entropy_workspace(1, 4 * 1024 * 2 - 1) == 0


@pytest.mark.parametrize("tuning", [{"threads": 48}, {"threads": 512}, {"blocks": 0}, {"loads_per_part": 0}])
def test_a_tuning_that_cannot_be_launched_is_refused(emulated: Any, tuning: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="cannot be launched"):
        emulated.set_entropy_tuning(**tuning)
