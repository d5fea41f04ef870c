"""A model from the members of an untrusted model file."""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.bpe.model.check import check_rules
from pyharness.bpe.model.model import Algorithm, BpeModel, Spaces, Symbols
from pyharness.bpe.training.trained_model import output_ids
from pyharness.types import DemolitionRule, Ids, InputError, MergeModel, Offsets, RoundTrip, TokenKind, Vocabulary
from pyharness.vocabularies.files.json_file import Members, byte_strings, integers, strings
from pyharness.vocabularies.files.merge_model import byte_level_model, symbol_model
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID
from pyharness.vocabularies.huggingface.file import check_stage, read_added
from pyharness.vocabularies.patterns.syntax import Dialect
from pyharness.vocabularies.sentencepiece_file import SentencePieceNormalizer

HEAD = ("version", "written_by")
WRITTEN_ELSEWHERE = ("vocabulary", "expansion", "demolition")  # in tokens and kinds, and in scaffold
KNOWN = {*HEAD, "tokens", "kinds", "scaffold", *BpeModel.__dataclass_fields__}.difference(WRITTEN_ELSEWHERE)
MOST_COMPARED = 1e9  # pairs of positions in scaffold tokens: seconds


def read_merges(members: Members, internal: Vocabulary, alphabet: Mapping[bytes, int], *, in_bytes: bool) -> MergeModel:
    """Build the merge model of the internal tokens; ``in_bytes``: every base symbol is exactly one byte.

    Raises:
        InputError: neither or both of rules and ranks, a wrong length, an id out of range, a byte without a symbol, or
            no ``base`` where symbols are not bytes.
    """
    rules, ranks = _rules(members, len(internal)), _ranks(members, len(internal))
    if (rules is None) == (ranks is None):
        raise InputError(f"{members.label} must have either 'rules' or 'ranks'")
    if "base" in members.content:
        strings, base = _symbols(members, len(internal))
        return symbol_model(strings, base, internal.kinds, rules=rules, ranks=ranks)
    if not in_bytes:
        raise InputError(f"{members.label} has no 'base', which only symbols that are bytes can do without")
    absent = np.iinfo(np.uint32).max
    byte_ids = np.array([alphabet.get(bytes([byte]), absent) for byte in range(256)], np.uint32)
    present = np.bincount(internal.data, minlength=256) > 0
    if (present & (byte_ids == absent)).any():
        raise InputError(f"{members.label}: a token has a byte that is not in the alphabet")
    return byte_level_model(internal, byte_ids, rules=rules, ranks=ranks)


def _symbols(members: Members, size: int) -> tuple[list[bytes], list[list[int]]]:
    """Return the string of every token before decoding, and its base symbols."""
    base = members.take("base", list)
    strings = byte_strings(members.take("strings", list), f"{members.label}: 'strings'")
    label = f"{members.label}: 'base'"
    if len(base) != size or len(strings) != size or not set(map(type, base)) <= {list}:
        raise InputError(f"{label} (of lists) and 'strings' must have one entry for each of the {size:,} tokens")
    integers([symbol for symbols in base for symbol in symbols], 0, size, label)
    return strings, base


def _rules(members: Members, size: int) -> NDArray[np.uint32] | None:
    if "rules" not in members.content:
        return None
    flat = members.integers("rules", 0, size)
    if len(flat) % 3:
        raise InputError(f"{members.label}: 'rules' is cut off: {len(flat)} ids are no triples")
    return flat.astype(np.uint32).reshape(-1, 3)


def _ranks(members: Members, size: int) -> Ids | None:
    if "ranks" not in members.content:
        return None
    ranks = members.integers("ranks", -1, BIGGEST_ID)
    if len(ranks) != size:
        raise InputError(f"{members.label}: {len(ranks)} ranks for {size} tokens")
    return ranks.astype(np.uint32)


def model_of_content(content: Mapping[str, Any], label: str) -> BpeModel:
    """Build the model of the members of a file; :func:`check_model` then finds members that contradict each other.

    Raises:
        InputError: a member is unknown, missing or of another type, or its values are out of range.
    """
    members = Members(content, label)
    if unknown := content.keys() - KNOWN:
        raise InputError(f"{label} has a member {min(unknown)[:40]!r}, which this version of the format does not know")
    vocabulary = _vocabulary(members)
    added = read_added(members.take("added", list), label)
    scaffold = members.take("scaffold", (dict, type(None)))
    internal, flags = (vocabulary, None) if scaffold is None else _with_scaffold(vocabulary, scaffold, label)
    alphabet = _alphabet(members, len(internal))
    affixes = members.take("prefix", str), members.take("suffix", str)
    symbols = members.choose("symbols", get_args(Symbols))
    in_bytes = symbols == "bytes" and affixes == ("", "")
    merges = read_merges(
        Members(members.take("merges", dict), f"{label}: merges"), internal, alphabet, in_bytes=in_bytes
    )
    demolition = None if scaffold is None else Members(scaffold, label).choose("demolition", get_args(DemolitionRule))
    return BpeModel(
        algorithm=members.choose("algorithm", get_args(Algorithm)),
        vocabulary=vocabulary,
        merges=merges,
        alphabet=alphabet,
        expansion=None if flags is None else _expansion(merges, flags, demolition, label),
        demolition=demolition,
        symbols=symbols,
        splitter=_stage(members, "splitter", str),
        dialect=members.choose("dialect", get_args(Dialect)) if "dialect" in content else "regex",
        normalizer=_normalizer(members),
        decoder=_decoder(members),
        drop_space=members.take("drop_space", bool),
        added=added,
        unknown=_unknown(members, len(internal)),
        fuse_unknown=members.take("fuse_unknown", bool),
        fallback=tuple(members.integers("fallback", -1, len(internal)).tolist()),
        prefix=affixes[0],
        suffix=affixes[1],
        whole_pieces=members.take("whole_pieces", bool),
        round_trip=members.choose("round_trip", get_args(RoundTrip)),
        notes=tuple(map(str, members.take("notes", list))),
        origin=members.take("origin", dict),
    )


