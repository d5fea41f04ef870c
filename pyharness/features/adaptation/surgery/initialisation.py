"""Initialisation of a new vocabulary's rows: plans from an old and a new tokenizer, or from any map of ids.

Rows of tokens that both tokenizers have are copied. Fast vocabulary transfer encodes a new token by the old tokenizer,
symbol by symbol, so that no token has to be valid text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe import BpeEncoder, BpeModel, BpeTokenizer
from pyharness.bpe.model.unused_pieces import expansion_of_unused
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.features.adaptation.surgery.plan import EmbeddingPlan, Numbering, Operation, Step
from pyharness.types import InputError, TokenKind, offsets_of

Method: TypeAlias = Literal["fvt", "mean", "random"]
_Key: TypeAlias = tuple[int, bytes]
MOST_MULTIPLE = 1 << 16  # kernels of matrix products prefer 64 or 128
_NOTHING: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Input of a plan besides the ids of both tokenizers."""

    rows: int  # of the old matrices
    checkpoint: str  # digest of the model
    method: Method = "fvt"  # for rows that are no copies
    named: Mapping[int, int] = field(default_factory=dict)  # new id -> old id whose row it gets
    multiple_of: int = 1  # of the number of rows
    seed: int = 0


def plan_of_tokenizers(
    old: BpeModel, new: BpeModel, request: PlanRequest, sha256: tuple[str | None, str | None] = (None, None)
) -> EmbeddingPlan:
    """Plan the rows of a new tokenizer: copy those of tokens that both have, and make the others by the method.

    Method ``fvt`` takes the mean of the rows of the old tokens that spell the new one; without any, the mean of all.
    ``sha256``: digests of the old and the new file.

    Raises:
        InputError: the matrices have fewer rows than the old tokenizer has ids; a named id or the multiple is out of
            range; or the method is ``fvt`` and one of the models is of Scaffold-BPE.

    Source: arXiv 2512.03989, "models.py"; fast vocabulary transfer is of arXiv 2402.09977.
    """
    copied = matches(old, new)
    steps: list[Step | None] = [(Operation.COPY, (source,)) if source >= 0 else None for source in copied.tolist()]
    kinds = new.vocabulary.kinds
    missing = np.flatnonzero((copied < 0) & (kinds != TokenKind.ABSENT)).tolist()
    if request.method == "fvt":
        for token, ids in zip(missing, constituents(old, new, missing), strict=True):
            steps[token] = (Operation.MEAN, tuple(ids)) if ids else (Operation.AVERAGE, _NOTHING)
    else:
        for token in missing:
            steps[token] = _filling(request.method)
    return _make_plan(steps, request, _numbering(old, sha256[0]), _numbering(new, sha256[1]))


def plan_of_map(ids: IdMap, request: PlanRequest) -> EmbeddingPlan:
    """Plan the rows of a map of ids; the method makes the rows of new ids without an old one, which ``fvt`` cannot.

    Raises:
        InputError: the map keeps no token, or maps two ids to one; an id or the multiple is out of range; the matrices
            have fewer rows; or ``fvt`` would have to make rows.
    """
    old = np.flatnonzero(ids.new >= 0)
    new = ids.new[old]
    if not len(new):
        raise InputError("the map of ids keeps no token")
    if int(new.max()) >= ids.size:
        raise InputError(f"the map of ids names {int(new.max()):,}, but {ids.size:,} ids were requested")
    if len(np.unique(new)) < len(new):
        twice = int(np.flatnonzero(np.bincount(new) > 1)[0])
        raise InputError(f"the map of ids gives two tokens the new id {twice}")
    if request.method == "fvt" and len(new) < ids.size - len(request.named):
        raise InputError(
            f"{ids.size - len(new):,} new ids have no old one in the map: what they are written with needs both "
            "tokenizers; take --method mean or random"
        )
    steps: list[Step | None] = [_filling(request.method)] * ids.size
    for source, token in zip(old.tolist(), new.tolist(), strict=True):
        steps[token] = (Operation.COPY, (source,))
    return _make_plan(steps, request, Numbering(len(ids)), Numbering(ids.size))


def _filling(method: Method) -> Step:
    return (Operation.RANDOM if method == "random" else Operation.AVERAGE), _NOTHING


