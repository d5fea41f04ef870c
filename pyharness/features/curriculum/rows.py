"""Vocabularies that grew in rounds (``trained:curriculum``): what loads their files."""

from __future__ import annotations

from collections.abc import Mapping

from pyharness.features.curriculum import model
from pyharness.features.curriculum.tokenizer import CurriculumTokenizer
from pyharness.tokenizers.source import Loader, VocabularyFile
from pyharness.types import Tokenizer


def load(file: VocabularyFile, options: Mapping[str, str]) -> Tokenizer:
    """Load a file.

    Raises:
        InputError: it is cut off, altered, or contradicts itself.
    """
    del options
    return CurriculumTokenizer(model.load_bytes(file.fetch(), file.label))


LOADERS = (Loader("curriculum", "pyharness", load),)
