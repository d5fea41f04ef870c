"""The base tokenizer of the study, and its extension for a language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from pyharness import bpe, tokenizers
from pyharness.features.training import trainers
from pyharness.features.training.trainers import TrainingRequest
from pyharness.features.training.trainers.declarations import BpeOptions
from pyharness.system import atomic_file
from pyharness.types import HasVocabulary, InputError, Tokenizer, TokenKind

BEGINNING = "<|endoftext|>"
NAME: Final = "tokenizer.json"


def train_base(texts: Sequence[str], size: int, path: Path) -> None:
    """Train a tokenizer with the settings of GPT-2 and write its file."""
    request = TrainingRequest(
        texts=lambda: texts, options=BpeOptions(vocab_size=size, pattern="gpt2", special=(BEGINNING,))
    )
    model = trainers.train("bpe", request).model
    assert model is not None  # of our own trainer
    _write(path, bpe.export_model(model, NAME))


def extend(base: Path, texts: Sequence[str], tokens: int, path: Path) -> None:
    """Go on training a tokenizer.json and write the new one."""
    request = TrainingRequest(
        texts=lambda: texts, options=trainers.options_of("continued-bpe", base=str(base), tokens=tokens)
    )
    files = trainers.train("continued-bpe", request).files
    if NAME not in files:
        raise InputError(f"the study needs a base that is a {NAME}, and {base} is none")
    _write(path, files[NAME])


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_file.write(path, content, overwrite=True)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A tokenizer as a model needs it."""

    path: Path
    tokenizer: Tokenizer
    ids: int
    beginning: int  # id of the token that each document follows

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Load a tokenizer.json.

        Raises:
            InputError: it is none, or has no token for the beginning of a document.
        """
        tokenizer = tokenizers.load(f"native+file:{path}")
        assert isinstance(tokenizer, HasVocabulary)
        vocabulary = tokenizer.vocabulary()
        special = np.flatnonzero(vocabulary.kinds == TokenKind.SPECIAL).tolist()
        named = [token for token in special if vocabulary[token] == BEGINNING.encode()]
        if not named:
            raise InputError(f"{path} has no special token {BEGINNING!r}, which documents begin with")
        return cls(path, tokenizer, tokenizer.id_limit, named[0])

    def stream(self, texts: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """All texts one after the other, int64 [tokens]; each begins with its token, and one more is at the end."""
        tokens = self.tokenizer.encode_batch(texts)
        starts = np.asarray(tokens.offsets, np.int64)
        return np.insert(tokens.ids.astype(np.int64), starts, self.beginning)
