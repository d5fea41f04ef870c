"""A tokenizer that learns new tokens: continued BPE, and naive extension to compare it with."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyharness.bpe.model.model import BpeModel
from pyharness.trainers import TrainedTokenizer, TrainerSpec, TrainingRequest
from pyharness.trainers.adapting.adapted import Adapted, trained
from pyharness.trainers.adapting.base_file import BaseFile, located
from pyharness.trainers.adapting.growth import Learnt, compiled, learn, rules_by_string
from pyharness.trainers.adapting.learnt_classes import classes
from pyharness.trainers.adapting.places import Places
from pyharness.trainers.feeding import Feed
from pyharness.types import Extension, IdMap, InputError
from pyharness.vocabularies.editing.files import extend_file


def train_continued(request: TrainingRequest) -> TrainedTokenizer:
    """Go on training the base of a request.

    Raises:
        InputError: the base cannot be extended, or the corpus will not do.
    """
    return _train(CONTINUED, request)


def train_naive(request: TrainingRequest) -> TrainedTokenizer:
    """Give the base strings of a training of its own.

    Raises:
        InputError: as :func:`train_continued`.
    """
    return _train(NAIVE, request)


def _train(name: str, request: TrainingRequest) -> TrainedTokenizer:
    feed = Feed(request)
    with feed.phases.timed("reading the base"):
        base = BaseFile.read(request.base or "")
        places = Places.of(base, request.reuse)
    tokens = places.tokens(request.tokens or 0, request.multiple_of)
    learnt = learn(feed, base, places, tokens, naive=name == NAIVE)
    with feed.phases.timed("writing"):
        adapted = extended(base, places, learnt.extension.first(tokens), tokens, details(request, learnt))
    return trained(name, feed, adapted, learnt.as_arrays())


def extended(base: BaseFile, places: Places, extension: Extension, tokens: int, said: dict[str, Any]) -> Adapted:
    """Write an extension into the file of its base.

    Raises:
        InputError: there is nothing to write, or the file cannot have it.
    """
    if not extension.tokens:
        raise InputError(
            "the corpus has nothing to add: no pair of tokens that a rule may join occurs often enough; give more "
            "text, or lower min_frequency"
        )
    placement = places.place(len(extension.tokens))
    ids = placement.ids.tolist()
    rules = rules_by_string(base.model, extension)
    data = extend_file(base.data, list(zip(ids, extension.tokens, strict=True)), rules, base.label)
    reused = {token: places.reserved[token] for token in ids if token in places.reserved}
    special = base.special and {content: token for content, token in base.special.items() if token not in reused}
    size = base.model.id_limit
    return Adapted(
        base=base,
        file=base.edited(data, special),
        ids=IdMap(np.arange(size, dtype=np.int64), placement.size),
        added=placement.ids,
        strings=extension.tokens,
        complete=extension.complete,
        notes=_notes(extension, tokens, said["whole_pieces"]),
        details={**said, **_learnt(base.model, extension), "reused": {str(k): text for k, text in reused.items()}},
    )


def details(request: TrainingRequest, learnt: Learnt) -> dict[str, Any]:
    """What was asked for, and the text."""
    asked = {name: getattr(request, name) for name in sorted(EXTENDING) if name not in ("share", "scripts")}
    return {"asked": asked, **learnt.read, "whole_pieces": request.whole_pieces}


def _learnt(model: BpeModel, extension: Extension) -> dict[str, Any]:
    made = extension.rules[:, 2] >= extension.base_ids
    return {
        "rules": len(extension.rules),
        "rules_for_strings_of_the_base": int((~made).sum()),
        "last_count": int(extension.counts[-1]) if len(extension.counts) else None,
        "whole_piece_lookup": model.whole_pieces,
        "learnt": classes(extension.tokens),
    }


def _notes(extension: Extension, tokens: int, whole_pieces: bool | None) -> tuple[str, ...]:
    notes = []
    if len(extension.tokens) < tokens:
        notes.append(
            f"stopped after {len(extension.tokens):,} of {tokens:,} tokens: no pair that may be joined occurs often "
            "enough any more"
        )
    if whole_pieces is not None:
        said = "not merged" if whole_pieces else "merged all the same"
        notes.append(f"while learning, pieces that are tokens of the base were {said}, whatever the base does")
    return tuple(notes)


def refuse(request: TrainingRequest) -> None:
    """Refuse what no text can mend.

    Raises:
        InputError: the file of the base is not there, a number is missing, or an expression is none.
    """
    located(request.base or "")
    compiled("deny", request.deny)
    compiled("reuse", request.reuse)
    if request.tokens is None:
        raise InputError("say how many tokens the base gains: tokens=8192")
    if request.vocab_size:
        raise InputError("an extension is as large as its base and what it gains: give tokens=, and no vocab_size=")


CONTINUED, NAIVE = "continued-bpe", "naive-extension"
EXTENDING = frozenset({
    "base", "tokens", "reuse", "multiple_of", "deny", "balance", "whole_pieces", "cascade", "min_frequency",
    "max_token_length", "max_token_characters", "tie_rule",
})  # fmt: skip
TRAINERS = (
    TrainerSpec(
        name=CONTINUED,
        train=train_continued,
        summary="continued BPE (arXiv 2512.03989): the training of base= goes on; tokens= new ones",
        algorithm="bpe",
        library="pyharness",
        patterns=(),
        options=EXTENDING,
        adapts=True,
        sizes=frozenset({"tokens"}),
        refuse=refuse,
    ),
    TrainerSpec(
        name=NAIVE,
        train=train_naive,
        summary="naive extension: base= gains tokens= strings of a training of its own, to compare with continued-bpe",
        algorithm="bpe",
        library="pyharness",
        patterns=(),
        options=EXTENDING | {"auxiliary_size"},
        adapts=True,
        sizes=frozenset({"tokens"}),
        refuse=refuse,
    ),
)
