"""What tokens are made of: characters by their names, parts of characters, and counts of texts by a slow reference."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.command_line import call
from pyharness.features.distribution.token_kinds import (
    ACROSS,
    COLUMNS,
    INNER,
    KINDS,
    LEADING,
    SEVERAL,
    WHOLE,
    TokenKindTable,
    flags_of,
    kind_of,
)
from pyharness.types import Tokens, Vocabulary


def named(data: bytes) -> set[str]:
    return {name for name, flag in zip(COLUMNS, flags_of(data), strict=True) if flag}


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"", {WHOLE}),
        (b" ", {WHOLE, LEADING}),
        (b"\n\n", {WHOLE, LEADING}),
        (b" a", {WHOLE, LEADING, "Latin"}),
        (b"a b", {WHOLE, INNER, "Latin"}),
        (" 語。".encode(), {WHOLE, LEADING, SEVERAL, "Chinese", "punctuation"}),
        ("カ한".encode(), {WHOLE, SEVERAL, "Japanese", "Korean"}),
        ("ꦗ".encode(), {WHOLE}),  # a letter of another script
        (b"\xe4", set()),
        (b"\xbd\xa0", set()),  # the end of one character
        (b"\xa0\xe5", {ACROSS}),
        (b" \xe4", {ACROSS, LEADING}),
        (b"a\xe4", {ACROSS, "Latin"}),
        ("\ufffd".encode(), {WHOLE, "symbols"}),
    ],
)
def test_tokens_by_their_bytes(data: bytes, wanted: set[str]) -> None:
    assert named(data) == wanted


@given(st.characters(codec="utf-8"))
def test_a_character_is_of_one_kind_at_most(character: str) -> None:
    kind = kind_of(character)
    assert kind is None or kind in KINDS
    if unicodedata.category(character).startswith("L") and kind not in (None, "symbols"):
        assert any(
            word in unicodedata.name(character) for word in ("CJK", "HANGUL", "KATAKANA", "HIRAGANA", kind.upper())
        )


ENTRIES = st.binary(max_size=4)


@given(
    st.lists(ENTRIES, min_size=1, max_size=6, unique=True),
    st.lists(st.lists(st.integers(0, 5), max_size=9), max_size=5),
)
def test_counts_agree_with_a_slow_reference(entries: list[bytes], texts: list[list[int]]) -> None:
    vocabulary = Vocabulary.from_tokens(dict(enumerate(entries)), {})
    kept = [[token for token in text if token < len(entries)] for text in texts]
    counts = dict(TokenKindTable.of(vocabulary).count(Tokens.from_lists(kept)))
    for name in COLUMNS:
        assert counts[name].tolist() == [sum(name in named(entries[token]) for token in text) for text in kept]


def test_a_run_of_bytes_has_kinds_and_a_row_without_a_vocabulary_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("né 1! ")
    chosen = ("-t", "raw_bytes", "-c", "path:a.txt", "-b", "distribution?window=2")
    assert call("run", *chosen, "-o", "r.json", cwd=tmp_path).returncode == 0
    results = json.loads((tmp_path / "r.json").read_text())["results"]
    values = {
        (one["metric"], one.get("part")): one["value"] for case in results for one in case.get("measurements", ())
    }
    assert values["tokens_with_leading_space", None] == pytest.approx(2 / 7)
    assert values["tokens_of_whole_characters", None] == pytest.approx(5 / 7)
    assert values["tokens_across_characters", None] == 0
    assert values["tokens_of_kind", "Latin"] == pytest.approx(1 / 7)
    assert values["tokens_of_kind", "numbers"] == pytest.approx(1 / 7)
    assert call("report", "r.json", "--rederive", cwd=tmp_path).returncode == 0
    assert np.isclose(sum(value for (metric, _), value in values.items() if metric == "tokens_of_kind"), 3 / 7)
    reasons = {one["metric"]: one["no_interval"] for case in results for one in case.get("measurements", ())
               if one["metric"].startswith("tokens_")}  # fmt: skip
    assert {name for name, reason in reasons.items() if "samples" in reason} == {
        "tokens_of_kind", "tokens_of_whole_characters", "tokens_across_characters",
    }  # fmt: skip
