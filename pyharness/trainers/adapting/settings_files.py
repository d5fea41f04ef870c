"""Files that lie beside a tokenizer and say how it is used: templates, special tokens, settings."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from pyharness.trainers.adapting.base_file import BaseFile
from pyharness.types import IdMap, Ids
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.json_file import parse_json

SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja", "chat_template.json")
_OTHERS = ("tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json", "merges.txt", "added_tokens.json")
_DECODER = "added_tokens_decoder"  # of tokenizer_config.json: tokens by id


def settings_files(base: BaseFile, ids: IdMap, reused: Ids) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the files to copy, by name, with the ids that tokens have now; and notes on what is left behind.

    Raises:
        InputError: one cannot be read.
    """
    folder = base.path.parent
    files = {}
    for name in SETTINGS:
        if (folder / name).is_file():
            data = vocabulary_file.read(folder / name)
            files[name] = _moved(data, ids, reused, name) if name == SETTINGS[0] else data
    stale = [name for name in _OTHERS if name != base.path.name and (folder / name).is_file()]
    if not stale:
        return files, ()
    said = f"{', '.join(stale)} beside {base.path.name} says what the base was, and is left behind"
    return files, (said,)


def _moved(data: bytes, ids: IdMap, reused: Ids, name: str) -> bytes:
    settings = parse_json(data, name)
    tokens = settings.get(_DECODER)
    if not isinstance(tokens, Mapping):
        return data
    gone = set(reused.tolist())
    kept = {}
    for key, token in tokens.items():
        place = _place(key, ids)
        if place not in gone:
            kept[place] = token
    if list(map(str, kept)) == list(tokens):
        return data
    changed = {**settings, _DECODER: {str(key): token for key, token in kept.items()}}
    return (json.dumps(changed, ensure_ascii=False, indent=2) + "\n").encode()


def _place(key: str, ids: IdMap) -> int | str:
    """Id that a key stands for now; what is no id of the base stays."""
    if not key.isdecimal() or int(key) >= len(ids):
        return key
    return int(np.asarray(ids.new)[int(key)])
