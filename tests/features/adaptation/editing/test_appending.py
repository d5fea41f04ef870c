"""A tokenizer.json that only grows: where its last entries lie is found from the end."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from pyharness.features.adaptation.editing.files import extend_file, prune_file
from pyharness.features.adaptation.editing.json_text import STRING, last_matches, matches
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.types import InputError
from pyharness.vocabularies.files.byte_alphabet import in_letters
from tokenizer_files import byte_level

STYLES: dict[str, dict[str, Any]] = {
    "compact": {"separators": (",", ":"), "ensure_ascii": False},
    "pretty": {"indent": 2, "ensure_ascii": False},
    "space before colons": {"indent": 1, "separators": (" ,", " : ")},
}
AWKWARD = [b'"', b"\\", b'\\"', b'"\\', b"[", b"]", b'],["', b'", "', b", "]


@pytest.mark.parametrize("last", AWKWARD)
@pytest.mark.parametrize("mixed", ["texts", "pairs", "a pair is last", "a text is last"])
@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_the_last_entries_may_look_like_the_text_around_them(style: dict[str, Any], mixed: str, last: bytes) -> None:
    content = byte_level() | {"added_tokens": [], "post_processor": None}
    vocab, merges = content["model"]["vocab"], content["model"]["merges"]
    parts = [in_letters(bytes([byte])) for byte in last]
    for count in range(2, len(parts) + 1):  # so that the last entries are made of what brackets and commas are
        vocab["".join(parts[:count])] = len(vocab)
        merges.append(["".join(parts[: count - 1]), parts[count - 1]])
    paired = {"texts": [], "pairs": range(len(merges)), "a pair is last": [-1], "a text is last": [-2]}[mixed]
    merges[:] = [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]
    for at in paired:
        merges[at] = merges[at].split(" ")
    size = len(vocab)
    tokens, rules = [(size, b"x" + last)], [(b"x", last)]
    expected = json.loads(json.dumps(content))
    expected["model"]["vocab"]["x" + in_letters(last)] = size
    pair = ["x", in_letters(last)]
    expected["model"]["merges"].append(pair if isinstance(merges[-1], list) else " ".join(pair))
    assert json.loads(extend_file(json.dumps(content, **style).encode(), tokens, rules, "it")) == expected


AS_TEXTS = ['"a"', r'"\\"', r'"\",\""']
AS_PAIRS = ['["a", "b"]', r'["\\\"", "c"]', r'["]", "\"[\\"]']


@pytest.mark.parametrize("items", [AS_TEXTS, AS_PAIRS])
@pytest.mark.parametrize("between", [",", " ,\n\t"])
def test_the_last_two_items_are_found_from_the_end(items: list[str], between: str) -> None:
    item = re.compile(rf"{STRING}|\[{STRING}, {STRING}\]", re.DOTALL)
    text = f"[ {between.join(items)} ]"
    everything, found = matches(item, text, (0, len(text)), 3)
    last, two = last_matches(item, text, (0, len(text)), 3)
    assert last.spans == everything.spans[1:]
    assert [match[0] for match in two] == items[1:] == [match[0] for match in found[1:]]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b'{"format": "pyharness-curriculum"}', "curriculum"),
        (b'{"format": "pyharness-bpe"}', "this program"),
        (b"minbpe v1\n", "minbpe"),
        (b'{"a": 0}', "two files"),
    ],
)
def test_files_without_an_editor_are_named(data: bytes, what: str) -> None:
    with pytest.raises(InputError, match=f"^it is .*{what}"):
        extend_file(data, [], [], "it")
    with pytest.raises(InputError, match=f"^it is .*{what}"):
        prune_file(data, IdMap(np.arange(1), 1), "it")