def _numbering(model: BpeModel, sha256: str | None) -> Numbering:
    gaps = np.flatnonzero(model.vocabulary.kinds == TokenKind.ABSENT)
    return Numbering(model.id_limit, tuple(gaps.tolist()), sha256)


def _make_plan(steps: Sequence[Step | None], request: PlanRequest, old: Numbering, new: Numbering) -> EmbeddingPlan:
    """Make a plan of the steps of ids (None: a gap), followed by padding."""
    if request.rows < old.ids:
        raise InputError(f"the matrices have {request.rows:,} rows, and the old tokenizer has {old.ids:,} ids")
    if not 1 <= request.multiple_of <= MOST_MULTIPLE:
        raise InputError(f"--multiple-of {request.multiple_of} is not a number from 1 to {MOST_MULTIPLE:,}")
    planned = list(steps)
    for token, source in request.named.items():
        if not 0 <= token < new.ids or not 0 <= source < old.ids:
            raise InputError(f"id {token} cannot get the row of {source}: {new.ids:,} new and {old.ids:,} old ids")
        same = planned[token]
        planned[token] = (Operation.ROW, (source, *(same[1] if same and same[0] is Operation.COPY else ())))
    return EmbeddingPlan.of_steps(
        [*_with_gaps(planned, request.rows), *_padding(request, old, new)],
        rows=request.rows, old=old, new=new, checkpoint=request.checkpoint, seed=request.seed,
    )  # fmt: skip


def _with_gaps(steps: Sequence[Step | None], rows: int) -> list[Step]:
    """Return the steps of all ids; a gap keeps its row as long as no token has moved."""
    moved = any(step and step[0] is Operation.COPY and step[1] != (token,) for token, step in enumerate(steps))
    return [
        step or ((Operation.KEPT, (token,)) if token < rows and not moved else (Operation.AVERAGE, _NOTHING))
        for token, step in enumerate(steps)
    ]


def _padding(request: PlanRequest, old: Numbering, new: Numbering) -> list[Step]:
    """Return the steps of rows after the last id: rest of the old matrix, and padding to the multiple.

    Ids after the old ones take over its padding first. With fewer ids, there is as much padding as before. Added rows
    get the average: its logit is the mean of the tokens' logits, and never above all of them.
    """
    kept = range(max(old.ids, new.ids), request.rows)
    size = new.ids + len(kept)
    added = -size % request.multiple_of
    return [(Operation.KEPT, (row,)) for row in kept] + [(Operation.AVERAGE, _NOTHING)] * added


def matches(old: BpeModel, new: BpeModel) -> NDArray[np.int64]:
    """Return the old id of every new token, int64 [new ids]; -1 where the old tokenizer lacks it.

    Added and special tokens match by content, whatever their flags; unknown tokens match each other; the others match
    by kind and string. Where both models have one sort of symbols, the string is the model's (``▁the``). Otherwise it
    is the bytes that the token adds to a text. Of several matches, the one with the same id wins, else the first.
    """
    in_symbols = alike(old, new)
    ids = defaultdict(list)
    for token, key in enumerate(_keys(old, in_symbols)):
        ids[key].append(token)
    old_ids = np.full(new.id_limit, -1, np.int64)
    for token, key in enumerate(_keys(new, in_symbols)):
        if key is not None and (same := ids.get(key)):
            old_ids[token] = token if token in same else same[0]
    return old_ids


def alike(old: BpeModel, new: BpeModel) -> bool:
    """Whether both models have the same sort of symbols, so that their strings are comparable."""
    return (old.symbols, old.prefix, old.suffix, _spaces(old)) == (new.symbols, new.prefix, new.suffix, _spaces(new))


def _spaces(model: BpeModel) -> bool:
    """Whether a model over characters writes spaces as ▁."""
    return "▁".encode() in model.alphabet and b" " not in model.alphabet