def _vocabulary(members: Members) -> Vocabulary:
    tokens = members.take("tokens", list)
    label = f"{members.label}: 'tokens'"
    if not tokens or len(tokens) > BIGGEST_ID:
        raise InputError(f"{label} has {len(tokens):,} entries; a vocabulary has 1 to {BIGGEST_ID:,}")
    kinds = np.zeros(len(tokens), np.uint8)
    if None in tokens:
        kinds[[token is None for token in tokens]] = TokenKind.ABSENT
        tokens = ["" if token is None else token for token in tokens]
    told = Members(members.take("kinds", dict), f"{members.label}: 'kinds'")
    kind_of = {kind.name.lower(): kind for kind in TokenKind if kind not in (TokenKind.NORMAL, TokenKind.ABSENT)}
    for name in told.content:
        if name not in kind_of:
            raise InputError(f"{told.label}: unknown kind {name[:40]!r}; known: {', '.join(kind_of)}")
        ids = told.integers(name, 0, len(tokens))
        if kinds[ids].any() or len(np.unique(ids)) != len(ids):
            raise InputError(f"{told.label}: an id of {name!r} has no token, or is listed twice")
        kinds[ids] = kind_of[name]
    return Vocabulary(*strings(tokens, label), kinds)


def _with_scaffold(
    vocabulary: Vocabulary, scaffold: Mapping[str, Any], label: str
) -> tuple[Vocabulary, NDArray[np.bool_]]:
    """Merge normal and scaffold tokens in rank order; return the vocabulary, and which tokens are scaffold."""
    normal = np.flatnonzero(vocabulary.kinds == TokenKind.NORMAL)
    if (normal != np.arange(len(normal))).any():
        raise InputError(f"{label}: the tokens of a Scaffold-BPE have a gap, or special ones before normal ones")
    tokens = Members(scaffold, f"{label}: 'scaffold'").take("tokens", dict)
    if not all(number.isascii() and number.isdigit() and len(number) < 10 for number in tokens):
        raise InputError(f"{label}: a key of 'scaffold' is not an id")
    total = len(normal) + len(tokens)
    ids = integers([int(number) for number in tokens], 0, total, f"{label}: 'scaffold'")
    flags = np.zeros(total, np.bool_)
    flags[ids] = True
    if np.count_nonzero(flags) != len(ids):
        raise InputError(f"{label}: an id of 'scaffold' is listed twice")
    never_written = byte_strings(list(tokens.values()), f"{label}: 'scaffold'")
    data = dict(zip(np.flatnonzero(~flags).tolist(), map(vocabulary.__getitem__, normal.tolist()), strict=True))
    return Vocabulary.from_tokens(data | dict(zip(ids.tolist(), never_written, strict=True)), {}), flags


def _unknown(members: Members, size: int) -> int | None:
    token = members.take("unknown", (int, type(None)))
    return None if token is None else int(integers([token], 0, size, f"{members.label}: 'unknown'")[0])


def _alphabet(members: Members, size: int) -> dict[bytes, int]:
    written = members.take("alphabet", dict)
    symbols = byte_strings(list(written), f"{members.label}: 'alphabet'")
    ids = integers(list(written.values()), 0, size, f"{members.label}: 'alphabet'")
    return dict(zip(symbols, ids.tolist(), strict=True))


def _expansion(
    merges: MergeModel, scaffold: NDArray[np.bool_], rule: DemolitionRule | None, label: str
) -> tuple[Ids, Offsets]:
    if merges.rules is None or rule is None:
        raise InputError(f"{label}: Scaffold-BPE needs 'rules', not 'ranks'")
    check_rules(merges, merges.rules, label)  # or else 40 rules could ask for 2**40 parts
    lengths = np.diff(merges.offsets)[scaffold]
    if rule == "shortest" and float((lengths.astype(np.float64) ** 2).sum()) > MOST_COMPARED:
        raise InputError(f"{label}: scaffold tokens of up to {int(lengths.max()):,} bytes take too long to demolish")
    try:
        parts = _core.demolition(
            data=merges.data, token_offsets=merges.offsets, rules=merges.rules, scaffold=scaffold, rule=rule
        )
    except ValueError as error:
        raise InputError(f"{label}: the scaffold tokens cannot be demolished: {error}") from None
    return output_ids(parts, scaffold)


def _stage(members: Members, name: str, other: type) -> Any:
    value = members.take(name, (dict, other))
    if isinstance(value, dict):
        check_stage(value, f"{members.label}: {name!r}")
    return value


def _decoder(members: Members) -> Mapping[str, Any] | Spaces | None:
    if isinstance(members.content.get("decoder"), str):
        return members.choose("decoder", get_args(Spaces))  # type: ignore[no-any-return]
    return _stage(members, "decoder", type(None))  # type: ignore[no-any-return]


def _normalizer(members: Members) -> Mapping[str, Any] | SentencePieceNormalizer | None:
    value = _stage(members, "normalizer", type(None))
    if value is None or value["type"] != "SentencePiece":
        return value  # type: ignore[no-any-return]
    spec = Members(value, f"{members.label}: normalizer")
    flags = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces", "whitespace_as_suffix")
    try:
        charsmap = binascii.a2b_base64(spec.take("charsmap", str), strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise InputError(f"{spec.label}: 'charsmap' is not base64: {error}") from None
    return SentencePieceNormalizer(spec.take("name", str), charsmap, *(spec.take(flag, bool) for flag in flags))
