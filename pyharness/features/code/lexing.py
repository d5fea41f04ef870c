"""Leaves of documents: the smallest units of code that a lexer knows, without comments and white space.

Python is taken apart by the standard library's ``tokenize``, other languages by grammars of tree-sitter. A string is
one leaf with its quotes, whatever it interpolates. What a grammar does not take apart, such as the body of a macro, has
no leaves.

The language of a text is a parameter of the case, or what the corpus says its language is, or the one language whose
name or suffix is a word of the text's label or file.

>>> leaves = lex_python("x += 'a'  # why")
>>> [(KINDS[kind], start, stop) for kind, start, stop in zip(leaves.kinds, leaves.starts, leaves.stops)]
[('identifier', 0, 1), ('compound operator', 2, 4), ('literal', 5, 8)]
"""

from __future__ import annotations

import io
import keyword
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.plugins.libraries import load
from pyharness.plugins.registry import suggest
from pyharness.types import Unsupported, offsets_of

PYTHON = "python"  # the one language that the standard library takes apart


@dataclass(frozen=True, slots=True)
class ProgrammingLanguage:
    """A language as data: other names and suffixes, and the module and function of its grammar."""

    names: tuple[str, ...]
    module: str = ""  # "": the standard library has its lexer
    function: str = "language"
    values: tuple[str, ...] = ()  # literals that the lexer takes for names


LANGUAGES: Mapping[str, ProgrammingLanguage] = {
    PYTHON: ProgrammingLanguage(("py", "pyi"), values=("True", "False", "None")),
    "c": ProgrammingLanguage(("h",), "tree_sitter_c"),
    "cpp": ProgrammingLanguage(("c++", "cc", "cxx", "hpp", "hh"), "tree_sitter_cpp"),
    "go": ProgrammingLanguage(("golang",), "tree_sitter_go"),
    "java": ProgrammingLanguage((), "tree_sitter_java"),
    "javascript": ProgrammingLanguage(("js", "mjs", "jsx"), "tree_sitter_javascript"),
    "kotlin": ProgrammingLanguage(("kt", "kts"), "tree_sitter_kotlin", values=("true", "false", "null")),
    "rust": ProgrammingLanguage(("rs",), "tree_sitter_rust"),
    "typescript": ProgrammingLanguage(("ts", "mts"), "tree_sitter_typescript", "language_typescript"),
}
_BY_NAME = {word: name for name, one in LANGUAGES.items() for word in (name, *one.names)}
_WORD = re.compile(r"[a-z0-9+]+")


def language_named(name: str) -> str:
    """Return a language by its name or a suffix; raise ``InputError`` that names the known ones."""
    if name.lower() not in _BY_NAME:
        raise suggest("programming language", name, tuple(LANGUAGES))
    return _BY_NAME[name.lower()]


def language_of(declared: str, places: Iterable[str]) -> str:
    """Return the language of a text.

    Args:
        declared: what the corpus says, such as "rust" or "und".
        places: its label and its specification; of a path, the file decides.

    Raises:
        Unsupported: it names no language, or several.
    """
    if declared.lower() in _BY_NAME:
        return _BY_NAME[declared.lower()]
    files = [place.partition("?")[0].rpartition("/")[2].rpartition(":")[2].lower() for place in places]
    languages = {_BY_NAME[word] for file in files for word in _WORD.findall(file) if word in _BY_NAME}
    if len(languages) == 1:
        return languages.pop()
    several = f"names several: {', '.join(sorted(languages))}" if languages else "names none"
    raise Unsupported(
        f"its programming language is not known, because {files[0]!r} {several}; "
        f"give it, such as -b 'code?language=python' (known: {', '.join(LANGUAGES)})"
    )


KINDS = ("identifier", "keyword", "literal", "operator", "compound operator", "delimiter", "punctuation")
IDENTIFIER, KEYWORD, LITERAL, OPERATOR, COMPOUND, DELIMITER, PUNCTUATION = range(len(KINDS))
_DELIMITERS = frozenset("(){}[];,")
_PUNCTUATION = frozenset((".", ":", "::", "@", "#", "...", "\\", "'"))
_LONGEST_OPERATOR = 4
# Types of nodes of the grammars. Of literals, the children are parts of one leaf.
_LITERALS = frozenset((
    "string", "string_literal", "raw_string_literal", "char_literal", "character_literal", "rune_literal", "regex",
    "interpreted_string_literal", "multiline_string_literal", "template_string", "system_lib_string",
    "template_literal_type", "user_defined_literal", "number", "true", "false", "null", "nil", "undefined",
))  # fmt: skip
_NAMES = frozenset(("label", "label_name", "metavariable"))
_UNPARSED = frozenset(("preproc_arg", "jsx_text", "ERROR"))

Leaf: TypeAlias = tuple[int, int, int]  # start and stop in bytes, kind
Lexer: TypeAlias = "Callable[[str], Leaves | None]"


@dataclass(frozen=True, slots=True)
class Leaves:
    """Leaves of a document, in its order."""

    starts: NDArray[np.int64]  # [leaves], in bytes of UTF-8
    stops: NDArray[np.int64]  # [leaves]
    kinds: NDArray[np.int64]  # [leaves], indices of ``KINDS``
    error_bytes: int = 0  # of the parts that the grammar does not understand, which have no leaves

    @classmethod
    def of(cls, leaves: Sequence[Leaf], error_bytes: int = 0) -> Leaves:
        """Build arrays of leaves."""
        table = np.array(leaves, np.int64).reshape(-1, 3)
        return cls(table[:, 0], table[:, 1], table[:, 2], error_bytes)


