"""Models from the files of other libraries; the content tells the kind of a file."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pyharness.bpe.formats.huggingface import model_of_huggingface
from pyharness.bpe.formats.own_file import load_bytes
from pyharness.bpe.model.check import check_model
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.reachability import remembered_self_tokenization
from pyharness.types import InputError, TokenKind, Vocabulary
from pyharness.vocabularies import encodings, rank_file, sentencepiece_file
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.merge_model import byte_level_model
from pyharness.vocabularies.huggingface.file import AddedToken, check_id, read_file
from pyharness.vocabularies.huggingface.pre_tokenizer import known_name
from pyharness.vocabularies.huggingface.vocab_and_merges import read_pair
from pyharness.vocabularies.minbpe_file import read_minbpe
from pyharness.vocabularies.rank_file import RankVocabulary, read_tekken
from pyharness.vocabularies.sentencepiece_file import ModelType, PieceType, SentencePieceModel, read_model

_MERGED = (PieceType.NORMAL, PieceType.UNUSED)


def model_of_sentencepiece(file: SentencePieceModel, label: str) -> BpeModel:
    """Build the model of a BPE file: pieces merge by descending score across the whole text.

    Raises:
        InputError: the file is no BPE model, or SentencePiece would give ids that no model can give.
    """
    _check(file, label)
    ids = {piece: token for token, piece in enumerate(file.pieces)}
    added = [
        AddedToken(token, piece, special=file.types[token] is PieceType.CONTROL)
        for token, piece in enumerate(file.pieces)
        if file.types[token] in (PieceType.CONTROL, PieceType.USER_DEFINED)
    ]
    return BpeModel(
        vocabulary=sentencepiece_file.vocabulary(file),
        merges=sentencepiece_file.merge_model(file),
        alphabet={
            piece.encode(): token
            for token, piece in enumerate(file.pieces)
            if file.types[token] is PieceType.NORMAL and len(piece) == 1
        },
        symbols="characters",
        splitter="none",
        normalizer=file.normalizer,
        drop_space=file.normalizer.add_dummy_prefix or file.normalizer.remove_extra_whitespaces,
        added=tuple(added),
        unknown=file.types.index(PieceType.UNKNOWN),
        fuse_unknown=True,
        fallback=tuple(ids[f"<0x{byte:02X}>"] for byte in range(256)) if file.byte_fallback else (),
        round_trip="normalised" if file.byte_fallback else "lossy",
    )


def _check(file: SentencePieceModel, label: str) -> None:
    """Refuse settings with which SentencePiece's ids would differ."""
    if file.model_type is not ModelType.BPE:
        raise InputError(f"{label} is a SentencePiece {file.model_type.name} model, not BPE: it has no merges")
    pieces = set(file.pieces)
    if file.byte_fallback and (missing := [byte for byte in range(256) if f"<0x{byte:02X}>" not in pieces]):
        raise InputError(f"{label} falls back on bytes, but has no piece <0x{missing[0]:02X}>")
    single = {p for p, kind in zip(file.pieces, file.types, strict=True) if kind in _MERGED and len(p) == 1}
    for piece, kind in zip(file.pieces, file.types, strict=True):
        if kind in _MERGED and not single.issuperset(piece):
            raise InputError(f"{label}: piece {piece[:40]!r} has a character without a piece: not merged here")


def import_model(
    source: str | Path | bytes,
    *,
    label: str | None = None,
    pattern: str | None = None,
    special: Mapping[str, int] | None = None,
) -> BpeModel:
    """Read a tokenizer.json, tiktoken rank file, tekken.json, SentencePiece or minbpe model, or a file of our own.

    A ``vocab.json`` is read with the ``merges.txt`` in the same folder.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> ranks = export_model(model_of_training(trained, "gpt2"), "tiktoken")
    >>> model = import_model(ranks, pattern="cl100k", special={"<|end|>": 259})
    >>> model.splitter, model.vocab_size, BpeTokenizer(model).encode("pug hug").tolist()
    ('cl100k', 259, [258, 32, 257])
    >>> import_model(b"neither")
    Traceback (most recent call last):
    pyharness.types.InputError: the file is not a tokenizer file: ...

    Args:
        source: a file, a folder that contains one, or the content of one.
        label: name in errors; by default the path, if there is one.
        pattern: how text is split, for rank files and ``vocab.json``, which do not specify it; a known name, or for
            rank files an expression. The default for ``vocab.json`` is GPT-2's; for rank files it is that of the
            published file with the same content or else the same name.
        special: special tokens and their ids, for the same files, which lack them.

    Raises:
        InputError: the file is damaged, no BPE tokenizer, or requires what no model can express.
    """
    if isinstance(source, bytes):
        path, data = None, source
    else:
        path = vocabulary_file.find(str(source))
        data = vocabulary_file.read(path)
    label = label or (str(path) if path else "the file")
    kind = vocabulary_file.detect(data, label)
    if kind in ("curriculum", "events"):
        raise InputError(f"{label} has {kind} and no rules of BPE: give another file, or run it as the row file:PATH")
    if kind == "vocab_and_merges":
        if path is None:
            raise InputError(f"{label} is a vocab.json, which needs the merges.txt next to it: give its path")
        data = read_pair(path, pattern, special)
    elif kind != "rank_file" and (pattern is not None or special is not None):
        raise InputError(f"{label} says itself how text is split and which tokens are special: leave both out")
    if kind == "pyharness":
        return load_bytes(data, label)
    digest = hashlib.sha256(data).hexdigest()
    if kind in ("huggingface", "vocab_and_merges"):
        model = model_of_huggingface(read_file(data, label), label)
    elif kind == "sentencepiece":
        model = model_of_sentencepiece(read_model(data, label), label)
    elif kind == "minbpe":
        model = _model_of_minbpe(data, label)
    elif kind == "tekken":
        model = model_of_ranks(read_tekken(data, label))
    else:
        encoding = _encoding(data, path, digest, pattern, special, label)
        ranks = _ranks(data, encoding, label)
        model = model_of_ranks(dataclasses.replace(ranks, notes=(*ranks.notes, *encodings.part_of(data, digest))))
    check_model(model, label)
    origin = {"kind": kind, "sha256": digest, **({"file": path.name} if path else {})}
    return dataclasses.replace(model, origin=origin, notes=(*model.notes, *_unreachable(model)))


