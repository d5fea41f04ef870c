"""Edited tokenizer.json files: what changes, that nothing else does, and that ``tokenizers`` reads them as we do."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapted.edited_files import changed_keys, ids_of, made_up, texts_of, without, without_leaves
from bpe_files import FILES, added, characters_file, words_file
from pyharness.bpe import import_model
from pyharness.features.adaptation.editing.files import extend_file, prune_file
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.types import InputError
from pyharness.vocabularies.files.byte_alphabet import in_letters
from tokenizer_files import byte_level

Style = Callable[[Any], bytes]
STYLES: dict[str, Style] = {
    "compact": lambda content: json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode(),
    "default": lambda content: json.dumps(content).encode(),
    "pretty": lambda content: json.dumps(content, indent=2, ensure_ascii=False).encode(),
    "tabs, an end of line": lambda content: json.dumps(content, indent="\t").encode() + b"\r\n",
    "space before colons": lambda content: json.dumps(content, indent=1, separators=(" ,", " : ")).encode(),
}
EDITABLE = {name: content for name, content in FILES.items() if isinstance(content, dict) and "model" in content}
SAME_SYMBOLS = {
    name: content for name, content in EDITABLE.items() if not name.startswith(("words", "no decoder, words"))
}
TOKENS = [(263, b"hell"), (264, b" wh"), (265, b"\xffh")]
RULES = [(b"he", b"ll"), (b" w", b"h"), (b"\xff", b"h")]


def in_pairs(content: dict[str, Any]) -> dict[str, Any]:
    merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in content["model"]["merges"]]
    return content | {"model": content["model"] | {"merges": merges}}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_the_text_is_as_if_written_by_the_same_program(style: Style) -> None:
    content = byte_level() | {"of one's own": [1.50, 1e400 > 1, {"é": "\u2028"}]}
    for file in (content, in_pairs(content)):
        paired = isinstance(file["model"]["merges"][0], list)
        expected = json.loads(json.dumps(file))
        vocab = expected["model"]["vocab"]
        vocab |= {in_letters(string): token for token, string in TOKENS}
        vocab |= {"<|endoftext|>": 261, "   ": 262}  # tokenizers would number them from the size of the vocabulary on
        letters = [[in_letters(left), in_letters(right)] for left, right in RULES]
        expected["model"]["merges"] += letters if paired else [" ".join(pair) for pair in letters]
        assert extend_file(style(file), TOKENS, RULES, "it") == style(expected)
        assert extend_file(style(file), [], [], "it") == style(file)


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_first_rules_look_as_the_vocabulary_does(style: Style) -> None:
    content = byte_level()
    content["model"] |= {"merges": [], "vocab": dict(list(content["model"]["vocab"].items())[:256])}
    content |= {"added_tokens": [], "post_processor": None}
    expected = json.loads(json.dumps(content))
    expected["model"]["vocab"] |= {"he": 256, "hel": 257}
    expected["model"]["merges"] = ["h e", "he l"]
    tokens, rules = [(256, b"he"), (257, b"hel")], [(b"h", b"e"), (b"he", b"l")]
    written = extend_file(style(content), tokens, rules, "it")
    assert written == style(expected)
    emptied = prune_file(written, IdMap(np.array([*range(256), -1, -1]), 256), "it")
    assert json.loads(emptied) == content


def test_a_padding_token_is_not_used_again() -> None:
    content = characters_file(added_tokens=added("[PAD]", "[X]", special=True))
    content["padding"] = {"pad_id": 0, "pad_token": "[PAD]"}
    data = json.dumps(content).encode()
    assert import_model(extend_file(data, [(16, b"hel")], [(b"he", b"l")], "it")).special == {"[PAD]": 15}
    with pytest.raises(InputError, match=r"it: the padding has id 0\b"):
        extend_file(data, [(15, b"hel")], [(b"he", b"l")], "it")


def test_numbers_and_unknown_keys_keep_their_spelling() -> None:
    text = json.dumps(byte_level()).replace(
        '"version": "1.0"', '"version": "1.0", "n": [1.50, 1E2, -0, 12e-400, "\\u00e9\\/"]'
    )
    edited = extend_file(text.encode(), TOKENS, RULES, "it").decode()
    assert '"n": [1.50, 1E2, -0, 12e-400, "\\u00e9\\/"]' in edited
    assert prune_file(text.encode(), IdMap(np.arange(263), 263), "it") == text.encode()


LOOKED_UP = "letters, whole pieces"  # whose special token can be a whole piece


def test_an_added_token_in_the_vocabulary_may_be_found_in_plain_text() -> None:
    edited = extend_file(json.dumps(EDITABLE[LOOKED_UP]).encode(), [(263, b"hell")], [(b"he", b"ll")], "it")
    with pytest.raises(InputError, match=r"plain text .*'<.endoftext.>'"):
        import_model(edited)


@pytest.mark.parametrize("name", sorted(SAME_SYMBOLS.keys() - {LOOKED_UP}))
def test_extended_files_are_read_alike(name: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    generator = random.Random(name)
    data = json.dumps(SAME_SYMBOLS[name], ensure_ascii=False).encode()
    model = import_model(data)
    tokens, rules = made_up(model, 12, generator)
    edited = extend_file(data, tokens, rules, name)
    assert changed_keys(json.loads(data), json.loads(edited)) <= {
        "model.merges", *(f"model.vocab.{key}" for key in json.loads(edited)["model"]["vocab"]),
    }  # fmt: skip
    extended = import_model(edited)
    assert extended.added == model.added
    assert [extended.vocabulary[token] for token in range(model.id_limit)] == [
        *map(model.vocabulary.__getitem__, range(model.id_limit))
    ]
    library = tokenizers.Tokenizer.from_buffer(edited)
    assert all(library.token_to_id(token.content) == token.id for token in model.added)
    agree(library, extended, texts_of(model, [string for _, string in tokens], generator))


@pytest.mark.parametrize("name", EDITABLE)
def test_pruned_files_are_read_alike(name: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    generator = random.Random(name)
    data = json.dumps(EDITABLE[name], ensure_ascii=False).encode()
    model = import_model(data)
    ids = without_leaves(model, 0.7, generator)
    edited = prune_file(data, ids, name)
    pruned = import_model(edited)
    assert pruned.id_limit == ids.size
    library = tokenizers.Tokenizer.from_buffer(edited)
    for token in model.added:
        assert library.token_to_id(token.content) == ids.new[token.id]
    agree(library, pruned, texts_of(model, [b"hello", b"low"], generator))


def agree(library: Any, model: Any, texts: list[str]) -> None:
    library.no_padding()
    library.no_truncation()
    library.encode_special_tokens = True
    encoded = library.encode_batch(texts, add_special_tokens=False)
    assert [encoding.ids for encoding in encoded] == ids_of(model, texts)


def test_ids_that_other_sections_name_move() -> None:
    content = byte_level()
    content["post_processor"] = {
        "type": "Sequence",
        "processors": [
            content["post_processor"],
            {"type": "RobertaProcessing", "sep": ["<|endoftext|>", 261], "cls": ["   ", 262], "trim_offsets": True},
        ],
    }
    model = import_model(json.dumps(content).encode())
    ids = without(model, [258, 259])  # "llo" and "hello"
    pruned = json.loads(prune_file(json.dumps(content).encode(), ids, "it"))
    expected = json.loads(json.dumps(content))
    expected["model"]["vocab"] = {
        token: ids.new[number] for token, number in expected["model"]["vocab"].items() if number not in (258, 259)
    }
    expected["model"]["merges"] = ["h e", "l l", "Ġ w"]
    for token, number in zip(expected["added_tokens"], (259, 260), strict=True):
        token["id"] = number
    template, roberta = expected["post_processor"]["processors"]
    template["special_tokens"]["<|endoftext|>"]["ids"] = [259]
    roberta |= {"sep": ["<|endoftext|>", 259], "cls": ["   ", 260]}
    assert pruned == expected


def test_padding_moves() -> None:
    content = characters_file(added_tokens=added("[PAD]", "[X]", special=True))
    content["padding"] = {"pad_id": 15, "pad_token": "[PAD]"}
    data = json.dumps(content).encode()
    ids = without(import_model(data), [11])
    assert json.loads(prune_file(data, ids, "it"))["padding"] == {"pad_id": 14, "pad_token": "[PAD]"}


def test_a_rule_goes_with_what_it_uses_or_makes() -> None:
    content = characters_file()
    content["model"]["merges"].append(["he", "llo"])
    content["model"]["vocab"]["llo"] = 15
    data = json.dumps(content).encode()
    pruned = json.loads(prune_file(data, without(import_model(data), [12]), "it"))
    assert pruned["model"]["merges"] == [["h", "e"], ["l", "l"], ["▁", "w"], ["he", "ll"], ["▁", "▁"], ["▁", "he"]]
    assert list(pruned["model"]["vocab"].values()) == list(range(15))


def test_an_id_is_used_again() -> None:
    content = byte_level()
    content["added_tokens"] += [
        content["added_tokens"][0] | {"id": 263 + i, "content": f"<|reserved_{i}|>"} for i in range(3)
    ]
    edited = extend_file(
        json.dumps(content).encode(), [(264, b"hell"), (266, b"wh")], [(b"he", b"ll"), (b"w", b"h")], "it"
    )
    file = json.loads(edited)
    assert [token["id"] for token in file["added_tokens"]] == [261, 262, 263, 265]
    model = import_model(edited)
    assert [model.vocabulary[token] for token in (264, 266)] == [b"hell", b"wh"]
    assert model.special == {"<|endoftext|>": 261, "<|reserved_0|>": 263, "<|reserved_2|>": 265}


REFUSED_TOKENS: dict[str, tuple[Any, Any, str]] = {
    "an id of the vocabulary": ([(3, b"hell")], [], "id 3 belongs to"),
    "an id that the template names": ([(261, b"hell")], [], r"has id 261\b"),
    "a string that is there": ([(263, b"he")], [], r"'he' .*\bid 256\b"),
    "the text of an added token": ([(263, b"<|endoftext|>")], [], "already, as id 261"),
    "twice": ([(263, b"hell"), (264, b"hell")], [], "'hell' .*twice"),
    "one id": ([(263, b"hell"), (263, b"hew")], [], r"id 263\b.*twice"),
    "nothing": ([(263, b"")], [], "is empty"),
    "a huge id": ([(1 << 40, b"hell")], [], "ids are below"),
    "a rule that is there": ([], [(b"h", b"e")], "is there already"),
    "a rule of strangers": ([(263, b"hell")], [(b"hel", b"l")], "needs .*'hel'"),
    "a rule for nothing": ([], [(b"he", b"ll")], "needs .*'hell'"),
}


@pytest.mark.parametrize(("tokens", "rules", "why"), REFUSED_TOKENS.values(), ids=REFUSED_TOKENS)
def test_extensions_that_are_refused(tokens: Any, rules: Any, why: str) -> None:
    with pytest.raises(InputError, match=why) as raised:
        extend_file(json.dumps(byte_level()).encode(), tokens, rules, "it")
    assert "\n" not in str(raised.value)


def test_models_that_are_refused() -> None:
    unigram = {"version": "1.0", "model": {"type": "Unigram", "vocab": [["a", -1.0]], "unk_id": 0}}
    for content, why in (
        (unigram, "not BPE"),
        (words_file(suffix="</w>"), "symbols .*suffix"),
        (characters_file(), "is not UTF-8"),
    ):
        with pytest.raises(InputError, match=why):
            extend_file(json.dumps(content).encode(), [(99, b"\xe4\xb8")], [], "it")
    text = json.dumps(characters_file())
    for data, why in (
        (text.replace('"version"', '"version": "2", "version"'), "occurs twice"),
        (text.replace('"1.0"', "1" * 5000), "digits"),
        (text[:-3], "cut off"),
    ):
        with pytest.raises(InputError, match=why):
            extend_file(data.encode(), [], [], "it")
    spaces = characters_file(normalizer=None, added_tokens=[])
    spaces["model"]["vocab"] = {**spaces["model"]["vocab"], " ": 15}
    spaces["model"]["merges"] = ["h e"]
    with pytest.raises(InputError, match=r"it .*space .*' ' \+ 'h'"):
        extend_file(json.dumps(spaces).encode(), [(16, b" h")], [(b" ", b"h")], "it")


def test_prunings_that_are_refused() -> None:
    data = json.dumps(byte_level()).encode()
    model = import_model(data)
    whole = IdMap(np.arange(263), 263)
    for ids, why in (
        (without(model, [261]), r"has id 261\b"),
        (IdMap(whole.new[:200], 200), r"has id 262\b.*\b200 ids"),
        (IdMap(whole.new[::-1], 263), "changes their order"),
        (IdMap(whole.new // 2, 263), "changes their order"),
        (IdMap(whole.new, 200), "beyond 200"),
    ):
        with pytest.raises(InputError, match=why):
            prune_file(data, ids, "it")
    unknown = json.dumps(characters_file()).encode()
    with pytest.raises(InputError, match="the unknown token '<unk>' has id 0"):
        prune_file(unknown, without(import_model(unknown), [0]), "it")


HOSTILE = st.sampled_from(
    [b'"', b"\\", b"\x00", b"\x7f", b"</script>", b"\xed\xa0\x80", b"\xff", b"\xe2\x80\xa8", b"\n", b"{", b" "]
)


@given(
    strings=st.lists(st.lists(HOSTILE | st.binary(min_size=1, max_size=3), min_size=2, max_size=4), max_size=5),
    style=st.sampled_from([*STYLES]),
)
def test_any_bytes_are_written_and_read_back(strings: list[list[bytes]], style: str) -> None:
    data = STYLES[style](byte_level())
    known = set(map(bytes, zip(range(256)))) | {b"he", b"ll", b"llo", b"hello", b" w", b"   ", b"<|endoftext|>"}
    wanted = list(dict.fromkeys(string for parts in strings if (string := b"".join(parts)) not in known))
    tokens = [(263 + place, string) for place, string in enumerate(wanted)]
    edited = extend_file(data, tokens, [], "it")
    model = import_model(edited)
    assert [model.vocabulary[token] for token, _ in tokens] == wanted
    assert model.special == {"<|endoftext|>": 261}
    gone = without(model, [token for token, _ in tokens])
    pruned = import_model(prune_file(edited, gone, "it"))
    assert pruned.id_limit == 263
    assert pruned.added == import_model(data).added
