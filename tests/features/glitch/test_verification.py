"""Verification: prompts hold the token where they must, and probabilities are those of the library's own decoding."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cases.command_line import call
from language_models import build
from pyharness import tokenizers
from pyharness.features.glitch import verification
from pyharness.features.glitch.verification import PROMPTS, STEPS, largest_probabilities
from pyharness.features.language_models.loader import load
from pyharness.types import HasVocabulary, InputError

pytest.importorskip("torch", reason="a model computes with torch")
pytest.importorskip("transformers", reason="a model is one of transformers")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("model"), n_positions=2048)


def test_probabilities_are_those_of_the_library(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    transformers: Any = importlib.import_module("transformers")
    tokenizer = tokenizers.load(f"file:{model / 'tokenizer.json'}")
    assert isinstance(tokenizer, HasVocabulary)
    vocabulary = tokenizer.vocabulary()
    wanted = [5, 70, 258, 260]
    ours = largest_probabilities(load(str(model), "cpu", "float32"), tokenizer, vocabulary, wanted)
    network = transformers.AutoModelForCausalLM.from_pretrained(model).eval()
    expected = np.zeros(len(wanted))
    for ids, holes in verification._built(tokenizer, vocabulary, None):
        for place, token in enumerate(wanted):
            prompt = torch.from_numpy(np.where(holes, token, ids))[None]
            with torch.no_grad():
                written = network.generate(
                    prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=STEPS, min_new_tokens=STEPS,
                    do_sample=False, output_logits=True, return_dict_in_generate=True, pad_token_id=0, eos_token_id=-1,
                )  # fmt: skip
            chances = [float(torch.softmax(one[0], -1)[token]) for one in written.logits]
            expected[place] = max(expected[place], *chances)
    np.testing.assert_allclose(ours, expected, rtol=1e-4)
    monkeypatch.setattr(verification, "LOGITS_AT_ONCE", 1)
    one_by_one = largest_probabilities(load(str(model), "cpu", "float32"), tokenizer, vocabulary, wanted)
    np.testing.assert_allclose(one_by_one, ours, rtol=1e-4)


def test_prompts_hold_the_token_as_often_as_they_say(model: Path) -> None:
    tokenizer = tokenizers.load(f"file:{model / 'tokenizer.json'}")
    assert isinstance(tokenizer, HasVocabulary)
    built = list(verification._built(tokenizer, tokenizer.vocabulary(), None))
    assert [int(holes.sum()) for _, holes in built] == [prompt.uses(prompt.shots) for prompt in PROMPTS]
    for (ids, holes), prompt in zip(built, PROMPTS, strict=True):
        word = tokenizer.vocabulary()[int(ids[holes][0])].decode()
        assert tokenizer.decode(ids.astype(np.uint32)).decode() == prompt.text(word, prompt.shots)


def test_a_short_model_gets_fewer_shots_and_a_shorter_one_is_refused(model: Path) -> None:
    tokenizer = tokenizers.load(f"file:{model / 'tokenizer.json'}")
    assert isinstance(tokenizer, HasVocabulary)
    built = list(verification._built(tokenizer, tokenizer.vocabulary(), 120))
    assert all(len(ids) + STEPS <= 120 for ids, _ in built)
    with pytest.raises(InputError, match="verify"):
        list(verification._built(tokenizer, tokenizer.vocabulary(), 16))


def test_a_run_asks_the_model_about_what_text_gives(tmp_path: Path) -> None:
    numpy_files: Any = importlib.import_module("safetensors.numpy")
    folder = build(tmp_path / "m", n_positions=2048)
    tensors = numpy_files.load_file(folder / "model.safetensors")
    rows = tensors["transformer.wte.weight"]
    rows[[5, 258, *range(10, 20)]] = rows[0] + 0.01 * rows[[5, 258, *range(10, 20)]]
    numpy_files.save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    done = call(
        "run", "-t", "file:m/tokenizer.json", "-b", "glitch?unused=10-19&verify=2", "-o", "r.json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "r.json").read_text())["results"][0]
    assert result["status"] == "ok", result
    assert result["details"]["tied"]
    numbers = {one["metric"]: one["value"] for one in result["measurements"] if one.get("part") is None}
    asked = [one for one in result["details"]["candidates"] if one["probability"] is not None]
    assert (numbers["glitch_asked"], len(asked)) == (2, 2)
    assert numbers["glitch_verified"] == sum(one["probability"] < 0.01 for one in asked)
    assert {5, 258} <= {one["id"] for one in result["details"]["candidates"]}
