"""What cannot be adapted is refused in one line, and nothing is left half-written."""

from __future__ import annotations

import importlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import language_models as tiny
from checkpoints.made import extended, nameless, weights
from pyharness.features.adaptation.surgery import vocabulary_transfer
from pyharness.features.adaptation.surgery.vocabulary_transfer import EmbeddingRequest
from pyharness.types import InputError
from tokenizer_files import byte_level

ROWS = 263
MATRIX = np.arange(ROWS * 4, dtype=np.float32).reshape(ROWS, 4)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = nameless(tmp_path / "model", {"e": MATRIX, "b": MATRIX[:, 0].copy(), "w": np.ones((4, 4), np.float32)})
    (folder / "tokenizer.json").write_text(json.dumps(byte_level()))
    (tmp_path / "new.json").write_text(json.dumps(extended(("hello", "Ġ"))))
    return folder


def run(model: Path, out: Path | None = None, **options: Any) -> None:
    given = {"tokenizer": str(model.parent / "new.json"), "tensors": ("e", "b"), **options}
    request = EmbeddingRequest(model=str(model), **given)
    target = out or model.parent / "out"
    vocabulary_transfer.embed(request, vocabulary_transfer.plan_embedding(request, target), target)


def refused(message: str, model: Path, out: Path | None = None, **options: Any) -> None:
    before = sorted(path for path in model.parent.rglob("*"))
    with pytest.raises(InputError, match=message) as error:
        run(model, out, **options)
    assert "\n" not in str(error.value)
    assert sorted(path for path in model.parent.rglob("*")) == before


def renamed(folder: Path, old: bytes, new: bytes) -> None:
    """Give a tensor another name in the header."""
    path = folder / "model.safetensors"
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = data[8:end].replace(old, new)
    path.write_bytes(len(header).to_bytes(8, "little") + header + data[end:])


def write(name: str, **tensors: Any) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(weights(tensors))


def configured(**changes: Any) -> Callable[[Path], object]:
    return lambda folder: tiny.edited(folder, **changes)


def cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def of_ranks(folder: Path) -> None:
    (folder / "shard-00000-model-00001-of-00001.safetensors").write_bytes(b"")


def indexed(**shards: str) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "one.safetensors")
        (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": shards}))

    return damage


def shortened(folder: Path) -> None:
    write("model.safetensors", e=MATRIX[:-1], b=MATRIX[:-1, 0])(folder)
    tiny.edited(folder, vocab_size=ROWS - 1)


def without_size(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "mine"}')


def doubled(folder: Path) -> None:
    indexed(e="one.safetensors", b="one.safetensors", w="two.safetensors")(folder)
    write("two.safetensors", e=MATRIX, w=np.ones((4, 4), np.float32))(folder)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (doubled, r"one\.safetensors and two\.safetensors .*tensor '[ew]'"),
        (shortened, r"\b262 rows, .*old tokenizer.*\b263 ids"),
        (write("model.safetensors", e=MATRIX[:-1], b=MATRIX[:-1, 0]), "e has 262 rows, and .* says vocab_size = 263"),
        (without_size, r"e has 263 rows, .*config\.json says no vocab_size"),
        (write("model.safetensors", e=MATRIX, b=MATRIX[:-1, 0]), "rows differ: e 263, b 262"),
        (write("model.safetensors", e=MATRIX.astype(np.int32), b=MATRIX[:, 0]), "e has numbers of I32; rows can be"),
        (write("model.safetensors", e=MATRIX.reshape(ROWS, 2, 2), b=MATRIX[:, 0]), r"e has the shape \[263, 2, 2\]"),
        (write("model.safetensors", e=MATRIX), "--tensor 'b' .* none$"),
        (cut, r"model\.safetensors .*tensors .*\b\d[\d,]+ bytes"),
        (lambda folder: renamed(folder, b'"w"', b'"\\ud800"'), r"model\.safetensors .*header is broken"),
        (pickled, r"pytorch_model\.bin.*pickles .*save_pretrained"),
        (of_ranks, "distributed checkpoint.*save_pretrained"),
        (configured(quantization_config={"quant_method": "gptq"}), "is quantised"),
        (indexed(e="one.safetensors", b="two.safetensors"), "lacks two.safetensors"),
        (indexed(e="one.safetensors", b="../b.safetensors"), r"index\.json is broken: .*weight_map"),
        (indexed(e="one.safetensors", b="/b.safetensors"), r"index\.json is broken: .*weight_map"),
        (indexed(e="one.safetensors", x="one.safetensors"), "one.safetensors has no tensor 'x'"),
        (lambda folder: (folder / "config.json").unlink(), "has no config.json"),
        (lambda folder: (folder / "tokenizer.json").unlink(), r"no tokenizer file .*/model\b.*tokenizer\.json"),
        (lambda folder: (folder / "generation_config.json").write_text("["), r"generation_config\.json .*valid JSON"),
        (configured(forced_decoder_ids=[[1, 2]]), None),
    ],
)  # fmt: skip
def test_models(damage: Callable[[Path], object], message: str | None, model: Path) -> None:
    damage(model)
    if message is None:
        run(model)  # ids stay where they are
    else:
        refused(message, model)


