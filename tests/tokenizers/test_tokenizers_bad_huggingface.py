"""tokenizer.json files that are damaged, hostile or nested without end."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cases.refused_files import BIG, huggingface, refused, token


def model(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda content: content["model"].update(changes)


def stage(name: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda content: content.update({name: value})


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "NFC"}
    for _ in range(depth):
        found = {"type": "Sequence", "normalizers": [found]}
    return found


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda c: c.pop("model"), "has no 'model' object"),
        (stage("model", [1]), "has no 'model' object"),
        (model(type="Neural"), "unknown model type 'Neural'"),
        (model(vocab=[]), "'vocab' is not an object"),
        (model(vocab={}), "'vocab' is not an object"),
        (model(vocab={"a": BIG}), "the id of 'a' is 1099511627776; ids are from 0 to below"),
        (model(vocab={"a": -1}), "the id of 'a' is -1"),
        (model(vocab={"a": "1"}), "the id of 'a' is '1', not an integer"),
        (model(vocab={"a": 1.5}), "not an integer"),
        (model(vocab={"a": True}), "not an integer"),
        (model(vocab={"a": 1, "b": 1}), "id 1 belongs to both 'a' and 'b'"),
        (model(merges="h e"), "'merges' is not a list"),
        (model(merges=["h e", "h x"]), r"merge 1 \('h' \+ 'x'\) needs 'hx', which is not in the vocabulary"),
        (model(merges=["\u4e00 e"]), "needs '\u4e00', which is not in the vocabulary"),
        (model(merges=["he "]), "merge 0 has an empty part: 'he' \\+ ''"),
        (model(merges=[["", "he"]]), "has an empty part"),
        (model(merges=["h e l"]), "merge 0 is 'h e l', not a pair"),
        (model(merges=[["h"]]), "not a pair"),
        (model(merges=[5]), "not a pair"),
        (model(merges=[[["h"], "e"]]), "not a pair"),
        (model(continuing_subword_prefix=5), "'continuing_subword_prefix' is '5'"),
        (model(byte_fallback="yes"), "'byte_fallback' is 'yes'"),
        (model(unk_token=5), "unk_token 5 is not a string"),
        (model(dropout=7.5), "was refused by tokenizers"),
        (token(content=""), "added token 0 is"),
        (token(content=5), "added token 0 is"),
        (token(id=None), "the id of '<s>' is 'None'"),
        (token(id=BIG), "the id of '<s>' is 1099511627776"),
        (token(id=5), "added token '<s>' has id 5, which belongs to"),
        (token(id=9000), "added token '<s>' has id 9000, but tokenizers gives it 258"),
        (token(special="no"), "'special' of added token '<s>' is 'no'"),
        (lambda c: c["added_tokens"].append(c["added_tokens"][0]), "lists an added token twice"),
        (stage("added_tokens", {"a": 1}), "'added_tokens' is not a list"),
        (stage("added_tokens", [{"id": 300, "content": "a\udfff"}]), "half a surrogate pair"),
        (stage("normalizer", "NFC"), "normalizer is 'NFC', not an object with a type"),
        (stage("normalizer", {"type": "Sequence", "normalizers": [None]}), "normalizer is '{}'"),
        (stage("normalizer", {"type": "Sequence", "normalizers": 5}), "'normalizers' is not a list"),
        (stage("normalizer", {"type": "Nothing"}), "was refused by tokenizers"),
        (stage("normalizer", {"type": "Precompiled", "precompiled_charsmap": "AAAA"}), "was refused by tokenizers"),
        (stage("normalizer", nested(20)), "nested more than 16 deep"),
        (
            stage(
                "pre_tokenizer", {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": False}
            ),
            "was refused by tokenizers",
        ),
    ],
)
def test_huggingface(change: Callable[[dict[str, Any]], object], expected: str, tmp_path: Path) -> None:
    content = copy.deepcopy(huggingface())
    change(content)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content))
    refused(path, expected)


@pytest.mark.parametrize(
    ("vocab", "unk_id", "expected"),
    [
        ([["a", 0.0], ["a", 1.0]], 0, "vocab entries 0 and 1 are both 'a'"),
        ([["a", "x"]], 0, "vocab entry 0 is"),
        ([["a"]], 0, "vocab entry 0 is"),
        ([["a", float("nan")]], 0, "vocab entry 0 is"),
        ([["a", 0.0]], 7, "unk_id 7 is no id"),
        ([["a", 0.0]], -1, "unk_id -1 is no id"),
        ({"a": 0}, 0, "'vocab' is not a list"),
    ],
)
def test_unigram(vocab: Any, unk_id: int, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"added_tokens": [], "model": {"type": "Unigram", "vocab": vocab, "unk_id": unk_id}}))
    refused(path, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (json.dumps(huggingface())[:-400].encode(), "is not valid JSON, or is cut off"),
        (b'{"model": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"model": {"type": "BPE", "vocab": {"a": 1, "a": 2}, "merges": []}}', "key 'a' occurs twice"),
        (
            b'{"model": {"type": "BPE", "vocab": {"a": ' + b"9" * 5000 + b'}, "merges": []}}',
            "integer string conversion",
        ),
        (b'{"model": "\xff\xfe"}', "is not valid UTF-8"),
        (b'{"model": {"type": "BPE", "vocab": {"\\ud800": 0}, "merges": []}}', "was refused by tokenizers"),
        (b'{"a": 1}\0', "is not valid JSON"),
        (b"{", "is not valid JSON"),
    ],
)
def test_broken_json(text: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(text)
    refused(path, expected)
