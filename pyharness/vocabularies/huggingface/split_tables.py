"""Pre-tokenizers of tokenizer.json as tables, one for each step that cuts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyharness.vocabularies.huggingface.file import flat_stages
from pyharness.vocabularies.patterns.code_points import CodePoints
from pyharness.vocabularies.patterns.escapes import binary
from pyharness.vocabularies.patterns.parser import parse
from pyharness.vocabularies.patterns.split_patterns import GPT2_RELEASE
from pyharness.vocabularies.patterns.syntax import Characters, Choice, Node, Repeat, Sequence, Uncompilable
from pyharness.vocabularies.patterns.tables import Removed, SplitTable, split_table

_WORDS = r"\w+|[^\w\s]+"  # of Whitespace, which Rust's engine runs


def tables_of(stage: Mapping[str, Any], *, byte_level: bool) -> tuple[SplitTable, ...]:
    """Tables of a ``pre_tokenizer``. ``byte_level``: the model is written in the byte alphabet of GPT-2.

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
    """What a step cuts by, in which dialect, and what it leaves out."""
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
    """Tree of the pattern of a ``Split`` step."""
    if isinstance(pattern, Mapping) and isinstance(pattern.get("Regex"), str):
        return parse(pattern["Regex"], "oniguruma")
    text = pattern.get("String") if isinstance(pattern, Mapping) else None
    if not isinstance(text, str) or not text:
        raise Uncompilable("a pattern that is no text")
    literals = tuple(Characters(CodePoints.of([ord(character)])) for character in text)
    return literals[0] if len(literals) == 1 else Sequence(literals)


def _cut(node: Node, behavior: str, *, inverted: bool = False) -> tuple[Node, Any, Removed]:
    """Tree whose matches and gaps are the pieces, its dialect, and the part that is left out.

    Where pieces are merged with their neighbours, the tree must be one set or runs of it: then another tree says it.
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
        return Choice((Sequence((gap, _optional(match, runs))), once)), "oniguruma", "nothing"
    if behavior == "MergedWithNext":
        return Choice((Sequence((_optional(match, runs), gap)), once)), "oniguruma", "nothing"
    raise Uncompilable(f"the behaviour {behavior[:40]!r}")


def _optional(node: Node, runs: bool) -> Repeat:
    return Repeat(node, 0, None if runs else 1)
