"""Model files that are damaged, edited or claim what cannot be: one clear error each."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from bpe_models import character_model, trained_model
from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.formats.own_file import load_bytes, save_bytes
from pyharness.bpe.model import check as model_check
from pyharness.system.environment import version_of
from pyharness.types import InputError
from pyharness.vocabularies.own_file import digest
from tokenizer_files import sentencepiece_data

VERSION = version_of("pyharness")
Content = dict[str, Any]


@cache
def written(pattern: str, *, scaffold: bool = False) -> bytes:
    return save_bytes(trained_model(pattern, scaffold=scaffold))


def damaged(change: Callable[[Content], object], *, scaffold: bool = False) -> bytes:
    """A file that was edited by someone who knows how to compute the digest."""
    content: Content = json.loads(written("gpt2", scaffold=scaffold))
    del content["digest"]
    change(content)
    head = {"format": content.pop("format", None), "version": content.pop("version", None)}
    whole = {**head, "digest": digest({**head, **content}), **content}
    return json.dumps(whole).encode()


def setting(*path: str | int, to: Any) -> Callable[[Content], object]:
    def change(content: Any) -> None:
        for step in path[:-1]:
            content = content[step]
        content[path[-1]] = to

    return change


def without(*path: str | int) -> Callable[[Content], object]:
    def change(content: Any) -> None:
        for step in path[:-1]:
            content = content[step]
        del content[path[-1]]

    return change


def nested(depth: int) -> Mapping[str, Any]:
    stage: Mapping[str, Any] = {"type": "NFC"}
    for _ in range(depth):
        stage = {"type": "Sequence", "normalizers": [stage]}
    return stage


DAMAGE = {
    "newer": (
        setting("version", to=3),
        f"version 3 .* up to 2: install the pyharness .* .'{VERSION}'. or",
    ),
    "newer by a stranger": (
        lambda c: c.update({"version": 3, "written_by": "a\n\x1b[31m"}),
        r"wrote it .'a.n.x1b.31m'. or",
    ),
    "unknown member": (setting("dropout", to=0.5), "has a member 'dropout', which this version of the format does not"),
    "base symbol": (lambda c: c["alphabet"].update({"a": 98, "b": 97}), "base symbol b'a' has id 98, which is b'b'"),
    "empty symbol": (setting("alphabet", "", to=97), "base symbol b'' has id 97, which is b'a'"),
    "rule twice": (
        lambda c: c["merges"]["rules"].extend(c["merges"]["rules"][:3]),
        "rule 444 is the second that merges ids",
    ),
    "no version": (setting("version", to="1"), "version '1'"),
    "another format": (setting("format", to="else"), "not a pyharness-bpe file"),
    "algorithm": (setting("algorithm", to="wordpiece"), "'algorithm' is 'wordpiece'; known: bpe, scaffold-bpe"),
    "type": (setting("whole_pieces", to=1), "'whole_pieces' is '1'"),
    "missing": (without("symbols"), "'symbols' is 'None'"),
    "no tokens": (setting("tokens", to=[]), "has 0 entries"),
    "token type": (setting("tokens", 300, to=7), "has 7, not a string"),
    "foreign letter": (setting("tokens", 300, to="a b"), "' ' .*byte alphabet"),
    "twice": (lambda c: setting("tokens", 400, to=c["tokens"][399])(c), "ids 399 and 400 are the same token"),
    "gap": (setting("tokens", 300, to=None), "rule .* merges"),
    "shorter": (without("tokens", 701), "not from 0 to below 701"),
    "kind": (setting("kinds", to={"odd": [1]}), "unknown kind 'odd'"),
    "kind of no id": (setting("kinds", "special", to=[700, 702]), "has 702, which is not from 0 to below 702"),
    "kind twice": (setting("kinds", "special", to=[700, 700]), "listed twice"),
    "added id": (setting("added", 0, "id", to=5), r"id 5\b.* unknown"),
    "added far": (setting("added", 0, "id", to=9999), "id 9999, not below 702"),
    "added bomb": (setting("added", 0, "id", to=2**31), "ids are from 0 to below"),
    "added twice": (lambda c: c["added"].append(c["added"][0]), "twice"),
    "big id": (setting("merges", "rules", 4, to=2**31), "2147483648, which is not from 0 to below 702"),
    "huge id": (setting("merges", "rules", 4, to=10**40), "which is not from 0 to below 702"),
    "negative": (setting("merges", "rules", 4, to=-1), "has -1, which is not"),
    "fraction": (setting("merges", "rules", 4, to=1.5), "has 1.5, not an integer"),
    "truth": (setting("merges", "rules", 4, to=True), "has True, not an integer"),
    "pairs": (without("merges", "rules", 0), "no triples"),
    "result": (setting("merges", "rules", 2, to=300), "rule 0 merges"),
    "same length": (lambda c: setting("merges", "rules", 2, to=c["merges"]["rules"][5])(c), "rule 0 merges"),
    "both": (setting("merges", "ranks", to=[-1] * 702), "either 'rules' or 'ranks'"),
    "neither": (without("merges", "rules"), "either 'rules' or 'ranks'"),
    "few ranks": (setting("merges", to={"ranks": [1]}), "1 ranks for 702 tokens"),
    "big rank": (setting("merges", to={"ranks": [2**31] * 702}), "not from -1 to below"),
    "base": (setting("merges", "base", to=[[1]]), "'strings' is 'None'"),
    "alphabet id": (setting("alphabet", "a", to=702), "not from 0 to below 702"),
    "alphabet lacks": (without("alphabet", "a"), "a byte that is not in the alphabet"),
    "characters": (setting("symbols", to="characters"), "has no 'base'"),
    "unknown": (setting("unknown", to=702), "not from 0 to below 702"),
    "fallback": (setting("fallback", to=[1, 2]), "'fallback' has 2 ids"),
    "splitter": (setting("splitter", to={"pretokenizers": []}), "not an object with a type"),
    "nesting": (setting("normalizer", to=nested(40)), "nested more than"),
    "scaffold of bpe": (setting("algorithm", to="scaffold-bpe"), "scaffold-bpe without scaffold tokens"),
    "charsmap": (setting("normalizer", to={"type": "SentencePiece", "charsmap": "?"}), "'charsmap' is not base64"),
}


def added_token(content: Content) -> None:
    """A second token that is no special one, and reads otherwise than its id."""
    flags = dict.fromkeys(("special", "normalized", "lstrip", "rstrip"), False)
    content["kinds"] = {"special": [700], "added": [701]}
    content["added"] = [{"id": 701, "content": "<other>", **flags}]


CLAIMS: dict[str, tuple[Callable[[Content], object], str]] = {
    "space": (setting("drop_space", to=True), "normalised at best: a leading space is dropped"),
    "normaliser": (setting("normalizer", to={"type": "NFC"}), "normalised at best: normalizer NFC"),
    "splitter": (setting("splitter", to={"type": "Whitespace"}), "lossy at best: pre_tokenizer Whitespace"),
    "decoder": (setting("decoder", to={"type": "Fuse"}), "lossy at best: .*byte alphabet"),
    "added": (added_token, "normalised at best: the added token '<other>' reads"),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_a_round_trip_that_cannot_be(name: str) -> None:
    change, reason = CLAIMS[name]
    with pytest.raises(InputError, match=f"model.json.*'round_trip'.*'exact'.*{reason}"):
        load_bytes(damaged(change), "model.json")
    possible = setting("round_trip", to=reason.partition(" ")[0])
    load_bytes(damaged(lambda content: (change(content), possible(content))), "model.json")


def test_symbols_that_cannot_give_text_back() -> None:
    with pytest.raises(InputError, match=r"lossy.*'</w>'"):
        save_bytes(dataclasses.replace(trained_model("gpt2"), suffix="</w>"))
    with pytest.raises(InputError, match=r"lossy.*characters"):
        save_bytes(dataclasses.replace(character_model(), round_trip="normalised"))
    model = import_model(sentencepiece_data(2, byte_fallback=True))
    swapped = (model.fallback[1], model.fallback[0], *model.fallback[2:])
    with pytest.raises(InputError, match=r"byte 0x00.* id"):
        save_bytes(dataclasses.replace(model, fallback=swapped))


def test_affixes_that_ranks_ignore() -> None:
    model = import_model(sentencepiece_data(2, byte_fallback=True))
    for affix in ("prefix", "suffix"):
        with pytest.raises(InputError, match=r"'##'.* ranks"):
            save_bytes(dataclasses.replace(model, round_trip="lossy", **{affix: "##"}))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_one_clear_error(name: str) -> None:
    change, expected = DAMAGE[name]
    with pytest.raises(InputError, match=expected) as caught:
        load_bytes(damaged(change), "model.json")
    assert str(caught.value).startswith("model.json")
    assert len(str(caught.value)) < 400


def scaffold_byte(content: Content) -> None:
    """Call the byte 0 a scaffold token."""
    content["scaffold"]["tokens"]["0"] = content["tokens"].pop(0)
    content["kinds"]["special"] = [699, 700]
    for token in content["added"]:
        token["id"] -= 1


def doubling(content: Content) -> None:
    """Rules that would demolish the last of 100 scaffold tokens into 2**100 parts."""
    total = 700 + len(content["scaffold"]["tokens"])
    content["scaffold"]["tokens"] |= {str(total + index): "ab" for index in range(100)}
    for token in range(total, total + 100):
        content["merges"]["rules"] += [token - 1, token - 1, token]


SCAFFOLD_DAMAGE = {
    "id": (lambda c: c["scaffold"]["tokens"].update({"x": "ab"}), "not an id"),
    "far": (lambda c: c["scaffold"]["tokens"].update({"99999": "ab"}), "not from 0 to below"),
    "same id": (lambda c: c["scaffold"]["tokens"].update({"0" + next(iter(c["scaffold"]["tokens"])): "ab"}), "twice"),
    "letter": (
        lambda c: c["scaffold"]["tokens"].update({next(iter(c["scaffold"]["tokens"])): " "}),
        "letter of the byte",
    ),
    "string": (lambda c: c["scaffold"]["tokens"].update({next(iter(c["scaffold"]["tokens"])): "!!"}), "rule .* merges"),
    "demolition": (setting("scaffold", "demolition", to="none"), "known: eq6, shortest"),
    "fewer": (lambda c: c["scaffold"]["tokens"].popitem(), "not from 0 to below|rule .* merges"),
    "byte": (scaffold_byte, "cannot be demolished: scaffold token 0 is made of no earlier tokens"),
    "doubling": (doubling, "rule .* merges"),
    "plain": (setting("algorithm", to="bpe"), "bpe with scaffold tokens"),
    "ranks": (
        lambda c: setting("merges", to={"ranks": [-1] * (700 + len(c["scaffold"]["tokens"]))})(c),
        "'rules', not 'ranks'",
    ),
    "gap": (lambda c: c["tokens"].__setitem__(400, None), "gap"),
}


@pytest.mark.parametrize("name", SCAFFOLD_DAMAGE)
def test_damaged_scaffold(name: str) -> None:
    change, expected = SCAFFOLD_DAMAGE[name]
    with pytest.raises(InputError, match=expected):
        load_bytes(damaged(change, scaffold=True), "model.json")


def test_every_changed_byte_is_noticed() -> None:
    data = written("gpt2")
    generator = np.random.default_rng(3)
    for at in generator.integers(0, len(data), 60).tolist():
        changed = bytearray(data)
        changed[at] = changed[at] ^ 1 or 1
        with pytest.raises(InputError):
            load_bytes(bytes(changed), "model.json")
    for at in generator.integers(0, len(data), 20).tolist():
        with pytest.raises(InputError):
            load_bytes(data[:at], "model.json")


@pytest.mark.parametrize("value", [b"NaN", b"1e999", b'"\\ud800"', b"[" * 990 + b"]" * 990])
def test_what_cannot_have_a_digest(value: bytes) -> None:
    with pytest.raises(InputError, match=r"pyharness-bpe|nested|digest"):
        load_bytes(b'{"format": "pyharness-bpe", "version": 1, "origin": ' + value + b"}", "model.json")


def test_rules_that_take_hours_to_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_check, "MOST_COMPARED", 1000)
    with pytest.raises(InputError, match=r" rules .* 1,000\b"):
        load_bytes(written("gpt2"), "model.json")


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{" * 100_000, b'{"format": "pyharness-bpe", "a": ' + b"[" * 100_000, b'{"format": "pyharness-bpe"}'],
    ids=["empty", "list", "nesting", "nested lists", "head only"],
)
def test_what_is_no_model(data: bytes) -> None:
    with pytest.raises(InputError):
        load_bytes(data, "model.json")
