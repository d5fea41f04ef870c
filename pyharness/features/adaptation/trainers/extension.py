"""Trainers that add tokens: continued BPE, and naive extension for comparison."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from pyharness.bpe.model.model import BpeModel
from pyharness.features.adaptation.bpe.coverage import ADVISED, MissingCharacters, read_as
from pyharness.features.adaptation.bpe.edited_file import Put, put
from pyharness.features.adaptation.bpe.extension import Extension
from pyharness.features.adaptation.bpe.placement import place, reserved
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.features.adaptation.trainers.adapted import Adapted, BaseFile, texts_of, trained
from pyharness.features.adaptation.trainers.declarations import (
    CONTINUED,
    NAIVE,
    AdaptingOptions,
    ExtensionOptions,
    NaiveOptions,
)
from pyharness.features.adaptation.trainers.growth import Learnt, learn
from pyharness.features.training.trainers import TrainedTokenizer, TrainingRequest
from pyharness.features.training.trainers.feeding import Feed
from pyharness.features.training.trainers.options import declared
from pyharness.types import InputError
from pyharness.vocabularies.patterns.code_points import script_of

# Kinds of learnt strings.
_JAPANESE = frozenset({"Han", "Hiragana", "Katakana"})
EXAMPLES = 5


def classes(strings: Iterable[bytes]) -> dict[str, dict[str, object]]:
    """Count strings by class, most frequent first, with the first examples of each.

    >>> {name: found["tokens"] for name, found in classes([b" kas", "да".encode(), b"----", b"\\xe4"]).items()}
    {'Latin': 1, 'Cyrillic': 1, 'runs of punctuation': 1, 'part of a character': 1}
    """
    counts: Counter[str] = Counter()
    examples: dict[str, list[str]] = {}
    for string in strings:
        name = class_of(string)
        counts[name] += 1
        if len(shown := examples.setdefault(name, [])) < EXAMPLES:
            shown.append(string.decode(errors="backslashreplace"))
    return {name: {"tokens": count, "examples": examples[name]} for name, count in counts.most_common()}


def class_of(string: bytes) -> str:
    """Return the class of a string.

    >>> class_of("naïve".encode()), class_of("кaт".encode()), class_of(b" 12"), class_of(b"  ")
    ('Latin', 'mixed scripts', 'digits', 'white space')
    """
    try:
        text = string.decode().replace("▁", " ")
    except UnicodeDecodeError:
        return "part of a character"
    if "\ufffd" in text or any(unicodedata.category(character) == "Co" for character in text):
        return "U+FFFD and private use"
    if not text.strip():
        return "white space"
    scripts = {script_of(character) for character in text if unicodedata.category(character)[0] in "LM"} - {""}
    if len(scripts) > 1:
        return "Han and kana" if scripts <= _JAPANESE else "mixed scripts"
    if scripts:
        return next(iter(scripts))
    if any(unicodedata.category(character)[0] == "N" for character in text):
        return "digits"
    return "runs of punctuation" if len(text.strip()) > 1 else "punctuation"


def train_continued(request: TrainingRequest[ExtensionOptions]) -> TrainedTokenizer:
    """Continue the training of a request's base.

    Raises:
        InputError: the base cannot be extended, or the corpus is unusable.
    """
    return _train(CONTINUED, request)


def train_naive(request: TrainingRequest[NaiveOptions]) -> TrainedTokenizer:
    """Add strings of a separate training to the base.

    Raises:
        InputError: as :func:`train_continued`.
    """
    return _train(NAIVE, request)


def _train(name: str, request: TrainingRequest[ExtensionOptions]) -> TrainedTokenizer:
    options, feed = request.options, Feed(request)
    with feed.phases.timed("reading the base"):
        base = BaseFile.read(options.base)
        gone = reserved(base.model, options.reuse)
        place(base.model, 0, multiple_of=options.multiple_of)
    learnt = learn(feed, base, options.tokens or 0, naive=name == NAIVE)
    with feed.phases.timed("writing"):
        adapted = _extend(base, learnt, gone, options, reachable=name == CONTINUED and options.cascade)
    return trained(name, feed, adapted, learnt.as_arrays())


def _extend(
    base: BaseFile, learnt: Learnt, gone: Mapping[int, str], options: ExtensionOptions, *, reachable: bool
) -> Adapted:
    model = base.model
    extension, edited = put_in(base, learnt, options, reachable=reachable)
    reused = {str(token): gone[token] for token in edited.placement.ids.tolist() if token in gone}
    return Adapted(
        base=base,
        data=edited.data,
        model=edited.model,
        ids=IdMap(np.arange(model.id_limit, dtype=np.int64), edited.placement.size),
        added=edited.placement.ids,
        complete=extension.complete,
        notes=notes_of(options, model, learnt, extension),
        details={**asked(options, ExtensionOptions), **said_of(model, learnt, extension), "reused": reused},
    )


def put_in(base: BaseFile, learnt: Learnt, options: AdaptingOptions, *, reachable: bool) -> tuple[Extension, Put]:
    """Put the requested number of learnt tokens into the file.

    Raises:
        InputError: the corpus yields no new token, or the file cannot be edited so.
    """
    extension = learnt.extension.first(options.tokens or 0)
    if not extension.tokens:
        raise InputError(
            "the corpus has nothing to add: no pair of tokens that a rule may join occurs often enough; give more "
            "text, or lower min_frequency"
        )
    edited = put(
        base.data, base.model, extension, base.label, texts_of(extension.tokens), multiple_of=options.multiple_of,
        reuse=getattr(options, "reuse", None), reachable=reachable,
    )  # fmt: skip
    return extension, edited


def asked(options: AdaptingOptions, shared: type[AdaptingOptions]) -> dict[str, Any]:
    """Return the options that adaptations of a kind share, given or default, without ``vocab_size``."""
    return {"asked": {name: getattr(options, name) for name in sorted(declared(shared)) if name != "vocab_size"}}


def said_of(model: BpeModel, learnt: Learnt, extension: Extension) -> dict[str, Any]:
    """Describe an extension as JSON values."""
    spelled = _count_spelled(learnt.missing, extension)
    merging = extension.rules[:, 2] >= extension.base_ids
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
        "rules_for_strings_of_the_base": int(np.count_nonzero(~merging)),
        "last_count": int(extension.counts[-1]) if len(extension.counts) else None,
        "whole_piece_lookup": model.whole_pieces,
        "learnt": classes(extension.tokens),
    }


def notes_of(options: AdaptingOptions, model: BpeModel, learnt: Learnt, extension: Extension) -> tuple[str, ...]:
    """Return facts about an extension that its reader needs."""
    tokens, whole_pieces = options.tokens or 0, options.whole_pieces
    notes: list[str] = []
    spelled = _count_spelled(learnt.missing, extension)
    if options.character_coverage is None or spelled < len(learnt.missing.first):
        notes += _note_unspelled(model, learnt.missing, spelled)
    if len(extension.tokens) < tokens:
        notes.append(
            f"stopped after {len(extension.tokens):,} of {tokens:,} tokens: no pair that may be joined occurs often "
            "enough any more"
        )
    if whole_pieces is not None:
        treatment = "not merged" if whole_pieces else "merged all the same"
        notes.append(f"while learning, pieces that are tokens of the base were {treatment}, whatever the base does")
    return tuple(notes)


def _count_spelled(missing: MissingCharacters, extension: Extension) -> int:
    """Count the characters that got a token: they precede all merged strings."""
    return min(len(missing.first), len(extension.tokens))


def _note_unspelled(model: BpeModel, missing: MissingCharacters, spelled: int) -> Iterator[str]:
    """Say how many characters have no token, and which option gives them one."""
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
