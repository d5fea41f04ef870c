"""Published files, extended and pruned: only what is meant changes, and their libraries read them as we do."""

from __future__ import annotations

import json
import lzma
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adapted.edited_files import changed_keys, extension_of, made_up, texts_of, without_leaves
from pyharness.bpe import BpeModel, import_model
from pyharness.features.adaptation.bpe.edited_file import check_extended, check_pruned
from pyharness.features.adaptation.bpe.placement import place
from pyharness.features.adaptation.editing.files import extend_file, prune_file
from pyharness.features.adaptation.editing.settings import read_settings
from pyharness.features.adaptation.id_maps import IdMap

pytestmark = pytest.mark.data
FILES = [
    *(f"{name}/tokenizer.json" for name in ("gpt2", "deepseek_v3", "modernbert", "claude_legacy")),
    "mistral/mistral02_tokenizer.json",
    "tiktoken/cl100k_base.tiktoken",
    "tiktoken/whisper_multilingual.tiktoken",
    "mistral/tokenizer.model.v1",
    "mistral/mistral_instruct_tokenizer_240323.model.v3",
]
if "PYHARNESS_ALL_FILES" in os.environ:
    FILES += [f"{name}/tokenizer.json" for name in ("qwen2_5", "yi", "gpt_neox", "mpt")]
    FILES += [f"tiktoken/{name}.tiktoken" for name in ("r50k_base", "p50k_base", "o200k_base", "qwen")]
    FILES += ["kimi_k2/kimi_k2.tiktoken"]
LANGUAGES = ("eng_Latn", "est_Latn", "hin_Deva", "tha_Thai", "arb_Arab", "jpn_Jpan", "zho_Hans")


def lines(data: Path) -> list[str]:
    texts = []
    for language in LANGUAGES:
        with lzma.open(data / f"corpora/parallel/flores200/{language}.txt.xz", "rt", encoding="utf-8") as file:
            texts += [line.rstrip("\n") for line, _ in zip(file, range(30), strict=False)]
    return texts


def extended(model: BpeModel, data: bytes, label: str, texts: list[str]) -> bytes:
    generator = random.Random(label)
    tokens, pairs = made_up(model, 200, generator)
    extension = extension_of(model, tokens, pairs)
    edited = extend_file(data, tokens, pairs, label)
    new = texts_of(model, extension.tokens, generator)
    check_extended(edited, model, extension, place(model, 200), [*new, *texts], label, reachable=False)
    return edited


@pytest.mark.parametrize("name", FILES)
def test_a_file(data: Path, name: str) -> None:
    content = (data / "tokenizers" / name).read_bytes()
    model = import_model(data / "tokenizers" / name)
    texts = lines(data)
    edited = extended(model, content, name, texts)
    assert extend_file(content, [], [], name) == content
    ids = without_leaves(model, 0.4, random.Random(name))
    pruned = prune_file(content, ids, name)
    check_pruned(pruned, model, ids, texts, name)
    if name.endswith(".json"):
        check_keys(json.loads(content), json.loads(edited), json.loads(pruned))


def check_keys(old: dict[str, Any], longer: dict[str, Any], shorter: dict[str, Any]) -> None:
    """Only the vocabulary and the merges change, and ids where they move."""
    ids = ("added_tokens.id", "post_processor.special_tokens.", "post_processor.sep", "post_processor.cls")
    for new, others in ((longer, ()), (shorter, ids)):
        allowed = ("model.vocab.", "model.merges", *others)
        assert [key for key in changed_keys(old, new) if not key.startswith(allowed)] == []


def test_symbols_with_a_suffix_are_pruned(data: Path) -> None:
    path = data / "tokenizers/clip/tokenizer.json"
    model = import_model(path)
    ids = without_leaves(model, 0.4, random.Random(1))
    pruned = json.loads(prune_file(path.read_bytes(), ids, "clip"))
    assert pruned["post_processor"]["cls"] == ["<|startoftext|>", ids.new[49406]]
    check_pruned(prune_file(path.read_bytes(), ids, "clip"), model, ids, lines(data), "clip")


MESSAGES = [
    {"role": "user", "content": "Tere! <|padding|> What is   12345?"},
    {"role": "assistant", "content": "\n\n x"},
]
TEMPLATE = "{% for m in messages %}{{ m['role'] }}\n{{ m['content'] }}<|endoftext|>\n{% endfor %}"


def test_transformers_gives_the_ids_of_a_chat(data: Path, tmp_path: Path) -> None:
    """Of a file 23 of whose added tokens are outside the vocabulary, so that tokenizers numbers them by itself."""
    transformers = pytest.importorskip("transformers")
    content = (data / "tokenizers/gpt_neox/tokenizer.json").read_bytes()
    model = import_model(content)
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
    config = {
        "added_tokens_decoder": {str(t.id): flags | {"content": t.content, "special": t.special} for t in model.added},
        "chat_template": TEMPLATE,
        "eos_token": "<|endoftext|>",
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    old = folder_of(tmp_path / "old", {"tokenizer.json": content, "tokenizer_config.json": json.dumps(config).encode()})
    before = encoded(transformers, old)
    assert len(set(before) & {token.id for token in model.added}) == 3
    ids = without_leaves(model, 0.2, random.Random(1))
    same = IdMap(np.arange(model.id_limit), model.id_limit)
    for name, edited, where in (
        ("longer", extended(model, content, "it", []), same),
        ("shorter", prune_file(content, ids, ""), ids),
    ):
        settings = read_settings(old / "tokenizer.json", where, ())
        after = encoded(transformers, folder_of(tmp_path / name, {**settings.files, "tokenizer.json": edited}))
        added = {int(where.new[token.id]) for token in model.added}
        specials = [int(where.new[token]) for token in before if where.new[token] in added]
        assert [token for token in after if token in added] == specials
        assert after == before or name == "shorter"


def folder_of(folder: Path, files: Mapping[str, bytes]) -> Path:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def encoded(transformers: Any, folder: Path) -> list[int]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    chat = tokenizer.apply_chat_template(MESSAGES, tokenize=True)
    ids = chat["input_ids"] if hasattr(chat, "keys") else chat
    assert tokenizer.eos_token_id == tokenizer.convert_tokens_to_ids("<|endoftext|>")
    return [*map(int, ids)]
