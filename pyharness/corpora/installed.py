"""Text on nearly every machine with Python: the standard library's source, and its documentation.

It is real text, large enough to measure with (about 12 MB), and needs no download. But it differs between Python
versions, so figures compare only where the digests agree. Files come in an order shuffled by a hash of their path, the
same on every machine, so that ``max_bytes`` takes a fair sample. Documentation begins with the topics of ``help()``.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import os
import sysconfig
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from pyharness.corpora.files.reading import blocks, decoded
from pyharness.corpora.files.splitting import Fragment, whole
from pyharness.corpora.options import TEXT_OPTIONS, described, document_limit
from pyharness.corpora.streaming import TextCorpus
from pyharness.plugins.registry import suggest
from pyharness.types import Corpus, CorpusFamily, InputError

# Tests contain files that are invalid on purpose; pydoc_data is one long string that python-docs yields as text.
LEFT_OUT = frozenset({"site-packages", "dist-packages", "test", "tests", "idle_test", "pydoc_data", "__pycache__"})


def source_files() -> list[Path]:
    """Return the standard library's source files, shuffled by a hash of their relative path."""
    files: dict[str, Path] = {}
    for root in map(Path, dict.fromkeys((sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")))):
        for file in _below(root):
            files.setdefault(file.relative_to(root).as_posix(), file)
    if not files:
        raise InputError(
            f"there is no Python source in {sysconfig.get_path('stdlib')}: this Python came without it; "
            "use 'sample', or your own files with path:"
        )
    return [files[name] for name in sorted(files, key=_digest)]


def _below(root: Path) -> Iterator[Path]:
    for directory, inner, names in os.walk(root):
        inner[:] = [name for name in inner if name not in LEFT_OUT]
        yield from (Path(directory, name) for name in names if name.endswith(".py"))


def _digest(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=16).digest()


def _code() -> Iterator[Fragment]:
    for file in source_files():
        yield from whole(decoded(blocks(file)))


def _docs() -> Iterator[Fragment]:
    topics = _topics()
    for name in sorted(topics, key=_digest):
        yield Fragment(topics[name])
    for file in source_files():
        for text in docstrings(b"".join(blocks(file))):
            yield Fragment(text)


def _topics() -> Mapping[str, str]:
    try:
        topics: dict[str, str] = importlib.import_module("pydoc_data.topics").topics
    except ImportError:  # some distributions package it separately
        return {}
    return topics


def docstrings(source: bytes) -> Iterator[str]:
    """Yield the docstrings of a module, its classes and functions, outer ones first; none if it cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes in the source
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and (text := ast.get_docstring(node)):
            yield text


_PARTS: Mapping[str, tuple[Callable[[], Iterator[Fragment]], str, str]] = {  # name -> read, language, domain
    "python-code": (_code, "code", "code"),
    "python-docs": (_docs, "en", "documentation"),
}


def _open(spec: str, argument: str, options: Mapping[str, str]) -> Corpus:
    if argument not in _PARTS:
        raise suggest("installed corpus", argument, _PARTS)
    read, language, domain = _PARTS[argument]
    return TextCorpus(
        name=spec, read=partial(read), max_document_bytes=document_limit(options),
        **described(spec, options, language=language, domain=domain, licence="PSF-2.0"),
    )  # fmt: skip


CORPORA = (
    CorpusFamily(
        name="installed",
        place=2,
        open=_open,
        summary="the Python standard library on this machine: its source, or its documentation",
        example="installed:python-code?max_bytes=2MB",
        options=TEXT_OPTIONS,
        known=lambda: tuple(_PARTS),
    ),
)
