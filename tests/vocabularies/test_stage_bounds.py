"""What a vocabulary file may ask of a library: bounded before the library sees it."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness import store, suite, tokenizers
from pyharness.store import json_values
from pyharness.suite import files
from pyharness.types import InputError
from pyharness.vocabularies import encodings, rank_file
from pyharness.vocabularies.files import stage_bounds
from pyharness.vocabularies.files.stage_bounds import check_pattern, check_steps, elements_of
from pyharness.vocabularies.minbpe_file import write_minbpe


@pytest.mark.parametrize(
    ("expression", "elements"),
    [
        ("", 0), ("abc", 3), ("a|b", 2), (r"\p{L}+\x{1F600}", 2), ("[abc]", 1), ("[]a]b", 2), ("[^]a]b", 3),
        (r"[\]]{3}", 3), ("[a[bc]d]x", 2), ("(ab[cd]){3}e+", 10), ("(?:a{10}){10}", 100),
        ("(?i:a)(?=b)(?<!cd)", 4), ("a{2,}", 2), ("a{,7}", 7),
        ("((a{100}){100}){100}", 1_000_000), ("a{99999999999999999999}", 10**18 - 1), ("a{", 2), (r"a\{5\}", 4),
    ],
)  # fmt: skip
def test_elements(expression: str, elements: int) -> None:
    assert elements_of(expression) == pytest.approx(elements, abs=2)


def _patterns() -> st.SearchStrategy[tuple[str, int]]:
    """Expressions with the number of elements that they repeat to."""
    leaf = st.sampled_from([("a", 1), (r"\d", 1), ("[b-d]", 1), (r"\p{Lu}", 1)])

    def grown(inner: st.SearchStrategy[tuple[str, int]]) -> st.SearchStrategy[tuple[str, int]]:
        pair = st.tuples(inner, inner)
        return st.one_of(
            pair.map(lambda two: (two[0][0] + two[1][0], two[0][1] + two[1][1])),
            pair.map(lambda two: (f"(?:{two[0][0]}|{two[1][0]})", two[0][1] + two[1][1])),
            st.tuples(inner, st.integers(1, 9)).map(lambda one: (f"({one[0][0]}){{{one[1]}}}", one[0][1] * one[1])),
            st.tuples(inner, st.integers(1, 9)).map(lambda one: (f"({one[0][0]}){{0,{one[1]}}}+", one[0][1] * one[1])),
        )

    return st.recursive(leaf, grown, max_leaves=12)


@given(_patterns())
def test_elements_are_those_of_the_expression_written_out(pattern: tuple[str, int]) -> None:
    expression, expected = pattern
    assert elements_of(expression) == expected


def test_published_patterns_are_far_below_the_bounds() -> None:
    for expression in encodings.PATTERNS.values():
        assert len(expression) * 10 < stage_bounds.LONGEST_PATTERN
        assert elements_of(expression) * 10 < stage_bounds.MOST_REPEATED
        check_pattern(expression, "it")


def replace(content: str, **pattern: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([replace("x" * 100_000, String="a")], r"100,000 times.* 100\b"),
        ([replace("aa", String="a")] * 64, "times"),
        ([replace("x" * 200, Regex="")], "200 times"),
        ([{"type": "Prepend", "prepend": "x" * 100_000}], "100,000 characters"),
        ([{"type": "Split", "pattern": {"Regex": "a" * 100_000}}], "regular expression .*100,000"),
        ([{"type": "Split", "pattern": {"Regex": "((a{999}){999}){999}"}}], "99.,...,... elements"),
    ],
)
def test_steps_without_bounds(steps: list[dict[str, Any]], says: str) -> None:
    with pytest.raises(InputError, match=says):
        check_steps(steps, "it")


def test_steps_that_are_fine() -> None:
    check_steps([replace("▁", String=" "), replace('"', Regex="``|''"), {"type": "Prepend", "prepend": "▁"}], "it")


def huggingface(stage: str, step: dict[str, Any]) -> bytes:
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}
    return json.dumps({"model": model, stage: step, "added_tokens": []}).encode()


HUGE = "(" * 3 + "a{1000})" * 3 + "b"
FILES: dict[str, Callable[[], bytes]] = {
    "n.json": lambda: huggingface("normalizer", replace("x" * 100_000, String="a")),
    "d.json": lambda: huggingface("decoder", replace("x" * 100_000, String="a")),
    "p.json": lambda: huggingface("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "x" * 100_000_000}}),
    "minbpe.model": lambda: write_minbpe("(a{1000}){1000}", {}, []),
}


@pytest.mark.parametrize("name", FILES)
def test_files_are_refused_in_one_line(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[name]())
    with pytest.raises(InputError, match=re.escape(name)) as caught:
        tokenizers.load(f"file:{tmp_path / name}")
    assert len(str(caught.value)) < 400


def test_a_pattern_that_is_given_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "x.tiktoken").write_bytes(rank_file.write_ranks({bytes([byte]): byte for byte in range(256)}))
    with pytest.raises(InputError, match=r"pattern=.* 1,000,"):
        tokenizers.load(f"file:{tmp_path / 'x.tiktoken'}?pattern=((a{{1000}}){{1000}}b)")


def test_endless_files_are_not_read() -> None:
    zero = Path("/dev/zero")
    if not zero.exists():
        pytest.skip("there is no /dev/zero here")
    with pytest.raises(InputError, match=r"/dev/zero.* 67,108,864 bytes"):
        store.read(zero)
    with pytest.raises(InputError, match=r"/dev/zero.* 1,048,576 bytes"):
        suite.read(zero)


def test_records_are_bounded_in_what_becomes_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "record.json"
    path.write_text('{"kind": "pyharness-run", "schema": 1, "results": [' + "[]," * 100_000 + "[]]}", encoding="utf-8")
    monkeypatch.setattr(json_values, "MOST_VALUES", 100_000)
    tracemalloc.start()
    with pytest.raises(InputError, match=r"200,005 values.* 100,000"):
        store.read(path)
    assert tracemalloc.get_traced_memory()[1] < 70_000_000, "nothing was parsed"
    tracemalloc.stop()
    monkeypatch.setattr(json_values, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match="1,000 bytes"):
        store.read(path)
    assert files.MOST_BYTES > 100_000
