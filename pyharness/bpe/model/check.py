"""Checks of a model's consistency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.model.model import BpeModel
from pyharness.types import InputError, MergeModel, RoundTrip, TokenKind, cut
from pyharness.vocabularies.files.byte_alphabet import BYTE_ALPHABET, NEVER_IN_UTF8
from pyharness.vocabularies.huggingface.file import flat_stages
from pyharness.vocabularies.huggingface.traits import decoder_losses, stage_losses, worst, written_twice

BIGGEST_TOKEN = 1 << 24  # bytes: the bytewise check must fit into memory
MOST_COMPARED = 1 << 30  # bytes of the results of all rules: half a minute; o200k has 1.5 million


def check_round_trip(model: BpeModel, label: str) -> None:
    """Refuse a model that claims a better round trip than its stages, symbols and added tokens allow.

    Raises:
        InputError: the model does; the message names one reason.
    """
    for possible, reason in losses(model):
        if worst([possible, model.round_trip]) != model.round_trip:
            raise InputError(f"{label}: 'round_trip' is {model.round_trip!r}, but it is {possible} at best: {reason}")


def losses(model: BpeModel) -> Iterator[tuple[RoundTrip, str]]:
    """Yield the reasons why the round trip of a model is not exact, with the class that each leaves."""
    if model.drop_space:
        yield "normalised", "a leading space is dropped"
    if model.normalizer is not None and not isinstance(model.normalizer, Mapping):
        yield "normalised", "SentencePiece normalises text"
    for name, stage in (
        ("normalizer", model.normalizer),
        ("pre_tokenizer", model.splitter),
        ("decoder", model.decoder),
    ):
        if isinstance(stage, Mapping):
            yield from stage_losses(name, flat_stages(stage))
    before = [stage for stage in (model.normalizer, model.splitter) if isinstance(stage, Mapping)]
    if written_twice([step for stage in before for step in flat_stages(stage)]):
        yield "lossy", "bytes are written as letters more than once"
    if model.decoder is not None:
        byte_level = model.symbols == "bytes" or model.in_letters
        byte_fallback = not byte_level and bool(model.fallback)
        steps = flat_stages(model.decoder) if isinstance(model.decoder, Mapping) else []
        yield from decoder_losses(steps, byte_level=byte_level, byte_fallback=byte_fallback)
    yield from _symbol_losses(model)
    yield from _find_added_losses(model)


def _symbol_losses(model: BpeModel) -> Iterator[tuple[RoundTrip, str]]:
    if model.prefix or model.suffix:
        yield "lossy", f"symbols carry {model.prefix or model.suffix!r}"
    letters = _letters(model)
    if letters and all(letters[byte] in model.alphabet for byte in range(256) if byte not in NEVER_IN_UTF8):
        return
    if not model.fallback:
        yield "lossy", f"some {model.symbols} have no symbol, and nothing to fall back on"
    elif model.expansion is None and (
        wrong := [b for b, token in enumerate(model.fallback) if token < 0 or model.vocabulary[token] != bytes([b])]
    ):
        instead = "nothing" if model.fallback[wrong[0]] < 0 else "an id that is not this byte"
        yield "lossy", f"byte 0x{wrong[0]:02X} falls back on {instead}"


def _letters(model: BpeModel) -> list[bytes]:
    """Return the model's text for each of the 256 bytes; empty if its symbols are characters of the plain text."""
    if model.symbols == "bytes":
        return [bytes([byte]) for byte in range(256)]
    return [BYTE_ALPHABET[byte].encode() for byte in range(256)] if model.in_letters else []


def _find_added_losses(model: BpeModel) -> Iterator[tuple[RoundTrip, str]]:
    for token in model.added:
        if token.special:
            continue
        if token.lstrip or token.rstrip:
            yield "normalised", f"the added token {token.content!r} takes the spaces next to it"
        if token.content.encode() != model.vocabulary[token.id]:
            yield "normalised", f"the added token {token.content!r} reads {model.vocabulary[token.id][:40]!r}"


def check_model(model: BpeModel, label: str) -> None:
    """Refuse a model that contradicts itself, and name the contradiction.

    Raises:
        InputError: an id is out of range, a token or rule occurs twice, an added token has the id of another kind of
            token, there are no base symbols, ``fallback`` has neither 0 nor 256 ids, the algorithm does not fit the
            expansion, the numbers of tokens to merge and to write differ, the round trip is worse than the model
            claims, a token is too long, or symbols have affixes that ranks ignore. Without prefix and suffix also: a
            base symbol is not the string at its id, or :func:`check_rules` refuses the rules.
    """
    _check_added(model, label)
    _check_symbols(model, label)
    if (model.algorithm == "scaffold-bpe") != (model.expansion is not None):
        raise InputError(f"{label}: {model.algorithm} with{'' if model.expansion else 'out'} scaffold tokens")
    if model.expansion is None and len(model.merges.tested) != len(model.vocabulary):
        raise InputError(f"{label}: {len(model.merges.tested)} tokens to merge, but {len(model.vocabulary)} to write")
    check_round_trip(model, label)
    lengths = np.diff(model.merges.offsets)
    if lengths.size and int(lengths.max()) > BIGGEST_TOKEN:
        raise InputError(f"{label}: token {int(lengths.argmax())} has {int(lengths.max()):,} bytes")
    _check_distinct(model.merges, label)
    if model.merges.rules is not None:
        _check_pairs(model.merges.rules, label)
    if model.prefix or model.suffix:
        if model.merges.ranks is not None:
            raise InputError(f"{label}: symbols carry {model.prefix or model.suffix!r}, which merging by ranks ignores")
        return  # affixes are part of the symbols, and not of the strings of tokens
    for symbol, token in model.alphabet.items():
        if (string := model.merges[token]) != symbol:
            raise InputError(f"{label}: the base symbol {symbol!r} has id {token}, which is {string[:40]!r}")
    if model.merges.rules is not None:
        check_rules(model.merges, model.merges.rules, label)


