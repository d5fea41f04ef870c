"""The stages before the model as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from pyharness.vocabularies.huggingface.file import AddedToken
from pyharness.vocabularies.patterns.syntax import Dialect

ModelKind: TypeAlias = Literal["bpe", "unigram", "wordpiece", "other"]


@dataclass(frozen=True, slots=True)
class SplitStep:
    """One step of a pre-tokenizer: it cuts where the matches of an expression start and end.

    ``inserted`` are characters of the model's text that this step may not have seen, as later ones put them in.
    """

    expression: str
    dialect: Dialect
    keeps_matches: bool = True
    keeps_gaps: bool = True
    inserted: str = ""


@dataclass(frozen=True, slots=True)
class TokenForm:
    """How a token stands in the text that the pre-tokenizer gets.

    ``starts``: True only at the start of a piece, False only behind it, None either. ``goes_on``: never at its end.
    """

    text: str
    starts: bool | None = None
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Stages:
    """Everything that stands between a text and the model.

    ``normalizer`` has steps as tokenizer.json writes them, and is None where it is something else. ``added`` are looked
    for before it, or with ``normalized`` after it; special ones are found and taken for text. ``forms`` gives every
    form that a token can have, and none where that is not known. ``inserted``: characters that the splits may put in.
    ``spelled_once`` says whether a token of a BPE model can be merged from nothing but its own characters.
    """

    normalize: Callable[[str], str]  # the normaliser alone
    normalizer: Sequence[Mapping[str, Any]] | None
    splits: Sequence[SplitStep]
    added: Sequence[AddedToken]
    forms: Callable[[int], Sequence[TokenForm]]
    model: ModelKind
    whole_pieces: bool = False  # a piece that is a token is that token, whatever the model says
    inserted: str = ""
    spelled_once: Callable[[int], bool] = lambda _: True
    scores: Sequence[float] | None = None  # of a Unigram model that adds them up in 64 bits


@runtime_checkable
class HasStages(Protocol):
    """Ability: the stages before the model, each by itself."""

    def stages(self) -> Stages:
        """Return them."""
        ...
