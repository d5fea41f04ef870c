"""Chat templates are strangers' programs: Jinja2's immutable sandbox in a process of its own, with limits.

``python -m pyharness.features.costs.rendering`` reads one request, a line of JSON, and answers with one. A template
that loops, takes memory or writes without end costs the request. Without a loader, nothing is included or imported.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pyharness.features.costs.conversations import RenderedChat
from pyharness.features.costs.templates import ChatTemplate
from pyharness.system.child_process import Child, ChildDied
from pyharness.types import InputError

SECONDS = 20.0  # for all conversations of a request, with the start of a process
MEMORY = 1 << 30
MOST_CHARACTERS = 1 << 22  # of one rendered conversation
_LONGEST_REASON = 300


def rendered(template: ChatTemplate, conversations: Sequence[RenderedChat], seconds: float = SECONDS) -> list[str]:
    """Render conversations.

    Raises:
        InputError: the template is no Jinja, refuses a conversation, or exceeds a limit.
    """
    request = {"template": template.text, "tokens": template.tokens, "conversations": list(map(asdict, conversations))}
    child = Child([__name__], memory_limit=MEMORY, asked=True)
    deadline = time.monotonic() + seconds
    try:
        _, answer = child.ask(json.dumps(request).encode(), lambda _: False, deadline)
    except ChildDied as error:
        raise InputError(f"the chat template of {template.label} {error}: limits are {seconds:g} s and 1 GB") from None
    finally:
        child.close()
    if not isinstance(answer, dict) or "reason" in answer:
        raise InputError(f"the chat template of {template.label} cannot be used: {answer['reason']}")
    return [str(text) for text in answer["texts"]]


# ---------------------------------------------------------------------------------------------- in the child


class _Refusal(Exception):
    """A template refuses a conversation by ``raise_exception``."""


def render_all(request: Mapping[str, Any]) -> list[str]:
    """Render the conversations of a request in this process, which has no limits of its own."""
    template = _environment().from_string(request["template"])
    texts = []
    for one in request["conversations"]:
        values = {**request["tokens"], "messages": one["messages"], "add_generation_prompt": one["asks"],
                  "tools": one["tools"] or None, "documents": None,  # defined, as by transformers
                  "strftime_now": _clock(one["date"])}  # fmt: skip
        texts.append(_bounded(template.generate(**values)))
    return texts


def _environment() -> Any:
    """Return the sandbox, with the filter, the function and the tags that transformers adds."""
    from jinja2 import nodes, parser
    from jinja2.ext import Extension, LoopControlExtension
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class GenerationTag(Extension):
        """``{% generation %}``: marks what a model wrote, for training. The text is the same."""

        tags = {"generation"}  # noqa: RUF012 -- as Jinja declares it

        def parse(self, parser: parser.Parser) -> nodes.Node:
            line = next(parser.stream).lineno
            return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[LoopControlExtension, GenerationTag]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    return environment


def _bounded(parts: Any) -> str:
    """Join what a template writes; raise ``InputError`` beyond the limit."""
    kept, size = [], 0
    for part in parts:
        size += len(part)
        if size > MOST_CHARACTERS:
            raise InputError(f"it writes more than {MOST_CHARACTERS:,} characters")
        kept.append(part)
    return "".join(kept)


def _to_json(
    value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None, sort_keys: bool = False
) -> str:
    """Write JSON as transformers does: without escapes for HTML, and without calls of what a template names."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _refuse(message: str) -> str:
    raise _Refusal(str(message))


def _clock(date: str) -> Callable[[str], str]:
    """Return the function by which a template asks for today: always the same day."""
    from datetime import datetime

    day = datetime.fromisoformat(date)  # a day, so that no zone matters
    return lambda form: day.strftime(str(form))


def main() -> None:
    """Answer one request."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    line = sys.stdin.buffer.readline()
    protocol = os.fdopen(os.dup(1), "w", encoding="utf-8")
    try:
        answer: dict[str, Any] = {"texts": render_all(json.loads(line))}
    except MemoryError:
        answer = {"reason": f"it takes more than {MEMORY:,} bytes of memory"}
    except _Refusal as error:
        answer = {"reason": f"it refuses the conversation: {str(error)[:_LONGEST_REASON]}"}
    except Exception as error:  # a stranger's program raises what it likes
        reason = " ".join(str(error).split())[:_LONGEST_REASON]
        answer = {"reason": f"{type(error).__name__}: {reason}"}
    protocol.write(json.dumps(answer) + "\n")
    protocol.flush()


if __name__ == "__main__":
    main()