def _check_added(model: BpeModel, label: str) -> None:
    for token in model.added:
        if not 0 <= token.id < model.id_limit:
            raise InputError(f"{label}: added token {token.content!r} has id {token.id}, not below {model.id_limit}")
        if model.kind(token.id) not in (TokenKind.SPECIAL, TokenKind.ADDED, TokenKind.UNKNOWN):
            raise InputError(
                f"{label}: added token {token.content!r} has id {token.id}, which is neither a special, "
                "an added nor the unknown token"
            )
    for what, values in (("id", [t.id for t in model.added]), ("content", [t.content for t in model.added])):
        twice = [value for value, count in Counter(values).items() if count > 1]
        if twice:
            raise InputError(f"{label}: two added tokens have the {what} {twice[0]!r}")


def _check_symbols(model: BpeModel, label: str) -> None:
    size = len(model.merges.tested)
    fallback = [number for number in model.fallback if number != -1]
    named = [*model.alphabet.values(), *fallback, *([] if model.unknown is None else [model.unknown])]
    if any(not 0 <= number < size for number in named):
        raise InputError(f"{label}: a base symbol has an id that is not below {size}")
    if len(model.fallback) not in (0, 256):
        raise InputError(f"{label}: 'fallback' has {len(model.fallback)} ids; it is 256 or none")
    if not model.alphabet and not fallback and model.unknown is None:
        raise InputError(f"{label} has no base symbols: nothing could be encoded")


def _check_distinct(merges: MergeModel, label: str) -> None:
    """Refuse two tested tokens with one spelling and the same base symbols: they could not be distinguished."""
    base = cut(merges.base.tobytes(), merges.base_offsets * merges.base.itemsize)
    tested = merges.tested.tolist()
    if len({key for key, flag in zip(base, tested, strict=True) if flag}) == sum(tested):
        return
    seen: dict[tuple[bytes, bytes], int] = {}
    for token, key in enumerate(zip(merges.strings(), base, strict=True)):
        if tested[token] and (first := seen.setdefault(key, token)) != token:
            raise InputError(f"{label}: ids {first} and {token} are the same token {key[0][:40]!r}")


def _check_pairs(rules: NDArray[np.uint32], label: str) -> None:
    """Refuse rules that merge one pair twice: libraries differ in which of them counts."""
    pairs = rules[:, 0].astype(np.int64) << 32 | rules[:, 1]
    _, first = np.unique(pairs, return_index=True)
    if len(first) != len(rules):
        rule = int(np.setdiff1d(np.arange(len(rules)), first)[0])
        raise InputError(f"{label}: rule {rule} is the second that merges ids {rules[rule, 0]} and {rules[rule, 1]}")


def check_rules(merges: MergeModel, rules: NDArray[np.uint32], label: str) -> None:
    """Refuse rules whose result is not the string of their parts.

    Raises:
        InputError: a rule does so, has an id out of range, or the results of all rules are too long to compare.
    """
    if rules.size and int(rules.max()) >= len(merges.tested):
        raise InputError(f"{label}: a rule has id {int(rules.max())}, there are {len(merges.tested)} tokens")
    lengths = np.diff(merges.offsets)
    left, right, result = (rules[:, column].astype(np.int64) for column in range(3))
    compared = int(lengths[result].sum())
    if compared > MOST_COMPARED:
        raise InputError(f"{label}: the rules give {compared:,} bytes; a model gives at most {MOST_COMPARED:,}")
    wrong = lengths[left] + lengths[right] != lengths[result]
    if not wrong.any():
        wrong = ~_are_concatenated(merges, left, right, result)
    if wrong.any():
        rule = int(np.argmax(wrong))
        parts = [merges[token][:40] for token in rules[rule].tolist()]
        raise InputError(f"{label}: rule {rule} merges {parts[0]!r} and {parts[1]!r} into {parts[2]!r}")


def _are_concatenated(
    merges: MergeModel, left: NDArray[np.int64], right: NDArray[np.int64], result: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return whether each result is the concatenation of its parts, whose lengths add up: bool [rules]."""
    lengths = np.diff(merges.offsets)
    same = np.ones(len(result), np.bool_)
    # In blocks of bytes: a file of many rules for long tokens must not need an index of all of them at once.
    block = np.cumsum(lengths[result]) >> 22
    for start, end in pairwise([0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(result)]):
        rows = slice(start, end)
        for part, shift in ((left[rows], 0), (right[rows], lengths[left[rows]])):
            counts = lengths[part]
            inside = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
            expected = merges.data[np.repeat(merges.offsets[part], counts) + inside]
            actual = merges.data[np.repeat(merges.offsets[result[rows]] + shift, counts) + inside]
            differs = np.repeat(np.arange(start, end), counts)[expected != actual]
            same[differs] = False
    return same
