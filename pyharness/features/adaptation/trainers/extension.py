"""A tokenizer that learns new tokens: continued BPE, and naive extension to compare it with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from pyharness.bpe.model.model import BpeModel
from pyharness.features.adaptation.bpe.coverage import ADVISED, Missing, check_share, read_as
from pyharness.features.adaptation.bpe.edited_file import Put, put
from pyharness.features.adaptation.bpe.extension import Extension
from pyharness.features.adaptation.bpe.placement import compiled, place
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.features.adaptation.trainers.adapted import Adapted, texts_of, trained
from pyharness.features.adaptation.trainers.base_file import BaseFile, digest_of, located
from pyharness.features.adaptation.trainers.growth import Learnt, learn
from pyharness.features.adaptation.trainers.learnt_classes import classes
from pyharness.features.adaptation.trainers.reserved_tokens import reserved
from pyharness.trainers import TrainedTokenizer, TrainerSpec, TrainingRequest
from pyharness.trainers.feeding import Feed
from pyharness.types import InputError


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
        gone = reserved(base.model, request.reuse)
        place(base.model, 0, multiple_of=request.multiple_of)
    tokens = request.tokens or 0
    learnt = learn(feed, base, tokens, naive=name == NAIVE)
    with feed.phases.timed("writing"):
        adapted = _extended(base, learnt, gone, request, reachable=name == CONTINUED and request.cascade)
    return trained(name, feed, adapted, learnt.as_arrays())


def _extended(
    base: BaseFile, learnt: Learnt, gone: Mapping[int, str], request: TrainingRequest, *, reachable: bool
) -> Adapted:
    model = base.model
    extension, made = put_in(base, learnt, request, reachable=reachable)
    reused = {str(token): gone[token] for token in made.placement.ids.tolist() if token in gone}
    return Adapted(
        base=base,
        data=made.data,
        model=made.model,
        ids=IdMap(np.arange(model.id_limit, dtype=np.int64), made.placement.size),
        added=made.placement.ids,
        complete=extension.complete,
        notes=notes_of(request, model, learnt, extension),
        details={**asked(request, EXTENDING), **said_of(model, learnt, extension), "reused": reused},
    )


def put_in(base: BaseFile, learnt: Learnt, request: TrainingRequest, *, reachable: bool) -> tuple[Extension, Put]:
    """Put what was learnt into the file, so much of it as is asked for.

    Raises:
        InputError: the corpus has nothing that the base gains, or the file cannot be edited so.
    """
    extension = learnt.extension.first(request.tokens or 0)
    if not extension.tokens:
        raise InputError(
            "the corpus has nothing to add: no pair of tokens that a rule may join occurs often enough; give more "
            "text, or lower min_frequency"
        )
    made = put(
        base.data, base.model, extension, base.label, texts_of(extension.tokens), reuse=request.reuse,
        multiple_of=request.multiple_of, reachable=reachable,
    )  # fmt: skip
    return extension, made


def asked(request: TrainingRequest, options: Iterable[str]) -> dict[str, Any]:
    """Options as they were given, or their defaults."""
    return {"asked": {name: getattr(request, name) for name in sorted(options)}}


def said_of(model: BpeModel, learnt: Learnt, extension: Extension) -> dict[str, Any]:
    """What is said of an extension, as JSON values."""
    spelled = _spelled(learnt.missing, extension)
    made = extension.rules[:, 2] >= extension.base_ids
    return {
        **learnt.read,
        "missing_characters": {
            "distinct": len(learnt.missing.counts) - spelled,
            "share": learnt.missing.share(spelled),
            "are": read_as(model),
        },
        "rules": len(extension.rules),
        "characters": sum(len(token.decode(errors="replace")) == 1 for token in extension.tokens)
        if model.symbols == "characters"
        else 0,
        "rules_for_strings_of_the_base": int(np.count_nonzero(~made)),
        "last_count": int(extension.counts[-1]) if len(extension.counts) else None,
        "whole_piece_lookup": model.whole_pieces,
        "learnt": classes(extension.tokens),
    }


def notes_of(request: TrainingRequest, model: BpeModel, learnt: Learnt, extension: Extension) -> tuple[str, ...]:
    """Facts about an extension without which it is misread."""
    tokens, whole_pieces = request.tokens or 0, request.whole_pieces
    notes: list[str] = []
    spelled = _spelled(learnt.missing, extension)
    if request.character_coverage is None or spelled < len(learnt.missing.first):
        notes += _unspelled(model, learnt.missing, spelled)
    if len(extension.tokens) < tokens:
        notes.append(
            f"stopped after {len(extension.tokens):,} of {tokens:,} tokens: no pair that may be joined occurs often "
            "enough any more"
        )
    if whole_pieces is not None:
        said = "not merged" if whole_pieces else "merged all the same"
        notes.append(f"while learning, pieces that are tokens of the base were {said}, whatever the base does")
    return tuple(notes)


def _spelled(missing: Missing, extension: Extension) -> int:
    """Number of characters that have got a token: they come before all that is merged."""
    return min(len(missing.first), len(extension.tokens))


def _unspelled(model: BpeModel, missing: Missing, spelled: int) -> Iterator[str]:
    """Say how many characters have no token, and what gives them one."""
    if spelled == len(missing.counts):
        return
    if missing.first:
        advice = f"the coverage asks for {len(missing.first):,} characters before any other token: give more tokens"
    elif missing.advised:
        advice = f"a coverage of {ADVISED} (--coverage) first makes tokens of {missing.advised:,}"
    else:
        advice = f"they are too few for a coverage of {ADVISED} (--coverage) to make tokens of them"
    yield (
        f"{len(missing.counts) - spelled:,} characters, {100 * missing.share(spelled):.2g} % of the text's, have no "
        f"token and are {read_as(model)}: {advice}"
    )


def refuse(request: TrainingRequest) -> None:
    """Refuse what no text can mend.

    Raises:
        InputError: the file of the base is not there, a number is missing, or an expression is none.
    """
    located(request.base or "")
    compiled("deny", request.deny or "")
    compiled("reuse", request.reuse or "")
    if request.character_coverage is not None:
        check_share(request.character_coverage)
    if request.tokens is None:
        raise InputError("say how many tokens the base gains: tokens=8192")
    if request.vocab_size:
        raise InputError("an extension is as large as its base and what it gains: give tokens=, and no vocab_size=")


CONTINUED, NAIVE = "continued-bpe", "naive-extension"
LEARNING = frozenset({"deny", "min_frequency", "max_token_length", "max_token_characters", "character_coverage"})
ADAPTING = LEARNING | {"base", "tokens", "multiple_of", "balance", "whole_pieces", "cascade", "tie_rule"}
EXTENDING = ADAPTING | {"reuse"}
TRAINERS = (
    TrainerSpec(
        name=CONTINUED,
        train=train_continued,
        summary="continued BPE (arXiv 2512.03989): the training of base= goes on; tokens= new ones",
        algorithm="bpe",
        library="pyharness",
        patterns=(),
        options=EXTENDING,
        base_digest=digest_of,
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
        base_digest=digest_of,
        sizes=frozenset({"tokens"}),
        refuse=refuse,
    ),
)
