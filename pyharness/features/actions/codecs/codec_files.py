"""Files of fitted codecs, ``format: pyharness-actions``: one JSON object, with a digest of all other members.

Of all codecs: ``version``, ``codec`` (fast, bins or fast-reference), ``chunk_frames``, ``skip``, ``low``, ``high``, and
members that do not affect ids: ``written_by``, ``notes``, ``source``, ``trained_on`` (digests of the clips of the fit).
Of fast: ``scale``, ``minimum``, ``alphabet`` and ``rules`` (the ids of each rule, flattened). Of bins: ``bins``. Of
fast-reference: ``scale``, ``minimum``, ``tokenizer``.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.features.actions.codecs.bins import BinCodec
from pyharness.features.actions.codecs.fast import LARGEST_ALPHABET, FastCodec, IntegerBpe
from pyharness.features.actions.codecs.quantiles import LONGEST, Quantiles
from pyharness.features.actions.codecs.recipe import LARGEST_SCALE, LARGEST_VOCABULARY, Codec, FittedCodec
from pyharness.features.actions.codecs.reference import ReferenceCodec
from pyharness.system import atomic_file, bounded_file
from pyharness.system.environment import version_of
from pyharness.types import InputError
from pyharness.vocabularies.files.json_file import Members, parse_json

FORMAT = "pyharness-actions"
VERSION = 1
MOST_BYTES = 1 << 28
MOST_NUMBERS = 1 << 24  # in all strings of a vocabulary together
FARTHEST = 1 << 41
_BEGINNING = f'{{"format": "{FORMAT}"'.encode()


def content_of(fitted: FittedCodec) -> bytes:
    """Return the bytes of a codec's file."""
    content = _content(fitted)
    return (json.dumps({"format": FORMAT, "digest": digest_of(content), **content}) + "\n").encode()


def _content(fitted: FittedCodec) -> dict[str, Any]:
    """Return all members of a codec's file except the digest."""
    codec = fitted.codec
    return {
        "format": FORMAT, "version": VERSION, "written_by": version_of("pyharness"),
        "codec": codec.header["codec"], "chunk_frames": fitted.chunk_frames, "skip": codec.skip,
        "low": codec.quantiles.low.tolist(), "high": codec.quantiles.high.tolist(), **_own(codec),
        "notes": list(codec.notes), "trained_on": sorted(one.hex() for one in codec.trained_on),
        "source": dict(fitted.source),
    }  # fmt: skip


def _own(codec: Codec) -> dict[str, Any]:
    if isinstance(codec, BinCodec):
        return {"bins": codec.bins}
    if isinstance(codec, ReferenceCodec):
        return {"scale": codec.scale, "minimum": codec.minimum, "tokenizer": codec.tokenizer_json}
    bpe = codec.bpe
    return {"scale": codec.scale, "minimum": bpe.minimum, "alphabet": bpe.alphabet, "rules": bpe.rules.ravel().tolist()}


def digest_of(content: Mapping[str, Any]) -> str:
    """Return the digest of a file's content, which must not include a digest.

    Raises:
        ValueError, RecursionError: the content is no JSON value, such as NaN.
    """
    written = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)
    return "sha256:" + hashlib.sha256(written.encode()).hexdigest()


def meaning_of(fitted: FittedCodec) -> str:
    """Return the digest of everything that affects ids and their meaning.

    Codecs that share it and ``chunk_frames`` read each other's streams.
    """
    codec = fitted.codec
    bounds = {"low": codec.quantiles.low.tolist(), "high": codec.quantiles.high.tolist()}
    return digest_of({"codec": codec.header["codec"], **bounds, **_own(codec)})


def save(fitted: FittedCodec, path: Path) -> None:
    """Write the file of a codec atomically."""
    atomic_file.write(path, content_of(fitted), overwrite=True)


def is_one(path: Path) -> bool:
    """Whether a file begins like a codec's file."""
    try:
        with bounded_file.opened(path) as file:
            return file.read(len(_BEGINNING)) == _BEGINNING
    except OSError:
        return False


