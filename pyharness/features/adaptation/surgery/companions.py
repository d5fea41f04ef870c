"""Files that go with adapted weights: those of the new tokenizer, and what the model's folder says beside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyharness.features.adaptation.editing.settings import SETTINGS, edited_settings
from pyharness.features.adaptation.surgery.plan import EmbeddingPlan
from pyharness.language_models.folder import ModelFolder
from pyharness.language_models.own_files import copied, own
from pyharness.types import Streamed
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.vocabulary_file import Kind

VOCABULARIES = (
    "tokenizer.json", "tokenizer.model", "tekken.json", "model.json", "*.tiktoken", "vocab.json", "merges.txt",
    "vocab.txt",
)  # fmt: skip
_USUAL: Mapping[Kind, str] = {  # where transformers looks for a file of this kind
    "huggingface": "tokenizer.json",
    "sentencepiece": "tokenizer.model",
    "tekken": "tekken.json",
}
_KEPT = ("LICENSE*", "NOTICE*", "USE_POLICY*", "*processor_config.json")


def kept_files(folder: ModelFolder) -> dict[str, Streamed]:
    """Return licences and the settings of other inputs than text, by name.

    Raises:
        InputError: one is a link out of the folder, or too large.
    """
    found = {path for pattern in _KEPT for path in folder.path.glob(pattern) if path.is_file()}
    return {path.name: copied(path) for path in sorted(found) if path.stat().st_size}


def tokenizer_files(tokenizer: Path, folder: ModelFolder, plan: EmbeddingPlan) -> dict[str, bytes]:
    """Return the files of the new tokenizer, by name: a file under its usual one, or those of a folder.

    Settings that do not come with it are the model's own, with the ids that they have now.

    Raises:
        InputError: one cannot be read, is a link out of its folder, or needs a token that is gone.
    """
    if tokenizer.is_dir():
        found = [path for pattern in (*VOCABULARIES, *SETTINGS) for path in sorted(tokenizer.glob(pattern))]
        files = {path.name: vocabulary_file.read(own(path)) for path in found}
    else:
        data = vocabulary_file.read(tokenizer)
        files = {_USUAL.get(vocabulary_file.detect(data, str(tokenizer)), tokenizer.name): data}
    beside = {name: folder.path / name for name in SETTINGS if name not in files}
    settings = {name: vocabulary_file.read(own(path)) for name, path in beside.items() if path.is_file()}
    return files | edited_settings(settings, plan.ids, plan.added)