def model_of_ranks(ranks: RankVocabulary) -> BpeModel:
    """Build the model of a rank vocabulary: an id is its own rank, and a piece that is a token is that token."""
    name = known_name(ranks.pattern)
    between = "text that the pattern leaves out is a piece of its own; tiktoken drops it"
    return BpeModel(
        vocabulary=rank_file.vocabulary(ranks),
        merges=rank_file.merge_model(ranks),
        alphabet={bytes([byte]): ranks.ranks[bytes([byte])] for byte in range(256)},
        splitter=name or ranks.pattern,
        dialect="regex" if name else "fancy_regex",
        added=tuple(AddedToken(token, content, special=True) for content, token in ranks.special.items()),
        whole_pieces=True,
        notes=ranks.notes if ranks.exact else (*ranks.notes, between),
    )


def _encoding(
    data: bytes, path: Path | None, digest: str, pattern: str | None, special: Mapping[str, int] | None, label: str
) -> encodings.Encoding:
    """Return what the rank file lacks: as given, or else as known for this content or name."""
    published = encodings.recognise(digest, path.stem if path else "")
    if pattern is None and path is not None:
        encodings.check_whole(data, digest, path.stem, label)
    if pattern is None and published is None:
        raise InputError(
            f"{label} does not say how text is split, and neither its content nor its name is known; give a pattern: "
            f"{', '.join(encodings.PATTERNS)}, or a regular expression"
        )
    encoding = published or encodings.Encoding("custom", "", "", digest)
    if pattern is not None:
        expression = pattern if known_name(pattern) is not None else encodings.pattern(pattern)[1]
        encoding = dataclasses.replace(encoding, pattern=expression)
    if special is None:
        return encoding
    for content, token in special.items():
        check_id(token, content, label)
        if not content or any(0xD800 <= ord(character) < 0xE000 for character in content):
            raise InputError(f"{label}: special token {content!r} (id {token}) is not text")
    return dataclasses.replace(encoding, special=special)


def _ranks(data: bytes, encoding: encodings.Encoding, label: str) -> RankVocabulary:
    ranks = rank_file.read_ranks(data, label)
    rank_file.check_special(encoding.special, ranks, label)
    exact = known_name(encoding.pattern) is not None or encoding.pattern in encodings.PATTERNS.values()
    missing = max(ranks.values()) + 1 - len(ranks)
    notes = (f"{missing:,} ids below the largest have no token",) if missing else ()
    return RankVocabulary(ranks, encoding.special, encoding.pattern, exact=exact, notes=notes)


def _model_of_minbpe(data: bytes, label: str) -> BpeModel:
    file = read_minbpe(data, label)
    special = {token: content.encode() for content, token in file.special.items()}
    vocabulary = Vocabulary.from_tokens(
        dict(enumerate(file.tokens)) | special, dict.fromkeys(special, TokenKind.SPECIAL)
    )
    pairs = np.array(file.merges, np.uint32).reshape(-1, 2)
    results = np.arange(256, 256 + len(pairs), dtype=np.uint32)
    rules = np.column_stack((pairs, results)).astype(np.uint32)
    name = known_name(file.pattern) if file.pattern else "none"
    between = "text that the pattern leaves out is a piece of its own; minbpe drops it"
    return BpeModel(
        vocabulary=vocabulary,
        merges=byte_level_model(vocabulary, np.arange(256, dtype=np.uint32), rules=rules),
        alphabet={bytes([byte]): byte for byte in range(256)},
        splitter=name or file.pattern,
        added=tuple(AddedToken(token, content, special=True) for content, token in file.special.items()),
        notes=(*(() if name else (between,)), *file.notes),
    )


def _unreachable(model: BpeModel) -> tuple[str, ...]:
    """Return a note on tokens that merging can never produce. 0.02 s of processor time for gpt2, 0.14 s for o200k."""
    failed: Any = remembered_self_tokenization(model.merges).failed
    if not len(failed):
        return ()
    whole = "only as a whole piece" if model.whole_pieces else "never"
    return (f"{len(failed):,} tokens are {whole} in the output: merging their own symbols gives something else",)
