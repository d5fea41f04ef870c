"""Chat templates rendered in a process of its own: strangers' code that may loop, fill memory or print for ever.

``python -m`` of this module is that process. Jinja2's sandbox keeps templates from attributes of Python. The system
limits time and memory. A line of input is a request, a JSON list of a template and of variables; the answer is a line.
Templates have what transformers gives them: ``tools`` and ``documents``, ``tojson``, ``raise_exception``,
``strftime_now`` and the tags for loops and generations. Without a loader, nothing is included or imported.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyharness.system.child_process import Child, ChildDied, Overdue

SECONDS = 10.0  # for one rendering; the first has the start of the process, too
MEMORY = 1 << 30  # bytes of address space beyond what the process has when it starts
LONGEST = 1 << 22  # characters of a rendering
LONGEST_TEMPLATE = 1 << 20  # bytes; the longest published one has 20 kB
_LAST_WORDS = 200
_DAY = "2025-01-01"


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a template gave for one set of variables, or why it gave nothing."""

    text: str = ""
    error: str = ""  # of the template, in Jinja's words
    refused: str = ""  # the template itself raised: it takes no such conversation
    limit: str = ""  # of time, memory or length, that it went beyond


class _Refused(Exception):
    """A template called ``raise_exception``."""


def render_all(template: str, variables: Sequence[Mapping[str, Any]]) -> list[Rendering]:
    """Render a template with each set of variables, in one child; a limit ends it, and all that come after.

    ``strftime_now`` among the variables is the day that the template is told, as in "2025-01-01".

    Raises:
        InputError: no process can be started.
    """
    child = Child([__name__], asked=True)
    done: list[Rendering] = []
    try:
        for one in variables:
            request = json.dumps([template, one]).encode()
            _, answer = child.ask(request, lambda _: False, time.monotonic() + SECONDS)
            done.append(Rendering(**answer))
    except Overdue:
        done.append(Rendering(limit=f"it did not end within {SECONDS:g} s"))
    except ChildDied as death:
        done.append(Rendering(limit=f"the process {death}"))
    finally:
        child.close()
    return done


def render(template: str, variables: Mapping[str, Any]) -> Rendering:
    """Render in this process, which has limits."""
    environment = _environment()
    day = dt.date.fromisoformat(variables.get("strftime_now", _DAY))
    given = {"tools": None, "documents": None, **variables, "strftime_now": lambda form: day.strftime(str(form))}
    parts, length = [], 0
    try:
        for part in environment.from_string(template).generate(**given):
            parts.append(part)
            length += len(part)
            if length > LONGEST:
                return Rendering(limit=f"it wrote more than {LONGEST:,} characters")
    except _Refused as error:
        return Rendering(refused=str(error)[:_LAST_WORDS])
    except MemoryError:
        return Rendering(limit=f"it needed more than {MEMORY >> 30} GiB of memory")
    except OverflowError as error:  # Jinja's limit on range()
        return Rendering(limit=str(error)[:_LAST_WORDS])
    except Exception as error:  # such as SyntaxError: Jinja writes Python, which nests 20 loops at most
        return Rendering(error=f"{type(error).__name__}: {error}"[:_LAST_WORDS])
    return Rendering("".join(parts))


def _environment() -> Any:
    """Return the sandbox, with the filter, the function and the tags that transformers adds."""
    from jinja2 import nodes, parser
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class GenerationBlocks(Extension):
        """``{% generation %}``: marks of what a model wrote, which change no text. Variables of a block are its own."""

        tags = {"generation"}  # noqa: RUF012 -- as Jinja declares it

        def parse(self, parser: parser.Parser) -> nodes.Node:
            line = next(parser.stream).lineno
            return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationBlocks, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    return environment


def _to_json(value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None,
             sort_keys: bool = False) -> str:  # fmt: skip
    """Write JSON as chat templates expect it, with their names and order of options: no escapes for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _refuse(message: str) -> None:
    raise _Refused(message)


def _serve() -> None:
    """Answer requests until the input ends."""
    with contextlib.suppress(ValueError, OSError):  # no such file: not Linux
        now = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
    for line in sys.stdin:
        template, variables = json.loads(line)
        sys.stdout.write(json.dumps(asdict(render(template, variables))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
