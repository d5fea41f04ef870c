"""Models of several parts: which matrices follow the ids, and where the configuration says how many there are."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import language_models as tiny
from checkpoints.made import PADDED, applied, extended, hashes, of_json, tensors_of
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.features.adaptation.surgery.initialisation import PlanRequest, plan_of_map, plan_of_tokenizers
from pyharness.features.adaptation.surgery.matrices import VocabularyMatrices
from pyharness.features.language_models.folder import ModelFolder
from pyharness.types import InputError
from tokenizer_files import byte_level

torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers")

IDS = [*b"some old text ", 256, 257, 258, 259, 260, 261]
TEXT = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
IMAGES = {**TEXT, "image_size": 8, "patch_size": 4}
SIZED = {**TEXT, "vocab_size": PADDED, "max_position_embeddings": 32}
GEMMA = {**SIZED, "num_key_value_heads": 1, "head_dim": 8, "layer_types": ["full_attention"]}
HALVES = {
    "vocab_size": PADDED, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16, "encoder_attention_heads": 1, "decoder_attention_heads": 1, "max_position_embeddings": 32,
    "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 3,
}  # fmt: skip
SOUNDS = {"num_mel_bins": 8, "max_source_positions": 8, "max_target_positions": 32}


def configured(name: str, **options: Any) -> Any:
    return getattr(transformers, f"{name}Config")(**options)


CONFIGURATIONS: Mapping[str, Callable[[], Any]] = {
    "LlavaForConditionalGeneration": lambda: configured(
        "Llava", text_config={**SIZED, "model_type": "llama"}, image_token_index=262,
        vision_config={**IMAGES, "model_type": "clip_vision_model"},
    ),
    "Gemma3ForConditionalGeneration": lambda: configured(
        "Gemma3", text_config=GEMMA, vision_config=IMAGES, mm_tokens_per_image=4, image_token_index=262,
        boi_token_index=260, eoi_token_index=261,
    ),
    "T5ForConditionalGeneration": lambda: configured(
        "T5", vocab_size=PADDED, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=0
    ),
    "BartForConditionalGeneration": lambda: configured("Bart", **HALVES),
    "WhisperForConditionalGeneration": lambda: configured("Whisper", **HALVES, **SOUNDS),
    "CLIPModel": lambda: configured(
        "CLIP", text_config={**SIZED, "eos_token_id": 261}, vision_config=IMAGES, projection_dim=8
    ),
    "CLIPTextModel": lambda: configured("CLIPText", **SIZED, eos_token_id=261),
}  # fmt: skip
MATRICES = {  # by their names in files; what is tied is there once
    "LlavaForConditionalGeneration": ("embed_tokens.weight", "lm_head.weight"),
    "BartForConditionalGeneration": ("shared.weight", "final_logits_bias"),
    "T5ForConditionalGeneration": ("shared.weight",),
    "CLIPModel": ("text_model.embeddings.token_embedding.weight",),
    "CLIPTextModel": ("embeddings.token_embedding.weight",),
}
WITHIN = ("Llava", "Gemma3", "CLIPModel")  # whose size of the vocabulary is that of the text model


def built(name: str, folder: Path) -> Path:
    torch.manual_seed(7)
    model = getattr(transformers, name)(CONFIGURATIONS[name]())
    for buffer, one in model.named_buffers():
        if buffer == "final_logits_bias":
            torch.nn.init.normal_(one)
    model.save_pretrained(folder)
    return folder


def loaded(folder: Path, name: str) -> Any:
    model, about = getattr(transformers, name).from_pretrained(folder, output_loading_info=True)
    assert not any(about.values()), about
    return model.eval()


def answer(model: Any, ids: list[int]) -> Any:
    """Logits of ids, or what the text is for a model without."""
    given, name = torch.tensor([ids]), type(model).__name__
    with torch.no_grad():
        if name == "CLIPModel":
            return model.text_model(given).last_hidden_state[0]
        if name == "CLIPTextModel":
            return model(given).last_hidden_state[0]
        if name.startswith("Whisper"):
            return model(input_features=torch.ones(1, 8, 16), decoder_input_ids=given).logits[0]
        if name.startswith(("T5", "Bart")):
            return model(input_ids=given, decoder_input_ids=given).logits[0]
        return model(input_ids=given).logits[0]


def sizes(folder: Path) -> list[int | None]:
    config = json.loads((folder / "config.json").read_text())
    return [config.get("vocab_size"), *(config.get(part, {}).get("vocab_size") for part in ("text_config",))]


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_more_ids_and_other_ids(name: str, tmp_path: Path) -> None:
    old = built(name, tmp_path / "old")
    folder = ModelFolder.read("m", old)
    found = VocabularyMatrices.of(folder)
    ends = MATRICES.get(name, ("embed_tokens.weight",))
    assert all(sum(file.endswith(end) for file in found.roles) == 1 for end in ends), found.roles
    assert len(found.roles) == len(ends)
    request = PlanRequest(rows=PADDED, checkpoint=folder.digest(), multiple_of=64)
    plan = plan_of_tokenizers(of_json(byte_level()), of_json(extended(("hello", "Ġ"), ("Ġw", "o"))), request)
    new = applied(old, plan, tmp_path / "new")
    assert sizes(new) == ([None, 320] if name.startswith(WITHIN) else [320, None])
    assert {one: hashes(new)[one] for one in hashes(old) if one not in found.roles} == {
        one: value for one, value in hashes(old).items() if one not in found.roles
    }
    before = answer(loaded(old, name), IDS)
    after = answer(loaded(new, name), IDS)
    columns = min(after.shape[1], 263)
    assert torch.equal(after[:, :columns], before[:, :columns])
    assert answer(loaded(new, name), [*IDS, 263, 264]).isfinite().all()
    by_name = VocabularyMatrices.of(folder, list(found.roles))
    assert (by_name.rows, by_name.places) == (found.rows, found.places)
    if name == "CLIPModel":
        return  # it looks for the end of a text by the largest id
    turned = IdMap(np.arange(263)[::-1].copy(), 263)
    other = applied(old, plan_of_map(turned, PlanRequest(rows=PADDED, checkpoint=folder.digest())), tmp_path / "other")
    swapped = answer(loaded(other, name), [262 - token for token in IDS])
    assert torch.equal(swapped[:, :263].flip(1) if columns == 263 else swapped, before[:, :columns])


def test_a_size_that_the_file_leaves_to_the_class(tmp_path: Path) -> None:
    """As in the files of Gemma 3; Llama has 32,000."""
    text = {**TEXT, "model_type": "llama", "hidden_size": 4}
    vision = {**IMAGES, "model_type": "clip_vision_model"}
    config = transformers.LlavaConfig(text_config=text, vision_config=vision, image_token_index=262)
    transformers.LlavaForConditionalGeneration(config).save_pretrained(tmp_path / "old")
    content = json.loads((tmp_path / "old" / "config.json").read_text())
    assert content["text_config"].pop("vocab_size") == 32_000
    (tmp_path / "old" / "config.json").write_text(json.dumps(content))
    folder = ModelFolder.read("m", tmp_path / "old")
    found = VocabularyMatrices.of(folder)
    assert (found.rows, found.places) == (32_000, [("text_config",)])
    assert VocabularyMatrices.of(folder, list(found.roles)).places == [("text_config",)]
    plan = plan_of_map(IdMap(np.arange(300), 300), PlanRequest(rows=32_000, checkpoint=folder.digest()))
    assert sizes(applied(tmp_path / "old", plan, tmp_path / "new")) == [None, len(plan)]


def of_two_vocabularies(folder: Path) -> Path:
    torch.manual_seed(7)
    halves = [transformers.BertConfig(**SIZED), transformers.BertConfig(**SIZED, add_cross_attention=True)]
    config = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(*halves)
    transformers.EncoderDecoderModel(config).save_pretrained(folder)
    return folder


def test_two_vocabularies_in_one_model(tmp_path: Path) -> None:
    old = of_two_vocabularies(tmp_path / "old")
    folder = ModelFolder.read("m", old)
    with pytest.raises(InputError, match=r"EncoderDecoderModel.*vocabularies.*--tensor"):
        VocabularyMatrices.of(folder)
    first = "encoder.embeddings.word_embeddings.weight"
    second = [
        name for name in tensors_of(old) if name.startswith("decoder") and tensors_of(old)[name].shape[0] == PADDED
    ]
    assert VocabularyMatrices.of(folder, [first]).places == [("encoder",)]
    assert VocabularyMatrices.of(folder, second).places == [("decoder",)]
    assert VocabularyMatrices.of(folder, [first, *second]).places == [("encoder",), ("decoder",)]
    with pytest.raises(InputError, match=r"decoder.*number of ids.*--tensor"):
        VocabularyMatrices.of(folder, second[:1])
    plan = plan_of_map(
        IdMap(np.arange(PADDED)[::-1].copy(), PADDED),
        PlanRequest(rows=PADDED, checkpoint=folder.digest(), multiple_of=64),
    )
    new = applied(old, plan, tmp_path / "new", first)
    config = json.loads((new / "config.json").read_text())
    assert (config["encoder"]["vocab_size"], config["decoder"]["vocab_size"]) == (320, PADDED)
    before, after = (json.loads((one / "config.json").read_text()) for one in (old, new))
    assert after["decoder"] == before["decoder"]


def test_a_configuration_that_does_not_say_what_named_tensors_have(tmp_path: Path) -> None:
    old = built("LlavaForConditionalGeneration", tmp_path / "old")
    names = list(VocabularyMatrices.of(ModelFolder.read("m", old)).roles)
    content = json.loads((old / "config.json").read_text())
    tiny.edited(old, text_config={**content["text_config"], "vocab_size": 99})
    with pytest.raises(InputError, match=r"272 rows, .*text_config\.vocab_size = 99: "):
        VocabularyMatrices.of(ModelFolder.read("m", old), names)
    tiny.edited(old, model_type="mine", encoder={"vocab_size": PADDED}, decoder={"vocab_size": PADDED})
    with pytest.raises(InputError, match=r"encoder\.vocab_size = 272, decoder\.vocab_size = 272: "):
        VocabularyMatrices.of(ModelFolder.read("m", old), names)


def test_a_second_table_of_ids(tmp_path: Path) -> None:
    old = built("LlavaForConditionalGeneration", tmp_path / "old")
    content = json.loads((old / "config.json").read_text())
    tiny.edited(old, text_config={**content["text_config"], "vocab_size_per_layer_input": 99})
    folder = ModelFolder.read("m", old)
    with pytest.raises(InputError, match=r"table of ids, .*_per_layer_input\b.*--tensor"):
        VocabularyMatrices.of(folder)
    found = [name for name in tensors_of(old) if name.endswith(("embed_tokens.weight", "lm_head.weight"))]
    assert VocabularyMatrices.of(folder, found).places == [("text_config",)]
