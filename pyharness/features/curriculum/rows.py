"""Loads the files of vocabularies grown in rounds (``trained:curriculum``)."""

from __future__ import annotations

from collections.abc import Mapping

from pyharness.features.curriculum import model
from pyharness.features.curriculum.tokenizer import CurriculumTokenizer
from pyharness.tokenizers.source import Loader, VocabularyFile
from pyharness.types import Tokenizer


def load(file: VocabularyFile, options: Mapping[str, str]) -> Tokenizer:
    """Load a file.

    Raises:
        InputError: the file is truncated, altered, or contradicts itself.
    """
    del options
    return CurriculumTokenizer(model.load_bytes(file.fetch(), file.label))


LOADERS = (Loader("curriculum", "pyharness", load),)
