"""What is checked of an edited file before it is written; each kind of mistake is seen."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from adapted.edited_files import extension_of, made_up, strings_of, texts_of, without_leaves
from bpe_files import FILES, added, characters_file, unused
from pyharness.bpe import BpeModel, import_model
from pyharness.features.adaptation.bpe.edited_file import check_extended, check_pruned
from pyharness.features.adaptation.bpe.extension import Extension
from pyharness.features.adaptation.bpe.placement import Placement, place
from pyharness.features.adaptation.editing.files import extend_file, prune_file
from pyharness.types import InputError
from pyharness.vocabularies.sentencepiece_file import read_model

KINDS = ("byte level", "ranks", "tekken", "sentencepiece, unused pieces", "characters, byte fallback", "letters")


def file_of(name: str) -> bytes:
    content = FILES[name]
    return content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False).encode()


def model_of(name: str) -> BpeModel:
    return import_model(file_of(name), pattern="gpt2" if name == "ranks" else None)


def drawn(model: BpeModel, count: int, reuse: str | None = None) -> tuple[Extension, Placement]:
    """Made-up extension, and ids for it."""
    tokens, pairs = made_up(model, count, random.Random(4))
    extension = extension_of(model, tokens, pairs)
    return extension, place(model, count, reuse=reuse)


def edited(name: str, model: BpeModel, extension: Extension, placement: Placement) -> bytes:
    strings = [*strings_of(model), *extension.tokens]
    rules = [(strings[left], strings[right]) for left, right, _ in extension.rules.tolist()]
    tokens = list(zip(placement.ids.tolist(), extension.tokens, strict=True))
    return extend_file(file_of(name), tokens, rules, name)


@pytest.mark.parametrize("name", KINDS)
def test_right_files_pass(name: str) -> None:
    model = model_of(name)
    extension, placement = drawn(model, 9)
    texts = texts_of(model, extension.tokens, random.Random(1))
    data = edited(name, model, extension, placement)
    found = check_extended(data, model, extension, placement, texts, name, reachable=False)
    assert found.id_limit == model.id_limit + 9
    ids = without_leaves(model, 0.6, random.Random(2))
    assert check_pruned(prune_file(file_of(name), ids, name), model, ids, texts, name).id_limit == ids.size


def test_reused_ids_pass() -> None:
    for name, reuse in (("sentencepiece, unused pieces", r"he|\[X\]"), ("byte level", " +")):
        model = model_of(name)
        extension, placement = drawn(model, 5, reuse)
        assert placement.ids.min() < model.id_limit
        data = edited(name, model, extension, placement)
        texts = texts_of(model, extension.tokens, random.Random(1))
        check_extended(data, model, extension, placement, texts, name, reachable=False)


def _content(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def damaged(data: bytes) -> bytes:
        content = json.loads(data)
        change(content)
        return json.dumps(content).encode()

    return damaged


def _swap(content: dict[str, Any]) -> None:
    vocab = content["model"]["vocab"]
    vocab["he"], vocab["ll"] = vocab["ll"], vocab["he"]


MISTAKES: Mapping[str, tuple[Callable[[bytes], bytes], str]] = {
    "no last rule": (_content(lambda content: content["model"]["merges"].pop()), "rules"),
    "rules in another order": (_content(lambda content: content["model"]["merges"].reverse()), "rules"),
    "ids exchanged": (_content(_swap), "strings"),
    "one token more": (_content(lambda content: content["model"]["vocab"].update({"new": 999})), "kinds of tokens"),
    "another split": (_content(lambda content: content.update({"pre_tokenizer": None})), "splitter"),
    "an option without a meaning here": (
        _content(lambda content: content["model"].update({"byte_fallback": True})),
        "",
    ),
    "a special token that is none": (
        _content(lambda content: content["added_tokens"][0].update({"special": False})),
        "added tokens",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_wrong_files_are_refused(mistake: str) -> None:
    model = model_of("byte level")
    extension, placement = drawn(model, 9)
    damage, what = MISTAKES[mistake]
    data = damage(edited("byte level", model, extension, placement))
    if not what:
        check_extended(data, model, extension, placement, ["hello"], "it", reachable=False)
        return
    with pytest.raises(InputError, match=rf"it: .*\(.*\b{what}\b.* differ\)"):
        check_extended(data, model, extension, placement, ["hello"], "it")


def test_ranks_in_another_order_are_refused() -> None:
    model = model_of("ranks")
    extension, placement = drawn(model, 2)
    data = edited("ranks", model, extension, placement)
    first, second = data.splitlines()[-2:]
    swapped = data.replace(first, first[:-3] + second[-3:]).replace(second + b"\n", second[:-3] + first[-3:] + b"\n")
    with pytest.raises(InputError, match="strings"):
        check_extended(swapped, model, extension, placement, [], "it")
    ids = without_leaves(model, 0.5, random.Random(2))
    with pytest.raises(InputError, match=r"kinds of tokens|strings"):
        check_pruned(file_of("ranks"), model, ids, [], "it")


def test_scores_in_another_order_are_refused() -> None:
    name = "sentencepiece, unused pieces"
    model = model_of(name)
    extension, placement = drawn(model, 2)
    data = edited(name, model, extension, placement)
    first, second = (np.float32(score).tobytes() for score in read_model(data, name).scores[-2:])
    start = data.index(extension.tokens[0])
    swapped = data[:start] + data[start:].replace(first, b"1234").replace(second, first).replace(b"1234", second)
    assert read_model(swapped, name).scores[-2:] == read_model(data, name).scores[:-3:-1]
    with pytest.raises(InputError, match=r"ranks differ"):
        check_extended(swapped, model, extension, placement, [], name)


def test_an_added_character_that_becomes_a_symbol_is_refused() -> None:
    data = json.dumps(characters_file(added_tokens=added("中", special=True))).encode()
    model = import_model(data)
    extension, placement = drawn(model, 2)
    tokens = list(zip(placement.ids.tolist(), extension.tokens, strict=True))
    longer = extend_file(data, tokens, made_up(model, 2, random.Random(4))[1], "it")
    with pytest.raises(InputError, match=r"\(symbols differ\)"):
        check_extended(longer, model, extension, placement, [], "it")


def test_a_library_that_disagrees_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tokenizers")
    model = model_of("byte level")
    extension, placement = drawn(model, 3)
    data = edited("byte level", model, extension, placement)
    monkeypatch.setattr("pyharness.features.adaptation.bpe.edited_file._of_tokenizers", lambda *_: [[1, 2]])
    with pytest.raises(InputError, match=r"it: tokenizers .*'hello'"):
        check_extended(data, model, extension, placement, ["hello"], "it")


def test_new_tokens_that_merges_do_not_give_are_refused() -> None:
    """Of xhe, "he" is merged before the x can be."""
    model = model_of("byte level")
    number = {string: token for token, string in enumerate(strings_of(model))}
    first = model.id_limit
    rules = np.array([(number[b"x"], number[b"h"], first), (first, number[b"e"], first + 1)], np.uint32)
    extension = Extension(first, (b"xh", b"xhe"), rules, np.ones(2, np.uint64), complete=True)
    placement = place(model, 2)
    data = edited("byte level", model, extension, placement)
    with pytest.raises(InputError, match=r"it: 1 new tokens?\b.*'xhe'"):
        check_extended(data, model, extension, placement, [], "it")
    assert check_extended(data, model, extension, placement, ["xhe"], "it", reachable=False).id_limit == first + 2


def test_old_tokens_that_were_made_of_one_whose_id_is_used_again_are_refused() -> None:
    data = unused("he")
    model = import_model(data)
    number = {string: token for token, string in enumerate(strings_of(model))}
    rules = np.array([(number[b"w"], number[b"e"], model.id_limit)], np.uint32)
    extension = Extension(model.id_limit, (b"we",), rules, np.ones(1, np.uint64), complete=True)
    placement = Placement(np.array([number[b"he"]], np.uint32), model.id_limit)
    longer = extend_file(data, [(number[b"he"], b"we")], [], "it")
    with pytest.raises(InputError, match=r"it: 1 tokens? of .*\bbase .*'hell'"):
        check_extended(longer, model, extension, placement, [], "it", reachable=False)
