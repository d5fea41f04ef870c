"""Programming languages: their names, the suffixes of their files, and the wheels with their grammars.

The language of a text is a parameter of the case, or what the corpus says its language is, or the one language whose
name or suffix is a word of the text's label or file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyharness.plugins.registry import suggest
from pyharness.types import Unsupported

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
