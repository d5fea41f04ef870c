"""Files that go with adapted weights: those of the new tokenizer, and what the model's folder says beside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyharness.language_models.folder import ModelFolder
from pyharness.language_models.surgery.named_ids import with_ids, written
from pyharness.language_models.surgery.plan import EmbeddingPlan
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.json_file import parse_json
from pyharness.vocabularies.files.moved_ids import id_of_key
from pyharness.vocabularies.files.vocabulary_file import Kind

VOCABULARIES = (
    "tokenizer.json", "tokenizer.model", "tekken.json", "model.json", "*.tiktoken", "vocab.json", "merges.txt",
    "vocab.txt", "added_tokens.json",
)  # fmt: skip
SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja", "chat_template.json")
_USUAL: Mapping[Kind, str] = {  # where transformers looks for a file of this kind
    "huggingface": "tokenizer.json",
    "sentencepiece": "tokenizer.model",
    "tekken": "tekken.json",
}
_DECODER = "added_tokens_decoder"  # of tokenizer_config.json: tokens by id
_KEPT = ("LICENSE*", "NOTICE*", "USE_POLICY*", "*processor_config.json")


def kept_files(folder: ModelFolder) -> dict[str, bytes]:
    """Return licences and the settings of other inputs than text, by name."""
    found = {path for pattern in _KEPT for path in folder.path.glob(pattern) if path.is_file()}
    return {path.name: path.read_bytes() for path in sorted(found) if path.stat().st_size}


def tokenizer_files(tokenizer: Path, folder: ModelFolder, plan: EmbeddingPlan) -> dict[str, bytes]:
    """Return the files of the new tokenizer, by name: a file under its usual one, or those of a folder.

    Settings that do not come with it are the model's own, with the ids that they have now.

    Raises:
        InputError: one cannot be read.
    """
    if tokenizer.is_dir():
        own = [path for pattern in (*VOCABULARIES, *SETTINGS) for path in sorted(tokenizer.glob(pattern))]
        files = {path.name: vocabulary_file.read(path) for path in own}
    else:
        data = vocabulary_file.read(tokenizer)
        files = {_USUAL.get(vocabulary_file.detect(data, str(tokenizer)), tokenizer.name): data}
    for name in SETTINGS:
        if name not in files and (folder.path / name).is_file():
            data = vocabulary_file.read(folder.path / name)
            files[name] = _moved(data, plan, name) if name == "tokenizer_config.json" else data
    return files


def _moved(data: bytes, plan: EmbeddingPlan, name: str) -> bytes:
    """Settings whose added tokens have the new ids; those that are gone are left out."""
    settings = parse_json(data, name)
    tokens = settings.get(_DECODER)
    changed: dict[str, Any] = with_ids(settings, plan, name)
    if isinstance(tokens, dict):
        where = dict(enumerate(plan.moved_to.tolist()))
        places = {key: where.get(number, -1) if (number := id_of_key(key)) is not None else -1 for key in tokens}
        changed[_DECODER] = {str(places[key]): token for key, token in tokens.items() if places[key] >= 0}
    return data if changed == settings else written(changed)
