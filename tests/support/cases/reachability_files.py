"""tokenizer.json files with tokens that are dead or alive, and their verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from pyharness import tokenizers
from pyharness.metrics import reachability
from pyharness.metrics.reachability import PipelineTest, Verdict
from pyharness.types import HasVocabulary

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