def _keys(model: BpeModel, in_symbols: bool) -> list[_Key | None]:
    contents = {token.id: token.content.encode() for token in model.added}
    kinds, strings = model.vocabulary.kinds.tolist(), model.merges.strings() if in_symbols else []

    def key(token: int) -> _Key | None:
        if kinds[token] == TokenKind.ABSENT:
            return None
        if kinds[token] == TokenKind.UNKNOWN:
            return TokenKind.UNKNOWN, b""
        if token in contents:
            return TokenKind.SPECIAL, contents[token]
        string = strings[token] if in_symbols else model.vocabulary[token]
        return kinds[token], string

    return [key(token) for token in range(len(kinds))]


def constituents(old: BpeModel, new: BpeModel, tokens: Sequence[int]) -> list[list[int]]:
    """Encode each of these new tokens to old ids; empty where the old tokenizer cannot.

    The old rules merge the symbols of a token; text is not split, and whole pieces are not looked up. Added tokens are
    not strings of the model: their content is encoded as text.

    Raises:
        InputError: one of the tokenizers numbers symbols differently from tokens (Scaffold-BPE).
    """
    if new.expansion is not None or old.expansion is not None:
        raise InputError("Scaffold-BPE writes other ids than it merges: name its rows in a map of ids")
    contents = {token.id: token.content for token in new.added}
    texts = [token for token in tokens if token in contents]
    encoded = BpeTokenizer(old).encode_batch([contents[token] for token in texts])
    ids = {token: encoded.document(index).tolist() for index, token in enumerate(texts)}
    strings = [token for token in tokens if token not in contents]
    ids.update(zip(strings, _of_strings(old, new, strings), strict=True))
    return [ids[token] for token in tokens]


def _of_strings(old: BpeModel, new: BpeModel, tokens: Sequence[int]) -> Iterator[list[int]]:
    symbols = _translate(old, new, tokens) if alike(old, new) else [_symbols(old, new.vocabulary[t]) for t in tokens]
    flat = np.array([symbol for group in symbols for symbol in group], np.uint32)
    merged = BpeEncoder(old.merges).encode_batch(flat, offsets_of([len(group) for group in symbols]))
    expansion = expansion_of_unused(old)
    for index in range(len(tokens)):
        ids = merged.document(index).tolist()
        if expansion is not None:
            ids = [int(part) for token in ids for part in expansion[0][expansion[1][token] : expansion[1][token + 1]]]
        yield ids


def _translate(old: BpeModel, new: BpeModel, tokens: Iterable[int]) -> list[list[int]]:
    """Return the symbols of new tokens in the old model's numbering."""
    names = {token: name for name, token in new.alphabet.items()}
    fallback = {token: byte for byte, token in enumerate(new.fallback)}
    base, offsets = new.merges.base, new.merges.base_offsets

    def symbols(symbol: int) -> list[int]:
        if symbol in names:
            return _symbol(old, names[symbol])
        return _of_bytes(old, bytes([fallback[symbol]])) if symbol in fallback else _unknown(old)

    parts = {symbol: symbols(symbol) for symbol in np.unique(base).tolist()}
    return [[part for symbol in base[offsets[t] : offsets[t + 1]].tolist() for part in parts[symbol]] for t in tokens]


def _symbols(old: BpeModel, data: bytes) -> list[int]:
    """Return the old symbols of a token's bytes, where the models have different sorts of symbols."""
    if old.symbols == "bytes":
        return [part for byte in data for part in _symbol(old, bytes([byte]))]
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _of_bytes(old, data)
    if b" " not in old.alphabet:
        text = text.replace(" ", "▁")
    names = [(old.prefix if place else "") + character for place, character in enumerate(text)]
    if old.suffix and names and (names[-1] + old.suffix).encode() in old.alphabet:
        names[-1] += old.suffix
    return [part for name in names for part in _symbol(old, name.encode())]


def _symbol(old: BpeModel, name: bytes) -> list[int]:
    token = old.alphabet.get(name)
    return _of_bytes(old, name) if token is None else [token]


def _of_bytes(old: BpeModel, data: bytes) -> list[int]:
    """Return the ids for bytes that are no symbol: those of the bytes, or else the unknown token, if there is one."""
    fallback = [old.fallback[byte] for byte in data] if old.fallback else [-1]
    return _unknown(old) if -1 in fallback else fallback


def _unknown(old: BpeModel) -> list[int]:
    return [] if old.unknown is None else [old.unknown]