def load(path: Path) -> FittedCodec:
    """Read the file of a codec.

    Raises:
        InputError: the file cannot be read, is no codec, is truncated, was edited, or contradicts itself.
    """
    label = str(path)
    try:
        data = bounded_file.read(path, MOST_BYTES, label)
    except OSError as error:
        raise InputError(f"cannot read {label!r}: {error.strerror or error}") from None
    content = parse_json(data, label)
    if content.get("format") != FORMAT:
        raise InputError(f"{label} is not a file of a codec of actions; 'pyharness train fast' makes one")
    if (version := content.get("version")) != VERSION:
        raise InputError(f"{label} is version {str(version)[:20]} of {FORMAT}; version {VERSION} can be read")
    claimed = content.pop("digest", None)
    try:
        actual = digest_of(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{label} has content that no {FORMAT} file may have: {error}") from None
    if claimed != actual:
        raise InputError(
            f"{label} is damaged or was edited: its digest is {actual}, it says {str(claimed)[:80]!r}; make it again"
        )
    return _read_fitted(Members(content, label))


def _read_fitted(members: Members) -> FittedCodec:
    low, high = (_numbers(members, name) for name in ("low", "high"))
    if not len(low) or len(low) != len(high) or (high < low).any():
        raise InputError(f"{members.label}: 'low' and 'high' are not the bounds of as many dimensions")
    quantiles = Quantiles(low, high)
    if not quantiles.bounded.all():
        raise InputError(f"{members.label}: a dimension spans more than a number can hold")
    codec = _READERS[members.choose("codec", tuple(_READERS))](members, quantiles)
    notes, trained_on = members.take("notes", list), members.take("trained_on", list)
    try:
        clips = frozenset(map(bytes.fromhex, trained_on))
    except (TypeError, ValueError):
        raise InputError(f"{members.label}: 'trained_on' has an entry that is not a digest") from None
    skip = members.integer("skip", 0, 1 << 16)
    codec = replace(codec, trained_on=clips, notes=tuple(map(str, notes)), skip=skip)
    fitted = FittedCodec(codec, members.integer("chunk_frames", 1, LONGEST), members.take("source", dict))
    if unknown := members.content.keys() - _content(fitted).keys():
        raise InputError(f"{members.label} has a member {min(unknown)[:40]!r}, which version {VERSION} does not know")
    return fitted


def _fast(members: Members, quantiles: Quantiles) -> FastCodec:
    alphabet = members.integer("alphabet", 1, LARGEST_ALPHABET)
    flat = members.integers("rules", 0, LARGEST_VOCABULARY)
    if len(flat) % 3:
        raise InputError(f"{members.label}: 'rules' are not three ids each")
    rules = flat.reshape(-1, 3).astype(np.uint32)
    _check_rules(members.label, rules, alphabet)
    bpe = IntegerBpe(members.integer("minimum", -FARTHEST, FARTHEST), alphabet, rules)
    for number, (left, right, result) in enumerate(rules.tolist()):
        joined = np.concatenate([bpe.strings[left], bpe.strings[right]])
        if not np.array_equal(joined, bpe.strings[result]):
            raise InputError(f"{members.label}: rule {number:,} makes id {result:,}, which stands for other numbers")
    return FastCodec(quantiles, _scale(members), bpe)


def _check_rules(label: str, rules: NDArray[np.uint32], alphabet: int) -> None:
    """Refuse rules of ids that do not exist yet, and too long tokens, before making any string."""
    lengths = [1] * alphabet
    total = alphabet
    for number, (left, right, result) in enumerate(rules.tolist()):
        if max(left, right) >= len(lengths) or result > len(lengths):
            raise InputError(f"{label}: rule {number:,} has an id that no rule before it made")
        length = lengths[left] + lengths[right]
        if result == len(lengths):
            lengths.append(length)
            total += length
        if lengths[result] != length or total > MOST_NUMBERS:
            raise InputError(f"{label}: rule {number:,} makes a token of {length:,} numbers, which cannot be")


def _reference(members: Members, quantiles: Quantiles) -> ReferenceCodec:
    minimum = members.integer("minimum", -FARTHEST, FARTHEST)
    return ReferenceCodec(quantiles, _scale(members), minimum, members.take("tokenizer", str))


_READERS: Mapping[str, Callable[[Members, Quantiles], Codec]] = {
    "fast": _fast,
    "bins": lambda members, quantiles: BinCodec(quantiles, members.integer("bins", 2, LARGEST_VOCABULARY)),
    "fast-reference": _reference,
}


def _scale(members: Members) -> float:
    value: Any = members.content.get("scale")
    if type(value) not in (int, float) or not 1 / LARGEST_SCALE <= value <= LARGEST_SCALE:
        raise InputError(f"{members.label}: 'scale' is {value!r:.40}, not 1/{LARGEST_SCALE:g} to {LARGEST_SCALE:g}")
    return float(value)


def _numbers(members: Members, name: str) -> NDArray[np.float64]:
    values = members.take(name, list)
    try:
        if all(type(value) in (int, float) and math.isfinite(value) for value in values):
            return np.array(values, np.float64)
    except OverflowError:  # a whole number beyond the range of floats
        pass
    raise InputError(f"{members.label}: {name!r} has a value that is not a finite number")