def lexer_of(language: str) -> Lexer:
    """Return the function from a document to its leaves, None for one that it cannot take apart.

    Raises:
        Unsupported: the grammar is not installed.
    """
    about = LANGUAGES[language]
    if not about.module:
        return lex_python
    purpose = f"benchmark 'code' on {language}"
    tree_sitter = load(purpose, "tree_sitter", "code", "tree-sitter", Unsupported)
    grammar = load(purpose, about.module, "code", about.module.replace("_", "-"), Unsupported)
    parser = tree_sitter.Parser(tree_sitter.Language(getattr(grammar, about.function)()))
    values = [value.encode() for value in about.values]
    return lambda text: _leaves_of_tree(parser, text.encode(), values)


def kind_of_text(text: str) -> int | None:
    """Return the kind of a leaf that is no literal and no name; None for white space and what is no operator."""
    if text in _DELIMITERS:
        return DELIMITER
    if text in _PUNCTUATION:
        return PUNCTUATION
    if text.strip("#@ \t").isidentifier():  # ``# include``, ``@interface`` and ``return@``, too
        return KEYWORD
    if not text.strip() or len(text) > _LONGEST_OPERATOR:
        return None
    return COMPOUND if len(text) > 1 else OPERATOR


def lex_python(text: str) -> Leaves | None:
    """Return the leaves of Python; None for a text that ``tokenize`` of the running Python refuses in any part."""
    try:
        tokens = list(_tokens(text))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return None
    if any(_is_no_token(kind, string) for kind, string, *_ in tokens):
        return None
    leaves = [(*start, *stop, of_leaf) for kind, string, start, stop in tokens
              if (of_leaf := _python_kind(kind, string)) is not None]  # fmt: skip
    rows, columns, stop_rows, stop_columns, kinds = np.array(leaves, np.int64).reshape(-1, 5).T
    lines = offsets_of([len(line) + 1 for line in text.split("\n")])  # in characters
    data = np.frombuffer(text.encode(), np.uint8)
    places = np.append(np.flatnonzero(data & 0xC0 != 0x80), len(data))  # bytes before each character
    return Leaves(places[lines[rows - 1] + columns], places[lines[stop_rows - 1] + stop_columns], kinds)


def _is_no_token(kind: int, string: str) -> bool:
    """Whether a token is an error: from Python 3.12 on, ``$`` comes as an operator and a currency sign as a name."""
    if kind == tokenize.OP:
        return string not in tokenize.EXACT_TOKEN_TYPES or string == "!"
    return kind == tokenize.ERRORTOKEN or (kind == tokenize.NAME and not string.isidentifier())


def _python_kind(kind: int, string: str) -> int | None:
    if kind == tokenize.NAME:
        return LITERAL if string in LANGUAGES[PYTHON].values else KEYWORD if keyword.iskeyword(string) else IDENTIFIER
    if kind in (tokenize.NUMBER, tokenize.STRING):
        return LITERAL
    return kind_of_text(string) if kind == tokenize.OP else None


def _tokens(text: str) -> Iterator[tuple[int, str, tuple[int, int], tuple[int, int]]]:
    """Yield the tokens of ``tokenize``; formatted strings, which newer Pythons take apart, as one string."""
    opening, closing = ({getattr(tokenize, f"{letter}STRING_{end}", -1) for letter in "FT"} for end in ("START", "END"))
    depth, begin = 0, (0, 0)
    for kind, string, start, stop, _ in tokenize.generate_tokens(io.StringIO(text).readline):
        if kind in opening:
            depth, begin = depth + 1, begin if depth else start
        elif kind in closing:
            depth -= 1
            if not depth:
                yield tokenize.STRING, "", begin, stop
        elif not depth:
            yield kind, string, start, stop


def _leaves_of_tree(parser: Any, data: bytes, values: Sequence[bytes]) -> Leaves:
    """Walk a tree without recursion: code from machines nests deeply."""
    leaves: list[Leaf] = []
    errors = 0
    cursor = parser.parse(data).walk()
    while True:
        node = cursor.node
        errors += node.end_byte - node.start_byte if node.type == "ERROR" else 0
        if _is_whole(node) or not cursor.goto_first_child():
            leaf = data[node.start_byte : node.end_byte]
            kind = LITERAL if leaf in values else _node_kind(node, leaf)
            if kind is not None:
                leaves.append((node.start_byte, node.end_byte, kind))
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return Leaves.of(leaves, errors)


def _is_whole(node: Any) -> bool:
    return node.is_named and (node.type in _LITERALS or node.type in _UNPARSED or node.type.endswith("comment"))


def _node_kind(node: Any, data: bytes) -> int | None:
    if not node.is_named:  # the type ``string`` of TypeScript is no string
        return kind_of_text(data.decode())
    if not data or node.type in _UNPARSED or node.type.endswith("comment"):
        return None
    if "identifier" in node.type or node.type in _NAMES:
        return IDENTIFIER
    if node.type in _LITERALS or "literal" in node.type:
        return LITERAL
    return kind_of_text(data.decode())
