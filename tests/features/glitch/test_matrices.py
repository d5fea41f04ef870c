"""Rows of a checkpoint: found by name, streamed, equal to what the library reads; what is broken is refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from checkpoints.made import weights
from pyharness.features.glitch import matrices
from pyharness.features.glitch.matrices import IdMatrices
from pyharness.features.language_models.folder import ModelFolder
from pyharness.types import InputError

ENTRY, HEAD = "model.embed_tokens.weight", "lm_head.weight"


def model(folder: Path, tensors: dict[str, NDArray[Any]], **config: Any) -> ModelFolder:
    folder.mkdir(exist_ok=True)
    (folder / "model.safetensors").write_bytes(weights(tensors))
    (folder / "config.json").write_text(json.dumps(config))
    return ModelFolder.read(str(folder), folder)


def drawn(rows: int, columns: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype("<f4")


@pytest.mark.parametrize("dtype", ["<f4", "<f2", "bf16"])
@pytest.mark.parametrize("block", [8, 1 << 10, 1 << 20])
def test_blocks_are_all_rows_of_any_dtype(
    tmp_path: Path, dtype: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    single = drawn(50, 6)
    bits = (single.view("<u4") >> 16).astype("<u2")
    stored = bits if dtype == "bf16" else single.astype(dtype)
    expected = (bits.astype("<u4") << 16).view("<f4") if dtype == "bf16" else stored
    monkeypatch.setattr(matrices, "BLOCK", block)
    entry = IdMatrices.of(model(tmp_path, {ENTRY: stored}), 50).entry
    blocks = list(entry.blocks())
    assert max(one.nbytes for one in blocks) <= max(block, 6 * 8)
    np.testing.assert_array_equal(np.concatenate(blocks), expected.astype(np.float64))
    assert entry.digest() == hashlib.sha256(expected.astype("<f8").tobytes()).hexdigest()
    np.testing.assert_array_equal(entry.take(np.array([49, 3])), expected[[49, 3]].astype(np.float64))


@pytest.mark.parametrize(
    ("second", "config", "tied"),
    [
        (None, {}, True),
        (None, {"tie_word_embeddings": False}, False),
        (None, {"text_config": {"tie_word_embeddings": False}}, False),
        ("same", {}, True),
        ("other", {}, False),
        ("other", {"tie_word_embeddings": True}, False),
        ("narrow", {}, False),
        ("integers", {}, False),
    ],
)
def test_a_model_is_tied_if_both_its_matrices_are_one(
    tmp_path: Path, second: str | None, config: dict[str, Any], tied: bool
) -> None:
    heads = {"same": drawn(20, 4), "other": drawn(20, 4, seed=1), "narrow": drawn(20, 3),
             "integers": drawn(20, 4).view("<i4")}  # fmt: skip
    tensors = {ENTRY: drawn(20, 4), "model.layers.0.weight": drawn(32, 4)}
    folder = model(tmp_path, {**tensors, **({HEAD: heads[second]} if second else {})}, **config)
    assert IdMatrices.of(folder, 18).tied is tied


def test_names_in_messages_are_short(tmp_path: Path) -> None:
    tensors = {f"{letter * 5000}.wte.weight": drawn(20, 4) for letter in "ab"}
    with pytest.raises(InputError) as refusal:
        IdMatrices.of(model(tmp_path, tensors), 20)
    assert len(str(refusal.value)) < 1000


def test_an_unusual_name_can_be_given(tmp_path: Path) -> None:
    folder = model(tmp_path, {"tokens.table": drawn(20, 4), "mlp.weight": drawn(64, 4)})
    with pytest.raises(InputError, match=r"tokens\.table"):
        IdMatrices.of(folder, 20)
    assert IdMatrices.of(folder, 20, "tokens.table").entry.rows == 20
    with pytest.raises(InputError, match="other"):
        IdMatrices.of(folder, 20, "other")


def test_too_few_rows_and_two_embeddings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        IdMatrices.of(model(tmp_path / "a", {ENTRY: drawn(20, 4)}), 21)
    with pytest.raises(InputError, match="2 tensors"):
        IdMatrices.of(model(tmp_path / "b", {ENTRY: drawn(20, 4), "h.wte.weight": drawn(20, 4)}), 20)


@pytest.mark.parametrize("wrong", [np.zeros((20, 4), "<i4"), np.zeros((20, 0), "<f4")])
def test_what_is_no_embedding_is_refused(tmp_path: Path, wrong: NDArray[Any]) -> None:
    with pytest.raises(InputError):
        IdMatrices.of(model(tmp_path, {ENTRY: wrong}), 20)


@given(row=st.integers(0, 19), value=st.sampled_from([np.nan, np.inf, -np.inf]))
def test_numbers_that_are_not_finite_are_named(
    tmp_path_factory: pytest.TempPathFactory, row: int, value: float
) -> None:
    rows = drawn(20, 4)
    rows[row, 2] = value
    entry = IdMatrices.of(model(tmp_path_factory.mktemp("model"), {ENTRY: rows}), 20).entry
    with pytest.raises(InputError, match=f"row {row} "):
        list(entry.blocks())


def test_a_shape_that_its_bytes_do_not_fill_is_refused(tmp_path: Path) -> None:
    folder = model(tmp_path, {ENTRY: drawn(20, 4)})
    path = folder.weights[0]
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"shape":[20,4]', b'"shape":[90,4]'))
    with pytest.raises(InputError, match="broken"):
        IdMatrices.of(folder, 20)


def test_a_file_that_becomes_shorter_is_refused(tmp_path: Path) -> None:
    folder = model(tmp_path, {ENTRY: drawn(20, 4)})
    entry = IdMatrices.of(folder, 20).entry
    path = folder.weights[0]
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(InputError, match="shorter"):
        list(entry.blocks())