NINES = "9" * 5000


def test_numbers_of_thousands_of_digits(model: Path, tmp_path: Path) -> None:
    (tmp_path / "map.json").write_text(json.dumps({NINES: 0}))
    refused("map.json maps .'9999", model, tokenizer=None, id_map=tmp_path / "map.json")
    refused("--row names '9999", model, named=((NINES, "5"),))
    (model / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": {NINES: {}, "5": {}}}))
    refused(r"tokenizer_config\.json .*'9999.*added_tokens_decoder", model)
    (model / "tokenizer_config.json").write_text(f'{{"model_max_length": {NINES}}}')
    refused("tokenizer_config.json: Exceeds the limit", model)
    (model / "tokenizer_config.json").unlink()
    (model / "config.json").write_text(f'{{"vocab_size": {NINES}}}')
    refused("config.json: Exceeds the limit", model)


def test_folders(model: Path, tmp_path: Path) -> None:
    refused("model/out' is within .*/model'", model, model / "out")
    (tmp_path / "link").symlink_to(model)
    refused("link/out' is within .*/model'", model, tmp_path / "link" / "out")
    refused("/model' exists already and .*not made", model, model)
    (tmp_path / "there").mkdir()
    refused("exists already", model, tmp_path / "there")
    refused("no folder .*/none'", model, tmp_path / "none" / "out")
    run(model, tmp_path / "made")
    refused("/made' .*--force", model, tmp_path / "made")


def test_what_is_read_is_not_replaced(model: Path, tmp_path: Path) -> None:
    made, other = tmp_path / "made", tmp_path / "other"
    run(model, made)
    other.mkdir()
    for path in made.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    (other / "model.safetensors").unlink()
    (other / "model.safetensors").symlink_to(made / "model.safetensors")
    (tmp_path / "linked.json").symlink_to(made / "tokenizer.json")
    before = (made / "model.safetensors").read_bytes()
    with pytest.raises(InputError, match=r"/other/model.safetensors' lies in .*/made'"):
        vocabulary_transfer.plan_embedding(
            EmbeddingRequest(model=str(other), tokenizer=str(tmp_path / "new.json")), made, True
        )
    with pytest.raises(InputError, match=r"/linked.json' lies in"):
        vocabulary_transfer.plan_embedding(
            EmbeddingRequest(model=str(model), tokenizer=str(tmp_path / "linked.json")), made, True
        )
    assert (made / "model.safetensors").read_bytes() == before


def test_a_full_disk(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))
    refused(rf"MB .*'{model.parent}'.*\b0\.0 MB .*free", model)


def test_plans_for_something_else(model: Path, tmp_path: Path) -> None:
    request = EmbeddingRequest(model=str(model), tokenizer=str(tmp_path / "new.json"), tensors=("e", "b"))
    vocabulary_transfer.write_plan(vocabulary_transfer.plan_embedding(request), tmp_path / "plan.json")
    plan = tmp_path / "plan.json"
    run(model, tmp_path / "made", plan=plan)
    (tmp_path / "new.json").write_text(json.dumps(extended(("Ġw", "o"))))
    refused(r"plan .*another tokenizer .*/new\.json'", model, plan=plan)
    tiny.edited(model, note="trained on")
    refused(r"plan .*another checkpoint .*/model' ", model, plan=plan, tokenizer=None)
    refused("plan .*--row, --multiple-of .*--ids", model, plan=plan, multiple_of=8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("7", r"map\.json .*neither an array"),
        ("[0, 1", r"map\.json .*neither an array"),
        ('{"0": 0, "0": 1}', "occurs twice"),
        ('{"x": 0}', r"maps \('x', 0\)"),
        ('{"263": 0}', r"maps \(263, 0\): .*below 263"),
        ('{"0": 1.5}', r"maps \(0, 1.5\)"),
        ('{"0": true}', r"maps \(0, True\)"),
        ("[-2]", r"maps \(0, -2\)"),
        ("[99999999999]", "maps"),
        (json.dumps(list(range(264))), "maps"),
        ("[0, 0]", r"two tokens .*new id 0\b"),
        ('{"0": 1}', "1 new ids? .*--method mean"),
        ("[-1]", "map of ids .*no token"),
    ],
)
def test_maps(content: str, message: str, model: Path, tmp_path: Path) -> None:
    (tmp_path / "map.json").write_text(content)
    refused(message, model, id_map=tmp_path / "map.json", tokenizer=None)


