"""Ids that a tokenizer.json names outside its vocabulary and its added tokens, and where they stand in its text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyharness.features.adaptation.editing.json_text import Span, elements, members
from pyharness.types import InputError


@dataclass(frozen=True, slots=True)
class NamedId:
    """An id, the place of its digits, and the token that it is said to be of."""

    id: int
    span: Span
    token: str | None
    what: str  # names the id, in messages


def processor_ids(text: str, root: Mapping[str, Span], label: str) -> Iterator[NamedId]:
    """Ids that the post-processor puts around a text.

    Raises:
        InputError: it has none where it should.
    """
    start, end = root.get("post_processor", (0, 0))
    if text[start:end] in ("", "null"):
        return
    try:
        yield from _of_processor(text, start)
    except (KeyError, ValueError, IndexError, TypeError):
        raise InputError(f"{label}: the post-processor has no ids where it should: {text[start:end][:60]!r}") from None


def padding_id(text: str, root: Mapping[str, Span]) -> Iterator[NamedId]:
    """The id that texts are filled up with."""
    start, _ = root.get("padding", (0, 0))
    if text[start : start + 1] != "{":
        return
    inner = members(text, start)
    if "pad_id" in inner and type(number := _value(text, inner["pad_id"])) is int:
        token = _value(text, inner["pad_token"]) if "pad_token" in inner else None
        yield NamedId(number, inner["pad_id"], token, "the padding")


def _of_processor(text: str, start: int) -> Iterator[NamedId]:
    inner = members(text, start)
    kind = _value(text, inner["type"])
    if kind == "Sequence":
        for processor, _ in elements(text, inner["processors"][0]).spans:
            yield from _of_processor(text, processor)
    elif kind == "TemplateProcessing":
        for content, (token, _) in members(text, inner["special_tokens"][0]).items():
            for span in elements(text, members(text, token)["ids"][0]).spans:
                yield NamedId(int(_value(text, span)), span, content, f"{content!r} of the post-processor")
    elif kind in ("BertProcessing", "RobertaProcessing"):
        for key in ("sep", "cls"):
            name, number = elements(text, inner[key][0]).spans
            token = _value(text, name)
            yield NamedId(int(_value(text, number)), number, token, f"{key!r} of the post-processor")


def _value(text: str, span: Span) -> Any:
    return json.loads(text[slice(*span)])
