"""Leaves of documents: kinds, places in bytes, what is refused, and rewrites that keep the leaves."""

from __future__ import annotations

import inspect
import textwrap
import tokenize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.features.code.lexing import (
    COMPOUND,
    IDENTIFIER,
    KINDS,
    LANGUAGES,
    Leaves,
    language_named,
    language_of,
    lex_python,
    lexer_of,
)
from pyharness.features.code.rewrites import rewritten
from pyharness.types import InputError, Unsupported

LEAVES = ("name", "größe", "if", "None", "'a b'", '"é"', "12", "+", "**", ":=", "(", ")", ",", ".", ":", "@", "...")
SMALL = {
    "c": ('# include <a.h>\nint f(int a) { return a->b + 1; } // c\n', "# include|int|int|return"),
    "cpp": ('std::string s = "x"; auto t = s;', "auto"),
    "go": ("package a\nfunc f() bool {\n\treturn x == nil\n}\n", "package|func|return"),
    "java": ("class A { boolean f() { return 1 >= 2; } }", "class|boolean|return"),
    "javascript": ("const {a, d = 1} = `x${b}`; /* c */ a?.b", "const"),
    "kotlin": ('fun f() { val a = "x" }', "fun|val"),
    "rust": ("fn f(a: u8) -> bool { a != 1 } // c", "fn|u8|bool"),
    "typescript": ("let a: string = 'x'; let b: number;", "let|string|let|number"),
}  # fmt: skip


def shown(text: str, leaves: Leaves | None) -> list[tuple[str, str]]:
    assert leaves is not None
    data = text.encode()
    rows = zip(leaves.kinds.tolist(), leaves.starts.tolist(), leaves.stops.tolist(), strict=True)
    return [(KINDS[kind], data[start:stop].decode()) for kind, start, stop in rows]


def texts_of(text: str, leaves: Leaves | None) -> list[str]:
    return [leaf for _, leaf in shown(text, leaves)]


def test_leaves_of_python_have_kinds_and_no_comments() -> None:
    text = "@a\ndef größe(x: int) -> None:  # why\n    return x // 2 if x.y else f'{x!r} é'\n"
    assert shown(text, lex_python(text)) == [
        ("punctuation", "@"), ("identifier", "a"), ("keyword", "def"), ("identifier", "größe"), ("delimiter", "("),
        ("identifier", "x"), ("punctuation", ":"), ("identifier", "int"), ("delimiter", ")"),
        ("compound operator", "->"), ("literal", "None"), ("punctuation", ":"), ("keyword", "return"),
        ("identifier", "x"), ("compound operator", "//"), ("literal", "2"), ("keyword", "if"), ("identifier", "x"),
        ("punctuation", "."), ("identifier", "y"), ("keyword", "else"), ("literal", "f'{x!r} é'"),
    ]  # fmt: skip


@given(st.lists(st.sampled_from(LEAVES), max_size=12), st.sampled_from((" ", "  ", " \\\n ")))
def test_joined_leaves_come_back(leaves: list[str], space: str) -> None:
    closed = [*leaves, *")" * max(0, leaves.count("(") - leaves.count(")"))]
    text = space.join(["x", *closed])
    whole = lex_python(text)
    if whole is not None:  # a closing bracket too many is refused by newer versions of Python
        assert texts_of(text, whole) == ["x", *closed]


@pytest.mark.parametrize("text", ["x = '''a", "(", "if x:\n    a\n  b\n", "a = $b", "a ? b", "a = !b", "a = €"])
def test_what_tokenize_refuses_has_no_leaves(text: str) -> None:
    assert lex_python(text) is None


@pytest.mark.parametrize("language", SMALL)
def test_leaves_of_grammars(language: str) -> None:
    pytest.importorskip("tree_sitter")
    pytest.importorskip(LANGUAGES[language].module)
    text, keywords = SMALL[language]
    leaves = lexer_of(language)(text)
    of_kinds = shown(text, leaves)
    assert [leaf for kind, leaf in of_kinds if kind == "keyword"] == keywords.split("|")
    assert not any("//" in leaf or "/*" in leaf for _, leaf in of_kinds)
    assert all(leaf[0] == leaf[-1] for kind, leaf in of_kinds if kind == "literal" and leaf[0] in "'\"`")


@pytest.mark.parametrize(
    ("language", "text", "literal"),
    [
        ("c", "int *a = NULL;", "NULL"),
        ("cpp", "auto a = nullptr;", "nullptr"),
        ("kotlin", "val a = null", "null"),
        ("typescript", "type A = `a${string}`;", "`a${string}`"),
    ],
)
def test_values_and_templates_are_literals(language: str, text: str, literal: str) -> None:
    pytest.importorskip(LANGUAGES[language].module)
    assert ("literal", literal) in shown(text, lexer_of(language)(text))


