"""``pyharness adapt embed``: from a folder of transformers to another one that it loads."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import language_models as tiny
from cases.command_line import call, refused
from checkpoints.made import extended, nameless, tensors_of
from pyharness.features.adaptation.editing.files import prune_file
from pyharness.features.adaptation.id_maps import IdMap
from tokenizer_files import byte_level

ROWS = 263
MATRIX = np.random.default_rng(1).normal(size=(ROWS, 4)).astype(np.float32)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = nameless(tmp_path / "model", {"e": MATRIX, "w": np.ones((4, 4), np.float32)}, eos_token_id=261)
    (folder / "tokenizer.json").write_text(json.dumps(byte_level()))
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": {"261": {"content": "x"}}}))
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    (folder / "LICENSE.txt").write_text("free")
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "tokenizer.json").write_text(json.dumps(extended(("hello", "Ġ"))))
    return folder


def test_a_plan_and_what_it_makes(model: Path, tmp_path: Path) -> None:
    new, plan, out = (str(tmp_path / name) for name in ("new", "plan.json", "out"))
    common = ("adapt", "embed", str(model), "--tokenizer", new, "--tensor", "e")
    done = call(*common, "--multiple-of", "8", "--row", "hello", "<|endoftext|>", "--plan-only", plan)
    assert done.returncode == 0, done.stderr
    content = json.loads(Path(plan).read_text())
    assert content["counts"] == {"copy": 262, "mean": 1, "row": 1, "kept": 0, "average": 0, "random": 0}
    assert (content["plan"][259], content["plan"][263]) == (["row", 261, 259], ["mean", 259, 32])
    assert (content["old"]["ids"], content["new"]["ids"], content["rows"]) == (263, 264, 264)
    done = call(*common, "--plan", plan, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "rows        263 -> 264" in done.stdout
    assert "made by     copy 262, mean 1, row 1" in done.stdout
    assert "left out    pytorch_model.bin" in done.stdout
    assert json.loads((tmp_path / "out" / "config.json").read_text())["vocab_size"] == 264
    assert (tmp_path / "out" / "embedding_plan.json").read_bytes() == Path(plan).read_bytes()
    for name in ("tokenizer_config.json", "chat_template.jinja", "LICENSE.txt"):
        assert (tmp_path / "out" / name).read_bytes() == (model / name).read_bytes()
    assert (tmp_path / "out" / "tokenizer.json").read_bytes() == (tmp_path / "new" / "tokenizer.json").read_bytes()
    after = tensors_of(tmp_path / "out")["e"]
    np.testing.assert_array_equal(after[259], MATRIX[261])
    np.testing.assert_array_equal(after[263], (MATRIX[259].astype(np.float64) + MATRIX[32]).astype(np.float32) / 2)
    assert re.search(f"'{out}' .*--force", refused(*common, "--out", out))
    assert call(*common, "--out", out, "--force", "-q").returncode == 0
    assert tensors_of(tmp_path / "out")["e"].shape == (264, 4)


def test_settings_follow_ids_that_move(model: Path, tmp_path: Path) -> None:
    ids = [*range(100), -1, *range(100, 262)]
    (tmp_path / "map.json").write_text(json.dumps(ids))
    tokenizer = str(tmp_path / "another.json")
    Path(tokenizer).write_bytes(pruned(ids))
    out = str(tmp_path / "out")
    done = call(
        "adapt", "embed", str(model), "--map", str(tmp_path / "map.json"), "--tokenizer", tokenizer, "--tensor", "e",
        "--out", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "tokenizer.json").read_bytes() == (tmp_path / "another.json").read_bytes()
    settings = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())
    assert settings == {"added_tokens_decoder": {"260": {"content": "x"}}}
    assert json.loads((tmp_path / "out" / "config.json").read_text())["eos_token_id"] == 260
    np.testing.assert_array_equal(tensors_of(tmp_path / "out")["e"], np.delete(MATRIX, 100, axis=0))


def pruned(ids: list[int]) -> bytes:
    """Return the tokenizer of the model as a map of ids leaves it."""
    return prune_file(json.dumps(byte_level()).encode(), IdMap(np.array(ids), max(ids) + 1), "the file")


def test_a_map_that_knows_fewer_ids_than_the_tokenizer(model: Path, tmp_path: Path) -> None:
    """As that of ``adapt prune --extend`` does: the model would have no rows for new tokens."""
    ids = [*range(100), -1, *range(100, 262)]
    (tmp_path / "map.json").write_text(json.dumps(ids))
    common = ("adapt", "embed", str(model), "--map", str(tmp_path / "map.json"), "--tensor", "e", "--out",
              str(tmp_path / "out"), "--tokenizer", str(tmp_path / "new"))  # fmt: skip
    for more in ((), ("--multiple-of", "64")):
        assert re.search(r"\b264 ids, .*\b262\b.*--map .*--ids ", refused(*common, *more))
    assert not (tmp_path / "out").exists()
    assert call(*common, "--ids", "264", "--method", "mean").returncode == 0
    assert tensors_of(tmp_path / "out")["e"].shape == (264, 4)


def test_settings_follow_tokens_that_go(model: Path, tmp_path: Path) -> None:
    """In all files beside the model, as ``adapt prune`` has them."""
    tokens = {str(number): {"content": content} for number, content in ((99, "a"), (100, "gone"), (261, "x"))}
    (model / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": tokens, "eos_token": "x"}))
    (model / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": ["gone", "x"]}))
    (model / "added_tokens.json").write_text(json.dumps({"gone": 100, "x": 261}))
    (model / "generation_config.json").write_text(json.dumps({"eos_token_id": [261], "lang_to_id": {"<|et|>": 102}}))
    ids = [*range(100), -1, *range(100, 262)]
    (tmp_path / "map.json").write_text(json.dumps(ids))
    (tmp_path / "new" / "tokenizer.json").write_bytes(pruned(ids))
    common = ("adapt", "embed", str(model), "--map", str(tmp_path / "map.json"), "--tensor", "e", "--out",
              str(tmp_path / "out"), "--tokenizer", str(tmp_path / "new"))  # fmt: skip
    assert call(*common).returncode == 0
    found = {path.name: path.read_bytes() for path in (tmp_path / "out").glob("*.json")}
    kept = {"99": {"content": "a"}, "260": {"content": "x"}}
    assert json.loads(found["tokenizer_config.json"]) == {"added_tokens_decoder": kept, "eos_token": "x"}
    assert json.loads(found["special_tokens_map.json"]) == {"additional_special_tokens": ["x"]}
    assert json.loads(found["added_tokens.json"]) == {"x": 260}
    assert json.loads(found["generation_config.json"]) == {"eos_token_id": [260], "lang_to_id": {"<|et|>": 101}}
    for name, content in (
        ("chat_template.jinja", "{{ messages }}gone"),
        ("tokenizer_config.json", json.dumps({"added_tokens_decoder": tokens, "pad_token": "gone"})),
    ):
        (model / name).write_text(content)
        assert f"{name}: " in (said := refused(*common, "--force"))
        assert "'gone'" in said
        (model / name).unlink()


def test_a_token_that_gets_the_row_of_another_is_the_same_token(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = call(
        "adapt", "embed", str(model), "--tokenizer", str(tmp_path / "new"), "--tensor", "e", "--row", "261", "hello",
        "--out", str(out),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(tensors_of(out)["e"][261], MATRIX[259])
    assert json.loads((out / "config.json").read_text())["eos_token_id"] == 261
    assert json.loads((out / "tokenizer_config.json").read_text()) == {
        "added_tokens_decoder": {"261": {"content": "x"}}
    }


def test_progress(model: Path, tmp_path: Path) -> None:
    (tmp_path / "map.json").write_text(json.dumps([*range(262)]))
    common = ("adapt", "embed", str(model), "--map", str(tmp_path / "map.json"), "--ids", "300", "--method", "random",
              "--tensor", "e")  # fmt: skip
    said = call(*common, "--out", str(tmp_path / "out")).stderr.splitlines()
    assert [line.partition(":")[0] for line in said] == ["hashing", "writing", "averaging", "writing"]
    assert said[0] == "hashing: 0.0 MB of 0.0 MB (0%)"
    assert call(*common, "--out", str(tmp_path / "quiet"), "-q").stderr == ""


def test_neither_a_folder_nor_a_plan(model: Path, tmp_path: Path) -> None:
    said = refused("adapt", "embed", str(model), "--tokenizer", str(tmp_path / "new"))
    assert re.search("--out DIR.*--plan-only", said)


def test_the_adapted_folder_in_transformers(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    transformers: Any = pytest.importorskip("transformers")
    old = tiny.build(tmp_path / "old")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "tokenizer.json").write_text(json.dumps(extended(("Ġw", "o"))))
    out = tmp_path / "out"
    done = call("adapt", "embed", str(old), "--tokenizer", str(tmp_path / "new"), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "matrices    transformer.wte.weight" in done.stdout
    ids = transformers.AutoTokenizer.from_pretrained(out)("hello world")["input_ids"]
    assert 263 in ids
    model, about = transformers.AutoModelForCausalLM.from_pretrained(out, output_loading_info=True)
    assert not any(about.values())
    assert model.get_input_embeddings().weight.shape[0] == 264
