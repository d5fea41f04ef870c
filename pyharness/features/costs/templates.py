"""The chat template of a row: in ``chat_template.jinja`` or ``tokenizer_config.json`` next to its file.

Conversations that are rendered are fixed, so that every template meets the same words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyharness.system import bounded_file, folders
from pyharness.types import InputError, TokenizerSpec, Unsupported
from pyharness.vocabularies.files.json_file import parse_json
from pyharness.vocabularies.huggingface import chat_rendering
from pyharness.vocabularies.huggingface.chat_rendering import LONGEST_TEMPLATE

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


FILE, CONFIG = "chat_template.jinja", "tokenizer_config.json"
_MOST_CONFIG = 64 << 20
_NAMED = ("bos_token", "eos_token", "pad_token", "unk_token")
_WITH_TOOLS = ("tool_use", "default")  # of several templates, the first that there is


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A template in Jinja, and the special tokens that it may name."""

    text: str
    tokens: Mapping[str, str]
    label: str  # where it is from


def rendered(template: ChatTemplate, conversations: Sequence[RenderedChat]) -> list[str]:
    """Render conversations.

    Raises:
        InputError: the template is no Jinja, refuses a conversation, or exceeds a limit.
    """
    requests = [
        {**template.tokens, "messages": one.messages, "tools": one.tools or None, "add_generation_prompt": True,
         "strftime_now": one.date}
        for one in conversations
    ]  # fmt: skip
    texts = []
    for one in chat_rendering.render_all(template.text, requests):
        refused = one.refused and f"it refuses the conversation: {one.refused}"
        if reason := " ".join((one.limit or refused or one.error).split()):
            raise InputError(f"the chat template of {template.label} cannot be used: {reason}")
        texts.append(one.text)
    return texts


def template_of(row: TokenizerSpec, file: str = "") -> ChatTemplate:
    """Return the template of a row, or that of a file.

    Raises:
        Unsupported: the row has no template.
        InputError: a file cannot be read, or is too large.
    """
    folder = _folder(row)
    config: Mapping[str, Any] = {}
    if folder is not None and (folder / CONFIG).is_file():
        config = parse_json(_read(folder / CONFIG, _MOST_CONFIG), str(folder / CONFIG))
    tokens = {name: text for name in _NAMED if (text := _content(config.get(name))) is not None}
    path = folders.expanded(file) if file else folder and folder / FILE
    if path is not None and (file or path.is_file()):
        return ChatTemplate(_read(path, LONGEST_TEMPLATE).decode("utf-8", "replace"), tokens, str(path))
    if folder is not None and (text := _in_config(config)) is not None:
        if len(text) > LONGEST_TEMPLATE:
            raise InputError(f"{folder / CONFIG}: its chat template has more than {LONGEST_TEMPLATE:,} characters")
        return ChatTemplate(text, tokens, str(folder / CONFIG))
    raise Unsupported(f"{row.name!r} has no chat template: neither {FILE} nor one in {CONFIG} next to its file")


def _folder(row: TokenizerSpec) -> Path | None:
    """Return the folder of the row's file; None for rows without one."""
    for place in filter(None, (row.path, row.source)):
        path = Path(place)
        if path.is_dir():
            return path
        if path.is_file():
            return path.parent
    return None


def _read(path: Path, most: int) -> bytes:
    try:
        return bounded_file.read(path, most, str(path))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None


def _in_config(config: Mapping[str, Any]) -> str | None:
    given = config.get("chat_template")
    if isinstance(given, list):
        named = {one.get("name"): one.get("template") for one in given if isinstance(one, dict)}
        given = next((named[name] for name in _WITH_TOOLS if name in named), None)
    return given if isinstance(given, str) else None


def _content(token: Any) -> str | None:
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else None
