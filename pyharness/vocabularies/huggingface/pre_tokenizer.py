"""Pre-tokenizers of tokenizer.json: conversion to and from known split patterns, and others as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyharness.types import InputError
from pyharness.vocabularies.huggingface.file import flat_stages
from pyharness.vocabularies.patterns.code_points import CodePoints
from pyharness.vocabularies.patterns.parser import parse
from pyharness.vocabularies.patterns.reader import binary
from pyharness.vocabularies.patterns.split_patterns import CL100K, GPT2_RELEASE, SPLIT_PATTERNS
from pyharness.vocabularies.patterns.syntax import Characters, Choice, Node, Repeat, Series, Uncompilable
from pyharness.vocabularies.patterns.tables import Removed, SplitTable, split_table

BYTE_LEVEL_ONLY = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}

# Oniguruma, which tokenizers uses, reads {1,3}+ as a repetition of a repetition. In a tokenizer.json, tiktoken's
# spelling of cl100k is therefore another pattern, and this spelling means cl100k.
_SPELLED_DIFFERENTLY: Mapping[str, tuple[str, ...]] = {"cl100k": (CL100K.replace("{1,3}+", "{1,3}"),)}
_WORDS = r"\w+|[^\w\s]+"  # of Whitespace, which Rust's engine runs


def _spellings() -> dict[tuple[str, ...], str]:
    """Return every sequence of expressions that means a known pattern to Oniguruma."""
    names = {}
    for name, pattern in SPLIT_PATTERNS.items():
        expressions = _SPELLED_DIFFERENTLY.get(name, pattern.expressions)
        names[expressions] = name
        names |= {(spelling,): name for spelling in pattern.spellings if "{1,3}+" not in spelling}
    return names


_KNOWN = _spellings()


def split_pattern(stage: Mapping[str, Any] | None) -> str | None:
    """Return the name of the split pattern that equals a pre-tokenizer; None if none is known.

    ``Split`` steps must isolate their matches; a ``ByteLevel`` that follows them must neither split nor put a space
    before the text.
    """
    steps = flat_stages(stage)
    byte_level = steps[-1] if steps and steps[-1]["type"] == "ByteLevel" else None
    splits = steps[:-1] if byte_level is not None else steps
    if byte_level is not None and byte_level.get("add_prefix_space") is not False:
        return None
    expressions = tuple(_expression(step) for step in splits)
    if byte_level is not None and byte_level.get("use_regex", True) is not False:
        return "gpt2" if not splits else None
    return _KNOWN.get(expressions) if splits else "none"


def _expression(step: Mapping[str, Any]) -> str:
    """Return the expression of a Split step that isolates its matches; for other steps, one that no pattern has."""
    pattern = step.get("pattern")
    isolates = step["type"] == "Split" and step.get("behavior") == "Isolated" and step.get("invert") is False
    if not isolates or not isinstance(pattern, dict) or not isinstance(pattern.get("Regex"), str):
        return ""
    return str(pattern["Regex"])


def pre_tokenizer(pattern: str, *, byte_level: bool) -> Mapping[str, Any] | None:
    """Return the pre-tokenizer of a known split pattern, given by name or expression.

    Raises:
        InputError: the pattern is the user's own expression, which Oniguruma may read differently.
    """
    name = known_name(pattern)
    if name is None:
        raise InputError(
            f"the split pattern {pattern!r} is an expression of one's own, which tokenizers' engine may read "
            f"differently; the patterns that can be written: {', '.join(SPLIT_PATTERNS)}"
        )
    if name == "none":
        return BYTE_LEVEL_ONLY if byte_level else None
    if name == "gpt2" and byte_level:
        return {**BYTE_LEVEL_ONLY, "use_regex": True}
    expressions: Sequence[str] = _SPELLED_DIFFERENTLY.get(name, SPLIT_PATTERNS[name].expressions)
    steps: list[Mapping[str, Any]] = [
        {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}
        for expression in expressions
    ]
    return {"type": "Sequence", "pretokenizers": [*steps, BYTE_LEVEL_ONLY] if byte_level else steps}


def known_name(pattern: str) -> str | None:
    """Return the name of a known split pattern, given by its name, an alias or a single expression."""
    for name, split in SPLIT_PATTERNS.items():
        single = split.expressions if len(split.expressions) == 1 else ()
        if pattern in (name, *split.aliases, *single, *split.spellings):
            return name
    return None


def tables_of(stage: Mapping[str, Any], *, byte_level: bool) -> tuple[SplitTable, ...]:
    """Return the tables of a ``pre_tokenizer``. ``byte_level``: the model uses the byte alphabet of GPT-2.

    Raises:
        Uncompilable: with the reason why tables do not give the pieces of ``tokenizers``.
    """
    tables: list[SplitTable] = []
    reads_bytes = False
    for step in flat_stages(stage):
        tables += [
            split_table(node, dialect, removed=removed, reads_bytes=reads_bytes, full_case=dialect == "oniguruma")
            for node, dialect, removed in _nodes(step)
        ]
        if step["type"] == "ByteLevel":
            if reads_bytes:
                raise Uncompilable("bytes of bytes")
            reads_bytes = True
    if reads_bytes != byte_level:
        raise Uncompilable("pieces in the byte alphabet of a model that has none, or the other way round")
    if not tables:
        raise Uncompilable("nothing is cut")
    return tuple(tables)


def _nodes(step: Mapping[str, Any]) -> Iterator[tuple[Node, Any, Removed]]:
    """Yield the tree that a step cuts by, its dialect, and the part that the step removes."""
    kind = step["type"]
    if kind == "Split":
        node = _pattern(step.get("pattern"))
        yield _cut(node, str(step.get("behavior")), inverted=step.get("invert") is True)
    elif kind == "Digits":
        digits = Characters(binary("digitoftokenizers"))
        yield _cut(digits, "Isolated" if step.get("individual_digits") is True else "Contiguous")
    elif kind == "Punctuation":
        yield _cut(_punctuation(), str(step.get("behavior", "Isolated")))
    elif kind == "WhitespaceSplit":
        yield _space()
    elif kind == "BertPreTokenizer":
        yield _space()
        yield _cut(_punctuation(), "Isolated")
    elif kind == "Whitespace":
        yield parse(_WORDS, "fancy_regex"), "fancy_regex", "gaps"
    elif kind == "ByteLevel":
        if step.get("add_prefix_space") is not False:
            raise Uncompilable("a space before the text")
        if step.get("use_regex", True) is not False:
            yield parse(GPT2_RELEASE, "oniguruma"), "oniguruma", "nothing"
    else:
        raise Uncompilable(f"a {kind} step")


def _punctuation() -> Characters:
    return Characters(binary("punctuationoftokenizers"))


def _space() -> tuple[Node, Any, Removed]:
    return Characters(binary("whitespace")), "oniguruma", "matches"


def _pattern(pattern: Any) -> Node:
    """Return the tree of the pattern of a ``Split`` step."""
    if isinstance(pattern, Mapping) and isinstance(pattern.get("Regex"), str):
        return parse(pattern["Regex"], "oniguruma")
    text = pattern.get("String") if isinstance(pattern, Mapping) else None
    if not isinstance(text, str) or not text:
        raise Uncompilable("a pattern that is not text")
    literals = tuple(Characters(CodePoints.of([ord(character)])) for character in text)
    return literals[0] if len(literals) == 1 else Series(literals)


def _cut(node: Node, behavior: str, *, inverted: bool = False) -> tuple[Node, Any, Removed]:
    """Return the tree whose matches and gaps are the pieces, its dialect, and the part that is removed.

    Where pieces are merged with their neighbours, the tree must be a set of characters or runs of one: then another
    tree gives the same pieces.
    """
    if behavior == "Isolated":
        return node, "oniguruma", "nothing"
    if behavior == "Removed":
        return node, "oniguruma", "gaps" if inverted else "matches"
    runs = isinstance(node, Repeat) and (node.least, node.most, node.kind) == (1, None, "greedy")
    one = node.body if isinstance(node, Repeat) and runs else node
    if not isinstance(one, Characters) or (inverted and (runs or behavior != "Contiguous")):
        raise Uncompilable(f"{behavior} matches of more than one class")
    match = Characters(~one.points) if inverted else one
    gap = Repeat(Characters(~match.points), 1, None)
    once = Repeat(match, 1, None) if runs else match
    if behavior == "Contiguous":
        return Repeat(match, 1, None), "oniguruma", "nothing"
    if behavior == "MergedWithPrevious":
        return Choice((Series((gap, _optional(match, runs))), once)), "oniguruma", "nothing"
    if behavior == "MergedWithNext":
        return Choice((Series((_optional(match, runs), gap)), once)), "oniguruma", "nothing"
    raise Uncompilable(f"the behaviour {behavior[:40]!r}")


def _optional(node: Node, runs: bool) -> Repeat:
    return Repeat(node, 0, None if runs else 1)
