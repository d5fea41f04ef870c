"""Files that are no tokenizers: rank files, tekken, SentencePiece, and files of no kind; one line each."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cases.refused_files import BIG, huggingface, message, refused
from pyharness import tokenizers
from pyharness.types import InputError
from pyharness.vocabularies import rank_file
from pyharness.vocabularies.files import vocabulary_file


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty"),
        (b"\0" * 100, "not a tokenizer file"),
        (b"hello there\nthis is prose\n", "not a tokenizer file"),
        (bytes(range(256)) * 4, "not a tokenizer file"),
        (b"\xff\xfe{\0}\0", "not a tokenizer file"),
        (b"[1, 2]", "not a tokenizer file"),
    ],
)
def test_no_tokenizer_file(content: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    refused(path, expected)


def test_too_large_a_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with path.open("wb") as file:
        file.truncate(vocabulary_file.BIGGEST_FILE + 1)  # sparse: nothing is written
    refused(path, "has 536,870,913 bytes")


def test_unreadable_things(tmp_path: Path) -> None:
    path = tmp_path / "loop"
    path.symlink_to(path)
    with pytest.raises(InputError):
        tokenizers.load(f"file:{path}")
    with pytest.raises(InputError, match=r"tokenizer .*'file:/tmp"):
        tokenizers.load("file:/tmp/\0")
    with pytest.raises(InputError, match="/dev/null"):
        tokenizers.load("file:/dev/null")


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    refused(tmp_path, "Permission denied")


def lines(*extra: bytes) -> bytes:
    return rank_file.write_ranks({bytes([byte]): byte for byte in range(256)}) + b"".join(extra)


def line(token: bytes, rank: object) -> bytes:
    return base64.b64encode(token) + f" {rank}\n".encode()


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        (b"!!!! 256\n", "line 257.*b'!!!!'.*base64"),
        (b"aGU 256\n", "line 257.*b'aGU'.*base64"),
        (b"aGU= 25x\n", "rank b'25x' .*integer"),
        (b"aGU= -1\n", "rank b'-1' .*integer"),
        (b"aGU= 1.5\n", r"rank b'1\.5' .*integer"),
        (b"aGU= " + b"9" * 5000 + b"\n", "rank b'999.*integer"),
        (line(b"he", BIG), "rank b'1099511627776' "),
        (line(b"he", 1 << 22), "rank b'4194304' .*4,194,304"),
        (line(b"he", 255), r"rank 255 .*b'\\xff'.*b'he'"),
        (line(b"he", 256) + line(b"he", 257), r"token b'he' .*256.*257"),
        (b"aGU=\n", "line 257.*base64.*rank"),
        (b"aGU= 256 257\n", "line 257.*base64.*rank"),
        (b"aGU=\0 256\n", "line 257.*base64"),
    ],
)
def test_rank_files(extra: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(lines(extra))
    refused(path, expected, "?pattern=gpt2")


def test_a_cut_off_rank_file(tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(lines()[:-1000])
    refused(path, "256.*bytes", "?pattern=gpt2")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("?pattern=gpt2&special=<s>", "CONTENT:ID"),
        ("?pattern=gpt2&special=<s>:-5", "'<s>:-5'.*CONTENT:ID"),
        (f"?pattern=gpt2&special=<s>:{BIG}", f"<s>:{BIG}.*CONTENT:ID"),
        ("?pattern=gpt2&special=<s>:7", "'<s>' .*id 7,"),
        ("?pattern=gpt2&special=<s>:300,<t>:300", "'<t>' .*id 300,.*'<s>'"),
        ("?pattern=(", "refused by tiktoken"),
        ("?pattern=\\p{Nonsense}", "refused by tiktoken"),
    ],
)
def test_options_of_rank_files(options: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(lines())
    refused(path, expected, options)


def tekken() -> dict[str, Any]:
    vocab = [{"rank": byte, "token_bytes": base64.b64encode(bytes([byte])).decode()} for byte in range(256)]
    config = {"pattern": r"\w+|\W+", "default_vocab_size": 266, "default_num_special_tokens": 10}
    return {"config": config, "vocab": vocab}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda c: c.pop("config"), "'config' .*'None'.*object"),
        (lambda c: c["config"].update(pattern=5), "'pattern' .*'5'.*string"),
        (lambda c: c["config"].update(default_vocab_size=BIG), "'default_vocab_size' .*1099511627776"),
        (lambda c: c["config"].update(default_vocab_size=5000), r"4,990 .*256\b"),
        (
            lambda c: c["config"].update(default_num_special_tokens=True),
            "'default_num_special_tokens' .*'True'",
        ),
        (lambda c: c["vocab"][5].update(rank=6), "vocab entry 5 "),
        (lambda c: c["vocab"][5].update({"token_bytes": "?"}), "vocab entry 5 .*base64"),
        (lambda c: c["vocab"][5].update({"token_bytes": "ü"}), "vocab entry 5 .*base64"),
        (lambda c: c["vocab"][5].update({"token_bytes": "AA=="}), "entries 0 and 5 "),
        (lambda c: c.update(special_tokens=[{"rank": 11, "token_str": "<s>"}]), "'rank' .*11.* 9"),
        (lambda c: c.update(special_tokens=[7]), "special token 0 .*7"),
        (lambda c: c.update(special_tokens=7), "'special_tokens' .*'7'.*list"),
    ],
)
def test_tekken(change: Callable[[dict[str, Any]], object], expected: str, tmp_path: Path) -> None:
    content = tekken()
    change(content)
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(content))
    refused(path, expected)


def piece(text: bytes, score: float = 0.0, kind: int = 1) -> bytes:
    return message(1, message(1, text) + b"\x15" + np.float32(score).tobytes() + bytes([0x18, kind]))


UNKNOWN = piece(b"<unk>", kind=2)


BPE = message(2, b"\x18\x02")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (UNKNOWN + piece(b"a")[:-3], "cut off"),
        (UNKNOWN + b"\x0a\xff\xff\xff\xff\x0f", "field .*4,294,967,295 bytes"),
        (UNKNOWN + b"\x0a" + b"\xff" * 12, "number .*10 bytes"),
        (UNKNOWN + b"\x0b", "wire type 3"),
        (UNKNOWN + b"\x02\x00", "field number 0"),
        (UNKNOWN + b"\x08\x05", "piece .*number"),
        (UNKNOWN + piece(b""), "piece 1 .*empty"),
        (UNKNOWN + piece(b"\xff\xfe"), "piece 1 .*UTF-8"),
        (UNKNOWN + piece(b"a") + piece(b"a"), "pieces 1 and 2 .*'a'"),
        (UNKNOWN + piece(b"a", float("nan")), "score .*piece 1 .*number"),
        (UNKNOWN + piece(b"a", kind=9), "piece 1 .*type"),
        (UNKNOWN + piece(b"a", kind=6), "piece 1 .*BYTE.*'a'"),
        (piece(b"a"), "0 unknown"),
        (UNKNOWN + piece(b"u", kind=2), "2 unknown"),
        (UNKNOWN + piece(b"a") + message(2, b"\x18\x09"), r"model type 9\b"),
    ],
)
def test_sentencepiece(content: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(content)
    refused(path, expected)


@pytest.mark.parametrize("kind", ["rank", "huggingface", "tekken", "sentencepiece"])
def test_random_damage_is_refused_or_harmless(kind: str, tmp_path: Path) -> None:
    """Cut, flipped, doubled: a damaged file loads and works, or is an InputError. Nothing else."""
    whole = {
        "rank": lines(line(b"he", 256)),
        "huggingface": json.dumps(huggingface()).encode(),
        "tekken": json.dumps(tekken()).encode(),
        "sentencepiece": UNKNOWN + b"".join(piece(bytes([c]), -c) for c in b"abcdefgh") + BPE,
    }[kind]
    chance = random.Random(kind)
    path = tmp_path / "file"
    survivors = 0
    for _ in range(120):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 3))):
            at = chance.randrange(len(data))
            if chance.random() < 0.2:
                del data[at:]
            elif chance.random() < 0.5:
                data[at] ^= 1 << chance.randrange(8)
            else:
                data[at:at] = data[at : at + chance.randrange(40)]
            if not data:
                break
        path.write_bytes(data)
        try:
            tokenizer = tokenizers.load(f"file:{path}" + ("?pattern=gpt2" if kind == "rank" else ""))
        except InputError:
            continue
        survivors += 1
        tokens = tokenizer.encode_batch(["hello he\n", "日本"])
        assert int(tokens.ids.max(initial=0)) < tokenizer.id_limit
    assert survivors < 120
