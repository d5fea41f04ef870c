"""Small tokenizers to adapt, as files of every kind, and texts of other words."""

from __future__ import annotations

import json
from pathlib import Path

from pyharness.bpe import PieceCounter, TextSplitter, export_model, model_of_training, train

OLD = ["the cat sat on the mat; the rat sat on the cat", "a hat, a bat and the mat"] * 5
NEW = ["kass istus mati peal ja rott istus kassi peal", "müts, nahkhiir ja matt istusid kassi mati peal"] * 5
SPECIAL = ("<|end|>", "<|reserved_0|>", "<|reserved_1|>")


def write_base(folder: Path, name: str = "tokenizer.json") -> Path:
    """Write a byte-level BPE of 270 ids, and with special tokens where the kind of file has them."""
    splitter = TextSplitter("gpt2")
    counter = PieceCounter(splitter)
    counter.add(OLD)
    special = SPECIAL if name == "tokenizer.json" else ()
    model = model_of_training(train(counter.pieces(), 270), splitter, special=special)
    path = folder / name
    path.write_bytes(export_model(model, "tokenizer.json" if name == "tokenizer.json" else "tiktoken"))
    return path


def with_reserved_in_the_middle(path: Path) -> Path:
    """Put a gap before the special tokens of a tokenizer.json."""
    content = json.loads(path.read_text(encoding="utf-8"))
    for token in content["added_tokens"]:
        token["id"] += 2
        content["model"]["vocab"].pop(token["content"], None)
    content["model"]["vocab"] |= {token["content"]: token["id"] for token in content["added_tokens"]}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def metaspace_file(*, split: bool) -> bytes:
    """Return a tokenizer.json that marks spaces and finds ▁abcd by lookup alone; unsplit text is one piece."""
    vocab = {string: token for token, string in enumerate([*"▁abcdef", "▁abcd", "cd"])}
    content = {
        "added_tokens": [],
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": split},
        "model": {"type": "BPE", "ignore_merges": True, "vocab": vocab, "merges": [["c", "d"]]},
    }
    return json.dumps(content).encode()
