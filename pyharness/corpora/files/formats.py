"""Kinds of files, told by name: the suffixes that a directory walk takes."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pyharness.corpora.files.reading import compression

Kind: TypeAlias = Literal["text", "code", "jsonl", "parquet"]

# Not here on purpose: .json, .csv and .log, which in most folders are data about the text rather than text.
_SUFFIXES: dict[Kind, str] = {
    "text": ".txt .text .md .markdown .rst .adoc .org .tex .srt .vtt .po",
    "code": (
        ".py .pyi .c .h .cc .cpp .cxx .hh .hpp .hxx .cu .cuh .cs .java .kt .kts .scala .js .jsx .mjs "
        ".ts .tsx .go .rs .swift .m .rb .php .pl .pm .lua .r .jl .hs .ml .mli .fs .ex .exs .erl .clj .zig "
        ".sh .bash .zsh .ps1 .sql .html .htm .xml .css .scss .vue .yaml .yml .toml .ini .cfg .cmake .proto"
    ),
    "jsonl": ".jsonl .ndjson .jsonlines",
    "parquet": ".parquet .pq",
}
KINDS: dict[str, Kind] = {suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}


def kind(name: str) -> Kind | None:
    """Return the kind of a file, its compression aside; ``None`` for a suffix that is not known."""
    name = name.lower().removesuffix(compression(name))
    return KINDS.get(name[name.rfind(".") :]) if "." in name else None