def test_labels_of_kotlin_are_no_operators() -> None:
    pytest.importorskip("tree_sitter_kotlin")
    text = "fun f() { r@ for (i in a) { return@f } }"
    kinds = {leaf: kind for kind, leaf in shown(text, lexer_of("kotlin")(text))}
    assert (kinds["r@"], kinds["return@"]) == ("identifier", "keyword")


def test_errors_of_a_grammar_have_bytes_and_no_leaves() -> None:
    pytest.importorskip("tree_sitter_go")
    lex = lexer_of("go")
    text = "package a\n\nfunc f() {}\n\n)) $$ ((\n\nfunc g() {}\n"
    leaves = lex(text)
    assert leaves is not None
    assert leaves.error_bytes >= len(")) $$ ((")
    assert "$" not in "".join(texts_of(text, leaves))
    clean = lex("package a\n")
    assert clean is not None
    assert clean.error_bytes == 0


def test_a_grammar_that_is_not_installed_skips_the_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyharness.plugins.libraries.is_installed", lambda _: False)
    with pytest.raises(Unsupported, match=r"code"):
        lexer_of("rust")


@pytest.mark.parametrize(
    ("declared", "places", "language"),
    [
        ("rust", ("x.py",), "rust"),
        ("und", ("python", "path:/go/a.txt"), "python"),
        ("code", ("path:/data/rust.d/c.jsonl.xz",), "c"),
        ("code", ("path:src/*.kt?field=go",), "kotlin"),
        ("code", ("installed:python-code", "installed:python-code"), "python"),
    ],
)
def test_the_language_of_a_text(declared: str, places: tuple[str, ...], language: str) -> None:
    assert language_of(declared, places) == language


@pytest.mark.parametrize("places", [("sample",), ("path:/python/books.txt",), ("path:rust-go.txt",)])
def test_a_text_of_no_language_or_several_is_skipped(places: tuple[str, ...]) -> None:
    with pytest.raises(Unsupported, match="language"):
        language_of("und", places)


def test_a_language_has_a_name_or_a_suffix() -> None:
    assert [language_named(name) for name in ("py", "C++", "rust")] == ["python", "cpp", "rust"]
    with pytest.raises(InputError, match="rust"):
        language_named("ruts")


MODULES = [inspect.getsource(module) for module in (textwrap, tokenize)]


@pytest.mark.parametrize("style", ["tight", "spaced"])
@pytest.mark.parametrize("text", [*MODULES, "a = -b * (c)\nd = x-- y\nf(*a, **b, c=1)\ny = [1, -2] @ z\n"])
def test_spaces_around_operators_keep_the_leaves(style: str, text: str) -> None:
    leaves = lex_python(text)
    assert leaves is not None
    new = rewritten(text.encode(), leaves, style)
    assert new is not None
    assert new != text.encode()
    assert texts_of(new.decode(), lex_python(new.decode())) == texts_of(text, leaves)
    assert rewritten(new, lex_python(new.decode()) or leaves, style) is None


def test_operators_of_letters_stay_apart_from_names() -> None:  # Kotlin has ``!in`` and ``as?``
    leaves = Leaves.of([(0, 1, IDENTIFIER), (2, 5, COMPOUND), (6, 7, IDENTIFIER)])
    assert rewritten(b"a !in b", leaves, "tight") == b"a!in b"
    assert rewritten(b"a as? b", leaves, "tight") == b"a as?b"


def test_names_in_other_letters_lose_spaces_too() -> None:
    text = "é + ü\n"
    leaves = lex_python(text)
    assert leaves is not None
    assert rewritten(text.encode(), leaves, "tight") == "é+ü\n".encode()


def test_names_are_rewritten_alone() -> None:
    text = "max_size = maxSize + _own + __init__ + 'a_b' + HTTP_OK + Name\n"
    leaves = lex_python(text)
    assert leaves is not None
    assert rewritten(text.encode(), leaves, "camel") == text.replace("max_size", "maxSize").encode()
    assert rewritten(text.encode(), leaves, "snake") == text.replace("maxSize", "max_size").encode()


@given(
    st.lists(
        st.lists(st.sampled_from(("a1", "be", "see", "d")), min_size=2, max_size=4).map("_".join),
        min_size=1,
        max_size=3,
    )
)
def test_camel_case_and_back(names: list[str]) -> None:
    text = " ".join(f"{name};" for name in names)
    leaves = lex_python(text)
    assert leaves is not None
    camel = rewritten(text.encode(), leaves, "camel")
    assert camel is not None
    again = lex_python(camel.decode())
    assert again is not None
    back = rewritten(camel, again, "snake") or camel
    if all(len(part) > 1 for name in names for part in name.split("_")[1:]):  # aB is no camel case
        assert back.decode() == text
