from __future__ import annotations

import json
import os
import queue
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bpe_models import (
    CHARACTER_TEXTS,
    PATTERNS,
    SPECIAL,
    character_model,
    encode,
    same,
    sample,
    texts,
    trained,
    trained_model,
)
from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.formats.own_file import load, load_bytes, save, save_bytes
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.training.trained_model import model_of_training
from pyharness.bpe.training.trainer import WeightedPieces, train
from pyharness.types import InputError, TokenKind
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.own_file import digest
from tokenizer_files import byte_level, rank_data, sentencepiece_data


def models() -> dict[str, Callable[[], BpeModel]]:
    return {
        "bytes": lambda: trained_model("cl100k"),
        "scaffold": lambda: trained_model("gpt2", scaffold=True),
        "characters": character_model,
        "ranks": lambda: import_model(rank_data(), pattern="o200k_base", special={"<|end|>": 300}),
        "huggingface": lambda: import_model(json.dumps(byte_level()).encode()),
        "sentencepiece": lambda: import_model(sentencepiece_data(2, byte_fallback=True)),
    }


@pytest.mark.parametrize("name", models())
def test_round_trip(name: str, tmp_path: Path) -> None:
    model = models()[name]()
    save(model, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert same(model, loaded)
    assert save_bytes(loaded) == (tmp_path / "model.json").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]
    assert vocabulary_file.detect((tmp_path / "model.json").read_bytes(), "x") == "pyharness"
    assert same(import_model(tmp_path / "model.json"), model)


def test_the_file_reads_as_documented() -> None:
    content = json.loads(save_bytes(trained_model("gpt2")))
    rest = {name: value for name, value in content.items() if name != "digest"}
    assert content["digest"] == digest(rest)
    assert (content["format"], content["version"], content["algorithm"]) == ("pyharness-bpe", 1, "bpe")
    assert content["tokens"][:256] == [content["tokens"][b] for b in content["alphabet"].values()]
    assert content["tokens"][-2:] == list(SPECIAL)
    assert content["kinds"] == {"special": [700, 701]}
    rules = np.array(content["merges"]["rules"]).reshape(-1, 3)
    for left, right, result in rules.tolist():
        assert content["tokens"][left] + content["tokens"][right] == content["tokens"][result]
    assert "Ġthe" in content["tokens"]
    assert content["origin"] == {"corpus": "sample"}


# ------------------------------------------------------------------------------------------ trained models


@pytest.mark.parametrize("pattern", PATTERNS)
def test_trained_ids_are_compact_and_decode(pattern: str) -> None:
    model = trained_model(pattern)
    assert model.vocab_size == 700
    assert model.special == {SPECIAL[0]: 700, SPECIAL[1]: 701}
    for text in texts(60):
        ids = encode(model, text)
        assert max(ids, default=0) < 700
        assert b"".join(model.vocabulary[token] for token in ids) == text.encode()


def test_scaffold_tokens_are_never_written() -> None:
    result, model = trained("gpt2", scaffold=True), trained_model("gpt2", scaffold=True)
    assert model.algorithm == "scaffold-bpe"
    assert model.vocab_size == 700
    assert len(model.merges.tested) == len(result) > 700
    assert model.scaffold.tolist() == result.scaffold.tolist()
    written = [result[token] for token in range(len(result)) if not result.scaffold[token]]
    assert [model.vocabulary[token] for token in range(700)] == written
    assert model.expansion is not None
    ids, offsets = model.expansion
    for token in range(len(result)):
        parts = ids[offsets[token] : offsets[token + 1]].tolist()
        assert b"".join(model.vocabulary[part] for part in parts) == result[token]
        assert (len(parts) > 1) == result.scaffold[token]
    for text in texts(40):
        assert b"".join(model.vocabulary[token] for token in encode(model, text)) == text.encode()


def test_demolition_rule_is_kept() -> None:
    model = model_of_training(trained("gpt2", scaffold=True), "gpt2", demolition="shortest")
    loaded = load_bytes(save_bytes(model), "x")
    assert loaded.demolition == "shortest"
    assert same(model, loaded)


def test_characters() -> None:
    model = character_model()
    assert model.symbols == "characters"
    alphabet = {character.encode() for text in sample()[:CHARACTER_TEXTS] for character in text}
    assert set(model.alphabet) == alphabet
    assert model.unknown == len(alphabet) + 400
    assert model.vocabulary.kinds[model.unknown] == TokenKind.UNKNOWN
    assert model.byte_ids is None


def test_bad_trainings() -> None:
    result = trained("gpt2")
    for special in (("a", "a"), ("",)):
        with pytest.raises(InputError, match=rf"special tokens .*{re.escape(str(list(special)))}"):
            model_of_training(result, "gpt2", special=special)
    with pytest.raises(InputError, match=r"special.*surrogate"):
        model_of_training(result, "gpt2", special=("\udcff",))
    with pytest.raises(InputError, match="unknown token '<unk>'"):
        model_of_training(result, "gpt2", unknown="<unk>")
    with pytest.raises(InputError, match="alphabet"):
        model_of_training(train(WeightedPieces.of_characters({}), 0), "gpt2")


# ------------------------------------------------------------------------------------------ files


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        save(trained_model("gpt2"), tmp_path / "no" / "model.json")
    bad = model_of_training(trained("gpt2"), "gpt2", origin={"time": float("nan")})
    with pytest.raises(InputError, match=r"model\.json .*JSON"):
        save(bad, tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_what_a_save_leaves_alone(tmp_path: Path) -> None:
    """Links, permissions, folders and devices: a replaced /dev/null would break the machine of who writes as root."""
    model, target, link, device = trained_model("gpt2"), tmp_path / "a.json", tmp_path / "link", tmp_path / "device"
    target.write_bytes(b"old")
    target.chmod(0o600)
    link.symlink_to(target)
    save(model, link)
    assert link.is_symlink()
    assert same(load(target), model)
    assert target.stat().st_mode & 0o777 == 0o600
    os.mkfifo(device)
    content = queue.Queue[bytes]()
    reader = threading.Thread(target=lambda: content.put(device.read_bytes()), daemon=True)
    reader.start()
    save(model, device)
    assert content.get(timeout=10) == save_bytes(model)
    assert device.is_fifo()
    with pytest.raises(InputError, match=r" .*: Is a directory"):
        save(model, tmp_path)
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(InputError, match="cannot write"):
        save(model, tmp_path / "circle")


@pytest.mark.data
def test_loading_50k_tokens_is_quick(data: Path) -> None:
    content = save_bytes(import_model(data / "tokenizers" / "gpt2" / "tokenizer.json"))
    spent = []
    for _ in range(3):
        start = time.process_time()
        load_bytes(content, "x")
        spent.append(time.process_time() - start)
    assert min(spent) < 0.5  # 0.1 s on a quiet machine; a quadratic step would take minutes