def test_requests(model: Path, tmp_path: Path) -> None:
    refused("--tokenizer, --map .*--plan", model, tokenizer=None)
    refused("--map and --plan .*one", model, id_map=tmp_path / "a", plan=tmp_path / "b")
    refused("--ids .*map of ids", model, ids=300)
    refused("--row names 'nothing', .*token", model, named=[("nothing", "hello")])
    refused(r"id 999 .*\brow of 259\b", model, named=[("999", "hello")])
    refused("/none'.*folder nor", tmp_path / "none")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    refused("/circle'.*folder nor|cannot look for .*/circle", tmp_path / "circle")
    nobody = Path("~nobody-by-name")
    refused("'~nobody-by-name'.*folder nor", nobody, tmp_path / "out", tokenizer=str(tmp_path / "new.json"))


def test_an_id_that_is_named_and_gone(model: Path, tmp_path: Path) -> None:
    (tmp_path / "map.json").write_text(json.dumps([*range(261), -1, 261]))
    given: dict[str, Any] = {"id_map": tmp_path / "map.json", "tokenizer": None}
    tiny.edited(model, eos_token_id=[5, 261])
    refused(r"config\.json: eos_token_id has id 261\b", model, **given)
    tiny.edited(model, eos_token_id=5, forced_decoder_ids=[[1, 2]])
    refused("config.json has forced_decoder_ids, whose ids", model, **given)


def test_ids_within_other_models(model: Path, tmp_path: Path) -> None:
    (tmp_path / "map.json").write_text(json.dumps([*range(100), -1, *range(100, 262)]))
    tiny.edited(model, text_config={"bos_token_id": 101, "vocab_size": 263}, vision_config={"bos_token_id": 101})
    run(model, id_map=tmp_path / "map.json", tokenizer=None)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["text_config"] == {"bos_token_id": 100, "vocab_size": 262}
    assert (config["vision_config"], config["vocab_size"]) == ({"bos_token_id": 101}, 262)


def test_classes_that_say_nothing(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    transformers: Any = pytest.importorskip("transformers")
    torch: Any = importlib.import_module("torch")
    torch.manual_seed(1)
    shape = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16,
             "encoder_attention_heads": 1, "decoder_attention_heads": 1, "max_position_embeddings": 16}  # fmt: skip
    config = transformers.BartConfig(vocab_size=ROWS, pad_token_id=1, bos_token_id=0, eos_token_id=2, **shape)
    folder = tmp_path / "model"
    transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    (folder / "tokenizer.json").write_text(json.dumps(byte_level()))
    (tmp_path / "new.json").write_text(json.dumps(extended(("hello", "Ġ"))))
    for changes, message in (
        ({"architectures": ["Mine"]}, "no class 'Mine' of model_type 'bart'.*--tensor"),
        ({"architectures": ["GPT2LMHeadModel"]}, "no class 'GPT2LMHeadModel' of model_type 'bart'"),
        ({"architectures": ["AutoModel"]}, "no class 'AutoModel'"),
        ({"architectures": ["os"]}, "no class 'os'"),
        ({"architectures": 7, "auto_map": {"AutoModel": "x.Y"}}, "model_type 'bart'.*code .*never run.*--tensor"),
        ({"architectures": ["BartForConditionalGeneration"], "d_model": "x"}, "refused by transformers"),
    ):
        tiny.edited(folder, **changes)
        refused(message, folder, tensors=())
    tiny.edited(tiny.build(tmp_path / "gpt2"), vocab_size=99)
    refused(r"gpt2': .*transformer\.wte\.weight 263, config\.json 99", tmp_path / "gpt2", tensors=())
