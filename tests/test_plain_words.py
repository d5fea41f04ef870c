"""No reader of a document reads a sentence twice: sentences are short, commas few, and some turns are not used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from layout.prose import banned_turns, measure_prose
from layout.quotations import quotations

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
MOST_LONG_SENTENCES = 0.05
MOST_COMMAS = 5.0  # per 100 words
VAGUE = {"found", "said", "known"}  # a value has a noun of the field: matches, message, histogram
MOST_VAGUE_STORES = 20
MOST_QUOTATIONS = 30  # later work may not exceed it


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_is_read_once(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    prose = measure_prose(text)
    assert prose.long_share <= MOST_LONG_SENTENCES, "\n\n".join(prose.long)
    assert prose.comma_rate <= MOST_COMMAS
    assert list(banned_turns(text)) == []


def docstrings() -> Iterator[tuple[Path, str]]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for path in sorted((ROOT / "pyharness").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kinds) and (text := ast.get_docstring(node)):
                yield path, text.replace("``", "`").replace("None", "null")


def test_no_docstring_has_a_banned_turn() -> None:
    assert [(path.name, turn) for path, text in docstrings() for turn in banned_turns(text)] == []


SHOWN = """# A heading, with commas, of a document

One two three. See [a, link](other.md), `code, of, no, words`.

| a, table | b |
```text
code, too
```
- a point
"""


def test_what_is_counted() -> None:
    prose = measure_prose(SHOWN)
    assert (prose.sentences, prose.commas, prose.words) == (3, 2, 9)
    assert prose.long == ()


def test_a_long_sentence_is_seen() -> None:
    prose = measure_prose("word " * 30 + "end.\n\nA short one.\n")
    assert (prose.sentences, len(prose.long)) == (2, 1)
    assert prose.long_share == 0.5
    assert measure_prose("word " * 29 + "end.").long == ()


@pytest.mark.parametrize("text", ["written\nanew", "as the paper has it", "one beside another", "There is none."])
def test_a_banned_turn_is_seen(text: str) -> None:
    assert len(list(banned_turns(text))) == 1
    assert list(banned_turns(f"```\n{text}\n```")) == []


def vague_stores(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE:
            yield node.lineno, node.id


def test_values_have_nouns_of_the_field() -> None:
    paths = sorted((ROOT / "pyharness").rglob("*.py"))
    stores = [(path.name, *store) for path in paths for store in vague_stores(path.read_text(encoding="utf-8"))]
    assert len(stores) <= MOST_VAGUE_STORES, stores


@pytest.mark.parametrize(
    "source", ["found = 1", "for known in rows: pass", "[said for said in rows]", "if found := 1: pass"]
)
def test_a_vague_store_is_seen(source: str) -> None:
    assert len(list(vague_stores(source))) == 1
    assert list(vague_stores(f"rows.found(said, known={source!r})")) == []


def test_few_tests_quote_the_package() -> None:
    found = quotations(ROOT)
    assert len(found) <= MOST_QUOTATIONS, "ask for a class, a field, a name; CONTRIBUTING.md, rules of tests"


QUOTING = '''
class TestRow:
    def test_row(self):
        """Nine blue rows sing."""
        assert str(error) == {string}
'''


@pytest.mark.parametrize(
    ("string", "words"),
    [("nine blue rows", None), ("docstring of four words", None), (r"Nine blue\. rows sing at", "nine blue rows sing")],
)
def test_a_quotation_is_seen(tmp_path: Path, string: str, words: str | None) -> None:
    for folder, text in (
        ("pyharness", '"""Docstring of four words."""\nraise E(f"{path}: Nine blue rows sing")\n'),
        ("tests", QUOTING.format(string=repr(string))),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "test_row.py").write_text(text, encoding="utf-8")
    assert quotations(tmp_path) == ([("tests/test_row.py", "test_row", words)] if words else [])
