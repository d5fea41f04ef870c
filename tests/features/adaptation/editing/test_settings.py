"""Files that go with an edited tokenizer file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness.features.adaptation.editing.settings import edited_settings, known_by_digest, read_settings
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.types import InputError
from pyharness.vocabularies.encodings import KNOWN_FILES

SAME = IdMap(np.arange(20), 20)
DOWN = IdMap(np.array([*range(5), -1, -1, *range(5, 18)]), 18)  # 5 and 6 are removed
REUSED = IdMap(np.array([*range(12), -1, *range(13, 20)]), 20)  # 12 is used again


def flagged(content: str) -> dict[str, Any]:
    return {"content": content, "lstrip": False, "special": True}


CONFIG = {
    "added_tokens_decoder": {"0": flagged("<s>"), "12": flagged("<|reserved_0|>"), "13": flagged("<|end|>")},
    "additional_special_tokens": ["<|end|>", "<|reserved_0|>"],
    "bos_token": "<s>",
    "chat_template": "{{ bos_token }}<|end|>",
    "model_max_length": 1000000000000000019884624838656,
    "image_token_id": 13,
    "tokenizer_class": "PreTrainedTokenizerFast",
}
MAP = {"bos_token": flagged("<s>"), "additional_special_tokens": [flagged("<|reserved_0|>")]}
GENERATION = {
    "bos_token_id": 0,
    "eos_token_id": [13, 14],
    "pad_token_id": None,
    "suppress_tokens": [7, 8],
    "bad_words_ids": [[9], [10, 11]],
    "lang_to_id": {"<|et|>": 15},
    "temperature": 0.60,
    "max_length": 13,
    "assistant": {"decoder_start_token_id": 16},
}


def written(folder: Path, files: Mapping[str, Any]) -> Path:
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content, indent=2)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "tokenizer.json").write_text("{}")
    return folder / "tokenizer.json"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(
        tmp_path,
        {
            "tokenizer_config.json": json.dumps(CONFIG, indent=2).replace("1000000000000000019884624838656", "1e30"),
            "special_tokens_map.json": MAP,
            "generation_config.json": json.dumps(GENERATION).replace("0.6", "0.60"),
            "added_tokens.json": {"<|reserved_0|>": 12, "<|end|>": 13},
            "chat_template.jinja": "{% for m in messages %}<|end|>{% endfor %}\n",
            "merges.txt": "#version",
            "vocab.json": "{}",
            "config.json": "{}",
        },
    )


def test_where_no_id_moves_bytes_stay(file: Path) -> None:
    settings = read_settings(file, SAME, range(20, 30))
    assert settings.files == {
        path.name: path.read_bytes()
        for path in file.parent.iterdir()
        if path.name not in ("tokenizer.json", "merges.txt", "vocab.json", "config.json")
    }
    assert settings.left_out == ("merges.txt", "vocab.json")


def test_ids_move_and_nothing_else(file: Path) -> None:
    files = read_settings(file, DOWN, ()).files
    text = (file.parent / "tokenizer_config.json").read_text()
    expected = (
        text.replace('"12"', '"10"').replace('"13"', '"11"').replace('"image_token_id": 13', '"image_token_id": 11')
    )
    assert files["tokenizer_config.json"].decode() == expected
    assert json.loads(files["generation_config.json"]) == GENERATION | {
        "eos_token_id": [11, 12], "suppress_tokens": [5, 6], "bad_words_ids": [[7], [8, 9]],
        "lang_to_id": {"<|et|>": 13}, "assistant": {"decoder_start_token_id": 14},
    }  # fmt: skip
    assert b"0.60" in files["generation_config.json"]
    assert json.loads(files["added_tokens.json"]) == {"<|reserved_0|>": 10, "<|end|>": 11}
    for name in ("special_tokens_map.json", "chat_template.jinja"):
        assert files[name] == (file.parent / name).read_bytes()


def test_a_token_whose_id_is_used_again_leaves_all_lists(file: Path) -> None:
    files = read_settings(file, REUSED, [12, 20]).files
    config = json.loads(files["tokenizer_config.json"])
    assert list(config["added_tokens_decoder"]) == ["0", "13"]
    assert config["additional_special_tokens"] == ["<|end|>"]
    assert json.loads(files["special_tokens_map.json"]) == MAP | {"additional_special_tokens": []}
    assert json.loads(files["added_tokens.json"]) == {"<|end|>": 13}
    assert b"reserved" not in b"".join(files.values())


def test_a_key_is_replaced_however_it_is_written(tmp_path: Path) -> None:
    text = '{"added_tokens_decoder": {"\\u0031\\u0032" : {"content": "<x>"}, "1\\u0033":{"content": "\\u003cy>"}}}'
    path = written(tmp_path, {"tokenizer_config.json": text})
    expected = text.replace(r'"\u0031\u0032"', '"10"').replace(r'"1\u0033"', '"11"')
    assert read_settings(path, DOWN, ()).files["tokenizer_config.json"].decode() == expected


def decoder(key: str) -> dict[str, Any]:
    return {"tokenizer_config.json": {"added_tokens_decoder": {key: {"content": "<x>"}}}}


REFUSED: Mapping[str, tuple[Mapping[str, Any], IdMap, str]] = {
    "a template": ({"chat_template.jinja": "<|reserved_0|>"}, REUSED, r"chat_template\.jinja: .*'<.reserved_0.>'"),
    "a template within": (
        {"tokenizer_config.json": CONFIG | {"chat_template": "<|reserved_0|>"}},
        REUSED,
        "template needs",
    ),
    "a template with a name": (
        {"tokenizer_config.json": CONFIG | {"chat_template": [{"name": "tools", "template": "<|reserved_0|>"}]}},
        REUSED,
        "template needs",
    ),
    "a role in a list": ({"special_tokens_map.json": {"a": [{"eos_token": "<|reserved_0|>"}]}}, REUSED, "eos_token is"),
    "a role": ({"special_tokens_map.json": {"eos_token": "<|reserved_0|>"}}, REUSED, "eos_token is '<.reserved_0.>'"),
    "a role's object": ({"special_tokens_map.json": {"eos_token": flagged("<|reserved_0|>")}}, REUSED, "content is"),
    "an id": ({"generation_config.json": {"eos_token_id": 12}}, REUSED, "has id 12 in eos_token_id"),
    "a removed id": ({"generation_config.json": {"eos_token_id": [1, 5]}}, DOWN, "eos_token_id has id 5"),
    "ids beside numbers": (
        {"generation_config.json": {"forced_decoder_ids": [[1, 3]]}},
        DOWN,
        "forced_decoder_ids, whose ids look",
    ),
    "an id of another file": (
        {"tokenizer_config.json": {"added_tokens_decoder": {"20": {}}}},
        SAME,
        r"tokenizer_config\.json .*\bid 20\b",
    ),
    "an id that the file has not": ({"added_tokens.json": {"<x>": 33}}, DOWN, r"added_tokens\.json .*\bid 33\b"),
    "digits that are not ASCII": (decoder("٧"), DOWN, "key '٧' .*added_tokens_decoder"),
    "a sign": (decoder("+7"), DOWN, r"key '\+7' .*added_tokens_decoder"),
    "thousands of digits": (decoder("9" * 5000), DOWN, "'99999999999999999999' .*added_tokens_decoder"),
    "two keys of one id": (
        {"tokenizer_config.json": {"added_tokens_decoder": {"12": {}, "012": {}}}},
        DOWN,
        "edited: key '10' occurs",
    ),
    "too deep": ({"tokenizer_config.json": '{"a":' * 900 + "1" + "}" * 900}, SAME, "nested too deeply"),
    "no JSON": ({"generation_config.json": "{"}, SAME, r"generation_config\.json .*valid JSON"),
}


@pytest.mark.parametrize(("files", "ids", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(file: Path, files: Mapping[str, Any], ids: IdMap, why: str) -> None:
    written(file.parent, files)
    with pytest.raises(InputError, match=why):
        read_settings(file, ids, [12, 20] if ids is not DOWN else [])


def test_a_list_may_hold_anything(tmp_path: Path) -> None:
    config = CONFIG | {"additional_special_tokens": [["<|reserved_0|>"], {"content": []}, "<|reserved_0|>", 12]}
    path = written(tmp_path, {"tokenizer_config.json": config})
    edited = json.loads(read_settings(path, REUSED, [12, 20]).files["tokenizer_config.json"])
    assert edited["additional_special_tokens"] == [["<|reserved_0|>"], {"content": []}, 12]


def test_added_tokens_that_stay_move_when_others_go(tmp_path: Path) -> None:
    path = written(tmp_path, {"added_tokens.json": '{"a": 4,  "b": 5,\n "c": 13, "d": "x"}'})
    assert read_settings(path, DOWN, ()).files["added_tokens.json"] == b'{"a": 4,\n "c": 11, "d": "x"}'


def test_objects_of_other_vocabularies_stay() -> None:
    config = {"eos_token_id": 13, "text_config": {"eos_token_id": 14}, "vision_config": {"a": {"eos_token_id": 5}}}
    data = json.dumps(config).encode()
    edited = edited_settings({"config.json": data}, DOWN, (), others={"vision_config"})["config.json"]
    assert edited == data.replace(b"13", b"11").replace(b"14", b"12")
    with pytest.raises(InputError, match=r"eos_token_id has id 5\b"):
        edited_settings({"config.json": data}, DOWN, ())


def test_a_list_of_ambiguous_ids_that_is_empty(tmp_path: Path) -> None:
    path = written(tmp_path, {"generation_config.json": {"forced_decoder_ids": [], "sequence_bias": None}})
    assert b'"forced_decoder_ids": []' in read_settings(path, DOWN, ()).files["generation_config.json"]


def test_what_will_not_know_the_file() -> None:
    assert "checks cl100k_base by" in str(known_by_digest("rank_file", KNOWN_FILES["cl100k_base"].digest))
    assert "checks its encodings by" in str(known_by_digest("rank_file", "0"))
    assert "hf_to_gguf" in str(known_by_digest("huggingface", "0"))
    assert known_by_digest("tekken", "0") is None
