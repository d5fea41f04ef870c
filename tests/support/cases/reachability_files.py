"""tokenizer.json files with tokens that are dead or alive, and their verdicts."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from pyharness import tokenizers
from pyharness.metrics import reachability
from pyharness.metrics.reachability import PipelineTest, Verdict
from pyharness.types import HasVocabulary
from tokenizer_files import message

NONE = np.zeros(0, np.uint32)


def symbols() -> dict[int, str]:
    """The character that stands for each byte in byte-level BPE, as GPT-2 writes them."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}


def spelled(text: str) -> str:
    return "".join(symbols()[byte] for byte in text.encode())


def merges_of(word: str) -> list[str]:
    """Rules that make a word from left to right."""
    return [f"{word[:place]} {word[place]}" for place in range(1, len(word))]


def regex_split(expression: str) -> dict[str, Any]:
    step = {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"type": "Sequence", "pretokenizers": [step, level]}


GPT2 = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def byte_level(words: list[str], **options: Any) -> dict[str, Any]:
    """A byte-level BPE whose rules make the given texts."""
    vocabulary = {symbol: byte for byte, symbol in symbols().items()}
    merges: list[str] = []
    for word in map(spelled, words):
        for place in range(2, len(word) + 1):
            vocabulary.setdefault(word[:place], len(vocabulary))
        merges += [rule for rule in merges_of(word) if rule not in merges]
    model = {"type": "BPE", "vocab": vocabulary, "merges": options.pop("merges", merges)}
    return {"version": "1.0", "pre_tokenizer": GPT2, "decoder": GPT2, "model": model} | options


def added(content: str, number: int, **flags: bool) -> dict[str, Any]:
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": number, "content": content} | plain | flags


def examined(folder: Path, file: dict[str, Any], options: str = "") -> tuple[PipelineTest, dict[str, int]]:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    tokenizer = tokenizers.load(f"{options and 'native+'}file:{path}{options}")
    assert isinstance(tokenizer, HasVocabulary)
    vocabulary = tokenizer.vocabulary()
    test = PipelineTest(tokenizer, vocabulary)
    test.run(reachability.examine_model(tokenizer, vocabulary), NONE)
    return test, dict(file["model"]["vocab"]) if isinstance(file["model"]["vocab"], dict) else {}


def verdict_of(folder: Path, file: dict[str, Any], token: str, options: str = "") -> tuple[Verdict, str]:
    """Verdict of a token by its model string, and its argument or the text that shows it."""
    test, vocabulary = examined(folder, file, options)
    number = vocabulary[token]
    argument = test.arguments.get(number)
    evidence = argument.kind if argument else test.witnesses.get(number, "")
    if evidence and not argument:
        assert number in test.tokenizer.encode_batch([evidence]).ids
    return Verdict(int(test.verdicts[number])), evidence


# Files that merge what characters fall back on: byte pieces, the unknown token, characters that are no pieces.
FALLING_BACK = "abé"
TEXTS = [
    *("".join(text) for length in range(1, 6) for text in product(FALLING_BACK, repeat=length)),
    *("".join(text) for length in range(1, 4) for text in product(FALLING_BACK + "<0> ", repeat=length)),
]


def huggingface_file(random: Random, *, affixes: bool = False) -> dict[str, Any]:
    """A tokenizer.json with some letters, some bytes to fall back on, perhaps an unknown token, and random rules."""
    unknown = random.choice([None, "<unk>", "<unk>", "u", "ab", "é", "?a"])
    prefix, suffix = (random.choice(some) if affixes else "" for some in (("", "##", "a", "<0"), ("", "</w>", "b")))
    fallback = [f"<0x{byte:02X}>" for byte in (0xC3, 0xA9, 0x61, 0x62) if random.random() < 0.85]
    tokens = [letter for letter in FALLING_BACK if random.random() < 0.6] or ["a"]
    tokens += [
        *random.choice(("", "", "<0")),
        *random.choice((fallback, fallback, [])),
        *([unknown] if unknown else ()),
    ]
    marked = [(prefix + one, one + suffix, prefix + one + suffix) for one in tokens if len(one) == 1]
    tokens = list(dict.fromkeys([*tokens, *(one for some in marked for one in some if random.random() < 0.8)]))
    merges: list[list[str]] = []
    for _ in range(random.randint(1, 7)):
        left, right = random.choice(tokens), random.choice(tokens)
        # The library cuts as many bytes off the right part, and ends where that is within a character.
        cut_well = right.startswith(prefix) or (right.isascii() and len(right) >= len(prefix) and random.random() < 0.5)
        if cut_well and len(left + right) <= 30 and [left, right] not in merges:
            merges.append([left, right])
            tokens += [made for made in [left + right[len(prefix) :]] if made not in tokens]
    random.shuffle(merges)
    model = {
        "type": "BPE",
        "vocab": {token: number for number, token in enumerate(tokens)},
        "merges": merges,
        "unk_token": unknown,
        "fuse_unk": random.random() < 0.5,
        "byte_fallback": random.random() < 0.9,
        "ignore_merges": random.random() < 0.2 and not (prefix or suffix),
        "continuing_subword_prefix": prefix or None,
        "end_of_word_suffix": suffix or None,
    }
    return {"version": "1.0", "model": model, "decoder": {"type": "Fuse"}}


def sentencepiece_file(random: Random) -> tuple[bytes, list[str]]:
    """A SentencePiece BPE model, some of whose pieces have characters that are no pieces; and its pieces."""
    in_bytes = random.random() < 0.5
    names = [letter for letter in FALLING_BACK + "▁" if random.random() < 0.7]
    names += ["".join(random.choices("aabéé▁", k=random.randint(2, 4))) for _ in range(random.randint(2, 8))]
    names += [name for name in ("<unk>a", "<0xC3><0xA9>") if random.random() < 0.3]
    names = list(dict.fromkeys(names))
    random.shuffle(names)
    unknown = random.choice(("<unk>", "u"))
    pieces = [(unknown, 0.0, 2), *((f"<0x{byte:02X}>", 0.0, 6) for byte in range(256) if in_bytes)]
    pieces += [
        (name, -float(at // random.choice((1, 2))), random.choice((1, 1, 1, 5, 4))) for at, name in enumerate(names)
    ]
    data = sentencepiece_model(pieces, in_bytes=in_bytes)
    return data, [piece for piece, _, _ in pieces]


def sentencepiece_model(pieces: list[tuple[str, float, int]], *, in_bytes: bool) -> bytes:
    """A BPE model of pieces with their scores and types."""
    data = b"".join(
        message(1, message(1, piece.encode()) + b"\x15" + np.float32(score).tobytes() + bytes([0x18, kind]))
        for piece, score, kind in pieces
    )
    trainer = bytes([0x18, 2]) + bytes([35 << 3 & 0x7F | 0x80, 35 << 3 >> 7, int(in_bytes)])
    return data + message(2, trainer) + message(3, b"\x0a\x08identity")
