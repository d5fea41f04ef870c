"""Folders of strangers: counts without end in a configuration, files without end beside it, links out of the folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from checkpoints.made import extended, hashes, nameless
from pyharness.features.adaptation.surgery import checkpoint, vocabulary_transfer
from pyharness.features.adaptation.surgery.matrices import ModelClass
from pyharness.features.adaptation.surgery.vocabulary_transfer import EmbeddingRequest
from pyharness.features.language_models import weights_file
from pyharness.features.language_models.folder import ModelFolder
from pyharness.features.language_models.weights_file import WeightsFile
from pyharness.types import InputError
from pyharness.vocabularies.files.json_file import parse_json
from tokenizer_files import byte_level

ROWS = 263
MATRIX = np.arange(ROWS * 4, dtype=np.float32).reshape(ROWS, 4)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = nameless(tmp_path / "model", {"e": MATRIX, "w": np.ones((4, 4), np.float32)})
    (folder / "tokenizer.json").write_text(json.dumps(byte_level()))
    (tmp_path / "new.json").write_text(json.dumps(extended(("hello", "Ġ"))))
    (tmp_path / "secret").write_text('{"auths": "of somebody"}')
    return folder


def run(model: Path, tokenizer: Path | None = None) -> Path:
    out = model.parent / "out"
    request = EmbeddingRequest(model=str(model), tokenizer=str(tokenizer or model.parent / "new.json"), tensors=("e",))
    vocabulary_transfer.embed(request, vocabulary_transfer.plan_embedding(request, out), out)
    return out


def refused(message: str, model: Path, tokenizer: Path | None = None) -> None:
    with pytest.raises(InputError, match=message) as error:
        run(model, tokenizer)
    assert "\n" not in str(error.value)
    assert not [path for path in model.parent.iterdir() if "out" in path.name]


def configure(model: Path, changes: dict[str, Any]) -> None:
    path = model / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    "key", ["encoder_layers", "decoder_layers", "num_decoder_layers", "n_layer", "depth", "num_blocks", "num_experts"]
)
@pytest.mark.parametrize("depth", [0, 2])
def test_counts_that_no_tensors_stand_for(model: Path, key: str, depth: int) -> None:
    """What a class would build one by one, without end."""
    changes: dict[str, Any] = {key: 10_000_000}
    for _ in range(depth):
        changes = {"part": changes}
    configure(model, changes)
    refused(f"{key} = 10,000,000, but 2 tensors", model)


def test_many_experts_in_one_tensor_are_no_mistake(model: Path) -> None:
    configure(model, {"num_local_experts": 512, "vision_feature_layer": -2, "layer_norm_eps": 1e-6})
    assert run(model).is_dir()


@pytest.mark.parametrize("key", ["encoder_layers", "decoder_layers", "num_layers", "num_decoder_layers"])
def test_models_with_an_encoder_are_not_built_without_end(tmp_path: Path, key: str) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("torch")
    name, layers = ("T5", "num_layers") if key.startswith("num") else ("Bart", "encoder_layers")
    size = {"d_model": 16, "vocab_size": ROWS, layers: 1, layers.replace("encoder", "decoder"): 1}
    config = getattr(transformers, f"{name}Config")(**size)
    getattr(transformers, f"{name}ForConditionalGeneration")(config).save_pretrained(tmp_path / "model")
    configure(tmp_path / "model", {key: 10_000_000})
    request = EmbeddingRequest(model=str(tmp_path / "model"), tokenizer="new.json")
    with pytest.raises(InputError, match=f"{key} = 10,000,000, but [0-9]+ tensors"):
        vocabulary_transfer.plan_embedding(request)


def test_positions_without_end_are_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Marian before transformers 5.0 computes a row for each of them, also on a device that holds no values."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("torch")
    size = {"d_model": 16, "vocab_size": ROWS, "encoder_layers": 1, "decoder_layers": 1, "pad_token_id": 0}
    config = transformers.MarianConfig(**size, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=16)
    transformers.MarianMTModel(config).save_pretrained(tmp_path / "model")
    configure(tmp_path / "model", {"max_position_embeddings": 1_000_000_000})
    filled = Mock()
    monkeypatch.setattr(transformers.MarianPreTrainedModel, "_init_weights", filled)
    assert ModelClass(ModelFolder.read("m", tmp_path / "model")).find(["model.shared.weight"]).rows == ROWS
    assert not filled.called


def test_a_licence_without_end(model: Path) -> None:
    with (model / "LICENSE").open("wb") as file:
        file.truncate(checkpoint.LARGEST_BESIDE)
    assert (run(model) / "LICENSE").stat().st_size == checkpoint.LARGEST_BESIDE
    os.truncate(model / "LICENSE", 5_000_000_000)
    (model.parent / "out").rename(model.parent / "first")
    refused("LICENSE has 5,000,000,000 bytes", model)


def test_what_is_copied_is_never_held_whole(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_BLOCK", 4)
    (model / "LICENSE").write_text("freedom")
    assert list(checkpoint.copied(model / "LICENSE").chunks()) == [b"free", b"dom"]


def test_what_grows_while_it_is_copied_is_copied_as_it_was(model: Path) -> None:
    (model / "LICENSE").write_text("free")
    stream = checkpoint.copied(model / "LICENSE")
    (model / "LICENSE").write_text("freedom")
    assert b"".join(stream.chunks()) == b"free"


@pytest.mark.parametrize(
    "name", ["LICENSE", "NOTICE.txt", "preprocessor_config.json", "generation_config.json", "tokenizer_config.json"]
)
@pytest.mark.parametrize("target", ["../secret", "inner/../../secret", "absolute"])
def test_a_link_out_of_the_folder_is_not_followed(model: Path, name: str, target: str) -> None:
    (model / "inner").mkdir()
    (model / name).symlink_to(model.parent / "secret" if target == "absolute" else target)
    refused(f"{name} is a link .*/secret", model)


def test_nor_is_one_in_a_tokenizer_folder(model: Path) -> None:
    folder = model.parent / "new"
    folder.mkdir()
    (model.parent / "new.json").rename(folder / "tokenizer.json")
    (folder / "merges.txt").symlink_to("../secret")
    refused(r"merges\.txt is a link .*/secret", model, folder)


def cached(model: Path) -> Path:
    """Move the files of a folder into a cache of the Hub, where a snapshot consists of links."""
    blobs, snapshot = (model.parent / "models--a--b" / name for name in ("blobs", "snapshots/0123"))
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for path in sorted(model.iterdir()):
        path.rename(blobs / f"of-{path.name}")
        (snapshot / path.name).symlink_to(f"../../blobs/of-{path.name}")
    return snapshot


def adapted(folder: Path, out: Path) -> dict[str, str]:
    tokenizer = str(out.parent / "new.json")
    request = EmbeddingRequest(model=str(folder), tokenizer=tokenizer, tensors=("e",))
    vocabulary_transfer.embed(request, vocabulary_transfer.plan_embedding(request, out), out)
    return hashes(out)


def test_links_within_a_folder_and_those_of_the_cache_of_the_hub_are_followed(model: Path, tmp_path: Path) -> None:
    (model / "LICENSE").write_text("free")
    (model / "LICENSE.txt").symlink_to("LICENSE")
    first = adapted(model, tmp_path / "first")
    (model / "LICENSE.txt").unlink()
    (model / "LICENSE.txt").write_text("free")
    snapshot = cached(model)
    assert adapted(snapshot, tmp_path / "second") == first
    assert (tmp_path / "second" / "LICENSE").read_text() == "free"
    (snapshot / "NOTICE").symlink_to("../../../secret")
    with pytest.raises(InputError, match=r"NOTICE is a link .*/secret"):
        adapted(snapshot, tmp_path / "third")


def test_blobs_that_are_a_link_themselves_hold_nothing(model: Path, tmp_path: Path) -> None:
    """A folder that somebody packed to look like the cache."""
    (model / "LICENSE").write_text("free")
    snapshot = cached(model)
    blobs = snapshot.parents[1] / "blobs"
    blobs.rename(tmp_path / "elsewhere")
    blobs.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"LICENSE is a link .*/elsewhere/of-LICENSE"):
        adapted(snapshot, tmp_path / "out")


def test_a_header_is_read_once(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = model / "model.safetensors"
    parsed = Mock(wraps=parse_json)
    monkeypatch.setattr(weights_file, "parse_json", parsed)
    run(model)
    assert parsed.call_count == 1
    before = WeightsFile.read(path).tensors
    path.write_bytes(path.read_bytes().replace(b'"w"', b'"v"'))
    os.utime(path, ns=(0, 0))
    assert WeightsFile.read(path).tensors.keys() == {"e", "v"} != before.keys()


def test_a_header_without_end_is_not_read(model: Path) -> None:
    with (model / "model.safetensors").open("r+b") as file:
        file.write((84_333_344).to_bytes(8, "little"))
        file.truncate(90_000_000)
    refused(r"model\.safetensors has a header .*\b84,333,344 bytes", model)


@pytest.mark.parametrize("name", ["\\ud800", "\\uDFFF x"])
def test_half_of_a_pair_of_surrogates_is_no_name(model: Path, name: str) -> None:
    path = model / "model.safetensors"
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = data[8:end].replace(b'"w"', f'"{name}"'.encode())
    path.write_bytes(len(header).to_bytes(8, "little") + header + data[end:])
    refused(r"model\.safetensors .*header is broken", model)
