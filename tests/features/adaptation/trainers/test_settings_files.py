"""Files beside an adapted tokenizer."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from pyharness.features.adaptation.editing.settings import read_settings
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.features.adaptation.trainers.adapted import BaseFile, settings_files
from tokenizer_files import byte_level


def test_other_rank_files_are_of_other_tokenizers(tmp_path: Path) -> None:
    for name in ("mine.tiktoken", "other.tiktoken", "vocab.json"):
        (tmp_path / name).write_text("")
    same = IdMap(np.arange(263), 263)
    assert read_settings(tmp_path / "mine.tiktoken", same, ()).left_out == ("vocab.json",)
    beside = ("mine.tiktoken", "other.tiktoken", "vocab.json")
    assert read_settings(tmp_path / "tokenizer.json", same, ()).left_out == beside


def test_settings_follow_and_what_is_left_behind_is_said(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(byte_level()))
    config = {
        "added_tokens_decoder": {"261": {"content": "<|endoftext|>"}, "262": {"content": "   "}},
        "eos_token_id": 261,
    }
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [261]}')
    (tmp_path / "merges.txt").write_text("")
    base = BaseFile.read(str(tmp_path))
    same = IdMap(np.arange(263), 264)
    files, notes = settings_files(base, same, np.array([263], np.uint32))
    assert files == {
        name: (tmp_path / name).read_bytes() for name in ("tokenizer_config.json", "generation_config.json")
    }
    assert "hf_to_gguf" in notes[0]
    assert notes[1].startswith("not copied")
    assert notes[1].endswith("tokenizer.json: merges.txt")
    files, _ = settings_files(base, same, np.array([262, 263], np.uint32))  # the spaces have lost their id
    assert list(json.loads(files["tokenizer_config.json"])["added_tokens_decoder"]) == ["261"]
    down = IdMap(np.array([*range(256), -1, *range(256, 262)]), 263)
    files, _ = settings_files(base, down, np.array([262], np.uint32))
    assert json.loads(files["tokenizer_config.json"])["eos_token_id"] == 260
    assert json.loads(files["generation_config.json"]) == {"eos_token_id": [260]}
