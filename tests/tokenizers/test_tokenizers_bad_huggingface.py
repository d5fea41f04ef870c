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
        (lambda c: c.pop("model"), "'model'"),
        (stage("model", [1]), "'model'"),
        (model(type="Neural"), "type 'Neural'"),
        (model(vocab=[]), "'vocab' .*object"),
        (model(vocab={}), "'vocab' .*object"),
        (model(vocab={"a": BIG}), "id .*'a' .*1099511627776"),
        (model(vocab={"a": -1}), "id .*'a' .*-1"),
        (model(vocab={"a": "1"}), "id .*'a' .*'1'.*integer"),
        (model(vocab={"a": 1.5}), r"'a' .*'1\.5'.*integer"),
        (model(vocab={"a": True}), "'a' .*'True'.*integer"),
        (model(vocab={"a": 1, "b": 1}), "id 1 .*'a'.*'b'"),
        (model(merges="h e"), "'merges' .*list"),
        (model(merges=["h e", "h x"]), r"merge 1 \('h' \+ 'x'\).*'hx'.*vocabulary"),
        (model(merges=["\u4e00 e"]), " '\u4e00'.*vocabulary"),
        (model(merges=["he "]), r"merge 0 .*empty.*'he' \+ ''"),
        (model(merges=[["", "he"]]), r"merge 0 .*empty.*'' \+ 'he'"),
        (model(merges=["h e l"]), "merge 0 .*'h e l'.*pair"),
        (model(merges=[["h"]]), "merge 0 .*pair"),
        (model(merges=[5]), "merge 0 .*pair"),
        (model(merges=[[["h"], "e"]]), "merge 0 .*pair"),
        (model(continuing_subword_prefix=5), "'continuing_subword_prefix'.*'5'"),
        (model(byte_fallback="yes"), "'byte_fallback'.*'yes'"),
        (model(unk_token=5), "unk_token 5 .*string"),
        (model(dropout=7.5), "refused by tokenizers"),
        (token(content=""), "added token 0 "),
        (token(content=5), "added token 0 "),
        (token(id=None), "id .*'<s>' .*'None'"),
        (token(id=BIG), "id .*'<s>' .*1099511627776"),
        (token(id=5), "'<s>' .*id 5,"),
        (token(id=9000), "'<s>' .*id 9000.* 258"),
        (token(special="no"), "'special'.*'<s>'.*'no'"),
        (lambda c: c["added_tokens"].append(c["added_tokens"][0]), "added token .*twice"),
        (stage("added_tokens", {"a": 1}), "'added_tokens' .*list"),
        (stage("added_tokens", [{"id": 300, "content": "a\udfff"}]), "surrogate"),
        (stage("normalizer", "NFC"), "normalizer .*'NFC'.*object"),
        (stage("normalizer", {"type": "Sequence", "normalizers": [None]}), "normalizer .*'{}'"),
        (stage("normalizer", {"type": "Sequence", "normalizers": 5}), "'normalizers' .*list"),
        (stage("normalizer", {"type": "Nothing"}), "refused by tokenizers"),
        (stage("normalizer", {"type": "Precompiled", "precompiled_charsmap": "AAAA"}), "refused by tokenizers"),
        (stage("normalizer", nested(20)), "nested .*16"),
        (
            stage(
                "pre_tokenizer", {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": False}
            ),
            "refused by tokenizers",
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
        ([["a", 0.0], ["a", 1.0]], 0, "0 and 1 .*'a'"),
        ([["a", "x"]], 0, "vocab entry 0 "),
        ([["a"]], 0, "vocab entry 0 "),
        ([["a", float("nan")]], 0, "vocab entry 0 "),
        ([["a", 0.0]], 7, "unk_id 7 "),
        ([["a", 0.0]], -1, "unk_id -1 "),
        ({"a": 0}, 0, "'vocab' .*list"),
    ],
)
def test_unigram(vocab: Any, unk_id: int, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"added_tokens": [], "model": {"type": "Unigram", "vocab": vocab, "unk_id": unk_id}}))
    refused(path, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (json.dumps(huggingface())[:-400].encode(), "JSON.*cut off"),
        (b'{"model": ' + b"[" * 100_000, "nested"),
        (b'{"model": {"type": "BPE", "vocab": {"a": 1, "a": 2}, "merges": []}}', "key 'a' .*twice"),
        (
            b'{"model": {"type": "BPE", "vocab": {"a": ' + b"9" * 5000 + b'}, "merges": []}}',
            "integer string conversion",
        ),
        (b'{"model": "\xff\xfe"}', "UTF-8"),
        (b'{"model": {"type": "BPE", "vocab": {"\\ud800": 0}, "merges": []}}', "refused by tokenizers"),
        (b'{"a": 1}\0', "valid JSON"),
        (b"{", "valid JSON"),
    ],
)
def test_broken_json(text: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(text)
    refused(path, expected)
