"""Conversations that are rendered: fixed, so that every template meets the same words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Messages = Sequence[Mapping[str, str]]
DATE, OTHER_DATE = "2026-01-31", "2026-02-01"
EXCHANGES = (
    ("What is a token?", "A token is a piece of text that a model reads as one unit."),
    ("How many words is that?", "In English a token is three quarters of a word on average."),
    ("And in other languages?", "It depends on the text that the vocabulary was made of."),
    ("Who decides that?", "Whoever trains the tokenizer, and mostly long before the model."),
)
OTHER_QUESTION = "What is a byte?"
_NAMES = ("get_weather", "find_train")


@dataclass(frozen=True, slots=True)
class RenderedChat:
    """Messages in turns, tools that a model may call, and the day on which it is rendered."""

    messages: Messages
    tools: Sequence[Mapping[str, Any]] = ()
    date: str = DATE

    @property
    def contents(self) -> list[str]:
        """Texts of the messages."""
        return [one["content"] for one in self.messages]


def exchanges(count: int, first: str = "", last: str = "") -> Messages:
    """Return a question, then ``count`` times an answer and a question; ``first`` and ``last`` replace questions."""
    messages = [{"role": "user", "content": first or EXCHANGES[0][0]}]
    for number in range(count):
        messages.append({"role": "assistant", "content": EXCHANGES[number][1]})
        messages.append({"role": "user", "content": EXCHANGES[number + 1][0]})
    if last:
        messages[-1] = {"role": "user", "content": last}
    return messages


def tool(number: int, other: bool = False) -> Mapping[str, Any]:
    """Return a tool as a JSON Schema; ``other``: with another description."""
    described = "Returns what a place has at a time" + (", and nothing else." if other else ".")
    properties = {
        "place": {"type": "string", "description": "Name of a city"},
        "time": {"type": "string", "description": "Hour of the day"},
    }
    parameters = {"type": "object", "properties": properties, "required": ["place"]}
    return {"type": "function",
            "function": {"name": _NAMES[number], "description": described, "parameters": parameters}}  # fmt: skip


def schema_bytes(one: Mapping[str, Any]) -> int:
    """Return the size of a tool's schema as JSON in UTF-8."""
    return len(json.dumps(one, ensure_ascii=False).encode())
