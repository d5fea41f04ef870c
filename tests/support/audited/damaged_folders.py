"""Model folders around published files of three kinds, and at least 30 faults for each, with what must name them.

Faults of the other files of a folder leave the tokenizer alone, so its loaded library serves for all of them.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from audited import damage
from audited.damage import CONFIG, GENERATION, GOOD_TEMPLATE, MODEL, SPECIALS, TEMPLATE, TOKENIZER, VOCAB, Damage, Files
from audited.damaged_ranks import OF_RANKS, DataDamage
from pyharness.features.audit import auditing
from pyharness.features.audit.auditing import TokenizerAudit
from pyharness.features.audit.checks import subjects
from pyharness.features.audit.checks.subjects import AuditSubject
from pyharness.vocabularies.sentencepiece_file import PieceType, placed_fields, read_model
from tokenizer_files import message

ADDED = "added_tokens.json"
SEEN = ("file", "specials", "bytes", "decoder", "ids", "reachable", "template")  # checks that a fault of a file reaches


@dataclass(frozen=True)
class GoodFolder:
    """A folder whose files agree, and the loaded subject that its damaged copies share."""

    files: Files
    name: str  # of the tokenizer's file
    folder: Path
    subject: AuditSubject

    @classmethod
    def of(cls, path: Path, folder: Path) -> GoodFolder:
        """Write a folder around a tokenizer.json, a SentencePiece model or a rank file with a published name."""
        if path.suffix == ".json":
            files, name = damage.folder_of(json.loads(path.read_bytes())), TOKENIZER
        else:
            name = "tokenizer.model" if ".model" in path.name else path.name
            files = {name: path.read_bytes(), **_around(path, name)}
        damage.write_folder(files, folder)
        return cls(files, name, folder, subjects.load(str(folder / name)))

    def audit(self, files: Files, folder: Path, checks: Sequence[str]) -> TokenizerAudit:
        """Audit a copy with some files changed; the tokenizer is loaded again if it is one of them."""
        folder.mkdir()
        for name in files:
            if files[name] is self.files.get(name):
                os.link(self.folder / name, folder / name)
        damage.write_folder({name: one for name, one in files.items() if one is not self.files.get(name)}, folder)
        spec = str(folder / self.name)
        if files[self.name] is not self.files[self.name]:
            return auditing.audit(spec, checks)
        loaded = self.subject
        copy = AuditSubject(spec, loaded.library, loaded.tokenizer, path=folder / self.name)
        return auditing.audit_of(copy, [auditing.CHECKS[check] for check in checks])

    def faults(self) -> Iterator[tuple[str, Damage]]:
        """Yield each fault that applies to this kind of file, by its name."""
        kinds: dict[str, Callable[[Files], Damage | None]] = {}
        if self.name == TOKENIZER:
            kinds |= damage.KINDS
        else:
            kinds |= {kind: make for kind, make in damage.KINDS.items() if kind in OF_FOLDERS}
            kinds |= of_file(self.name, OF_MODELS if self.name == "tokenizer.model" else {**OF_RANKS, **MORE_RANKS})
        for kind, make in {**kinds, **MORE}.items():
            if (planted := make(self.files)) is not None:
                yield kind, planted


def _around(path: Path, name: str) -> Files:
    """The other files of a folder around a SentencePiece model or a rank file."""
    loaded = subjects.load(str(path))
    if name == "tokenizer.model":
        model = read_model(path.read_bytes(), name)
        vocab = {piece: number for number, piece in enumerate(model.pieces)}
        special = {piece: vocab[piece] for piece, kind in zip(model.pieces, model.types, strict=True)
                   if kind is PieceType.CONTROL}  # fmt: skip
    else:
        vocab, special = {}, dict(loaded.home.ranks.special)  # type: ignore[union-attr]
    bos, *_, eos = (*special, *special)
    names = {"bos_token": bos, "eos_token": eos}
    ids = {"bos_token_id": special[bos], "eos_token_id": [special[eos]]}
    decoder = {str(number): {"content": text, "special": True} for text, number in special.items()}
    return {
        CONFIG: {**names, "added_tokens_decoder": decoder}, SPECIALS: names, GENERATION: ids, TEMPLATE: GOOD_TEMPLATE,
        MODEL: {"vocab_size": loaded.loaded.id_limit, **ids, "eos_token_id": special[eos]},
        **({VOCAB: vocab} if vocab else {}),
    }  # fmt: skip


def of_file(name: str, kinds: Mapping[str, DataDamage]) -> dict[str, Callable[[Files], Damage]]:
    """Faults of the bytes of one file."""

    def made(make: Callable[[bytes], bytes], check: str, fault: str) -> Callable[[Files], Damage]:
        return lambda files: Damage({**files, name: make(files[name])}, check, fault)

    return {kind: made(*given) for kind, given in kinds.items()}


# ---------------------------------------------------------------------------------------------- other files

OF_FOLDERS = (
    "added token moved in the config", "embedding too small", "settings cut off", "eos that does not exist",
    "pad that does not exist", "eos id out of range", "bos id of text",
    *(kind for kind in damage.KINDS if kind.startswith("template")),
)  # fmt: skip


def _other_name(files: Files) -> Damage | None:
    """``special_tokens_map.json`` names another token as the beginning of a text."""
    names = files[SPECIALS]
    if names["bos_token"] == names["eos_token"]:
        return None
    return Damage({**files, SPECIALS: {**names, "bos_token": names["eos_token"]}}, "specials", "files disagree")


def _added_id(files: Files) -> Damage:
    """``added_tokens.json`` gives a special token another id."""
    ids = {files[SPECIALS]["bos_token"]: files[MODEL]["bos_token_id"] + 3}
    return Damage({**files, ADDED: ids}, "specials", "id differs between files")


def _other_piece(files: Files) -> Damage | None:
    """``vocab.json`` gives two pieces of a SentencePiece model each other's id."""
    if TOKENIZER in files or VOCAB not in files:
        return None
    one, other = "▁the", "▁of"
    vocab = files[VOCAB]
    return Damage({**files, VOCAB: {**vocab, one: vocab[other], other: vocab[one]}}, "specials",
                  "id differs between files")  # fmt: skip


MORE: Mapping[str, Callable[[Files], Damage | None]] = {
    "names that disagree": _other_name,
    "another id in added_tokens.json": _added_id,
    "pieces swapped in vocab.json": _other_piece,
    "config cut off": lambda files: Damage({**files, CONFIG: json.dumps(files[CONFIG])[:-9]}, "specials",
                                           "file cannot be read"),
    "negative id of the end": lambda files: Damage({**files, GENERATION: {**files[GENERATION], "eos_token_id": -7}},
                                                   "specials", "id out of range"),
    "config that is a list": lambda files: Damage({**files, MODEL: "[1, 2]"}, "specials", "file cannot be read"),
}  # fmt: skip


# ---------------------------------------------------------------------------------------------- rank files


def _lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


_REFUSED = ("file", "file is refused")
MORE_RANKS: Mapping[str, DataDamage] = {
    "rank of text": (lambda data: data.replace(b" 300\n", b" many\n"), *_REFUSED),
    "rank with a fraction": (lambda data: data.replace(b" 300\n", b" 300.5\n"), *_REFUSED),
    "token without a rank": (lambda data: data.replace(b" 300\n", b"\n"), *_REFUSED),
    "three words in a line": (lambda data: data.replace(b" 300\n", b" 300 300\n"), *_REFUSED),
    "half of the lines": (lambda data: b"".join(_lines(data)[: len(_lines(data)) // 2]), *_REFUSED),
    "first line missing": (lambda data: b"".join(_lines(data)[1:]), *_REFUSED),
}


# ---------------------------------------------------------------------------------------------- SentencePiece


def _rewritten(data: bytes, change: Callable[[list[bytes]], list[bytes]]) -> bytes:
    """The model with its pieces, as messages on the wire, changed."""
    placed = [(number, data[start:end]) for number, _, (start, end) in placed_fields(data, "the model")]
    pieces = change([one for number, one in placed if number == 1])
    return b"".join([*pieces, *(one for number, one in placed if number != 1)])


def _piece(text: str, score: bytes, kind: int) -> bytes:
    return message(1, message(1, text.encode()) + b"\x15" + score + bytes([0x18, kind]))


def _with(data: bytes, number: int, text: str | None = None, score: bytes | None = None, kind: int = 0) -> bytes:
    """The model with one piece written otherwise."""
    model = read_model(data, "the model")
    made = _piece(
        model.pieces[number] if text is None else text,
        struct.pack("<f", model.scores[number]) if score is None else score,
        kind or model.types[number],
    )
    return _rewritten(data, lambda pieces: [*pieces[:number], made, *pieces[number + 1 :]])


def _swapped(data: bytes) -> bytes:
    """An early and a late piece change places, each with its score."""
    model = read_model(data, "the model")
    normal = [n for n, kind in enumerate(model.types) if kind is PieceType.NORMAL and len(model.pieces[n]) == 4]
    one, other = normal[0], normal[len(normal) // 2]

    def change(pieces: list[bytes]) -> list[bytes]:
        pieces[one], pieces[other] = pieces[other], pieces[one]
        return pieces

    return _rewritten(data, change)


def _scores_swapped(data: bytes) -> bytes:
    """A late piece gets the score of an early one, and it that of the late one."""
    model = read_model(data, "the model")
    normal = [
        n
        for n, kind in enumerate(model.types)
        if kind is PieceType.NORMAL and len(model.pieces[n]) == 6 and model.pieces[n].isalpha()
    ]
    one, other = normal[0], normal[-1]
    first, second = (struct.pack("<f", model.scores[number]) for number in (one, other))
    return _with(_with(data, one, score=second), other, score=first)


def _of_kind(data: bytes, kind: PieceType) -> int:
    return read_model(data, "the model").types.index(kind)


OF_MODELS: Mapping[str, DataDamage] = {
    "model cut off": (lambda data: data[: len(data) * 3 // 5], *_REFUSED),
    "nothing behind the pieces": (
        lambda data: b"".join(data[start:end] for number, _, (start, end) in placed_fields(data, "") if number == 1),
        *_REFUSED,
    ),
    "empty model": (lambda data: b"", *_REFUSED),
    "text in place of a model": (lambda data: b"<!DOCTYPE html><html></html>", *_REFUSED),
    "piece twice": (lambda data: _rewritten(data, lambda pieces: [*pieces, pieces[-1]]), *_REFUSED),
    "piece of nothing": (lambda data: _with(data, 1000, text=""), *_REFUSED),
    "no unknown piece": (lambda data: _with(data, _of_kind(data, PieceType.UNKNOWN), kind=3), *_REFUSED),
    "two unknown pieces": (lambda data: _with(data, _of_kind(data, PieceType.CONTROL), kind=2), *_REFUSED),
    "score that is no number": (lambda data: _with(data, 1000, score=b"\x00\x00\xc0\x7f"), *_REFUSED),
    "byte piece misspelled": (lambda data: _with(data, _of_kind(data, PieceType.BYTE) + 7, text="<0x7>"), *_REFUSED),
    "byte piece of another type": (lambda data: _with(data, _of_kind(data, PieceType.BYTE) + 7, kind=1), *_REFUSED),
    "unknown model type": (lambda data: data + message(2, b"\x18\x09"), *_REFUSED),
    "pieces swapped with their scores": (_swapped, "ids", "id out of order"),
    "scores swapped": (_scores_swapped, "ids", "rank out of order"),
}
