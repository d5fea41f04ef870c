"""What every command shares: how errors are said, and how wide and colourful standard output is."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar

import click

from pyharness.types import InputError

F = TypeVar("F", bound=Callable[..., Any])


def reports_errors(command: F) -> F:
    """Make a command say what is wrong in one line, and end with the status that means it."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except InputError as error:
            for line in str(error).splitlines():
                complain(f"error: {line}")
            sys.exit(2)
        except BrokenPipeError:  # the reader of a pipe, such as head, has gone
            _discard_output()
            sys.exit(0)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(130)

    return wrapped  # type: ignore[return-value]


def complain(line: str) -> None:
    """Write a line to standard error; what is in it must not drive the terminal."""
    from pyharness.report import visible

    click.echo(visible(line), err=True)


def show(text: str) -> None:
    """Write text to standard output."""
    with _output() as out:
        encoding = out.encoding or "utf-8"  # an ASCII terminal cannot be given every name of a file
        out.write(text.encode(encoding, "backslashreplace").decode(encoding))
        out.flush()


def put(parts: Iterable[bytes]) -> None:
    """Write bytes to standard output as they come."""
    for part in parts:
        with _output() as out:
            left = memoryview(part)
            while left:  # under PYTHONUNBUFFERED a write may take a part, as a disk that is nearly full does
                left = left[out.buffer.write(left) :]
    with _output() as out:
        out.flush()


@contextmanager
def _output() -> Iterator[TextIO]:
    if sys.stdout is None:
        raise InputError("standard output is closed")
    try:
        yield sys.stdout
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard_output()
        raise InputError(f"cannot write to standard output: {error.strerror or error}") from None


def _discard_output() -> None:
    """Let what is still buffered go nowhere: Python would complain about it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def width() -> int:
    """Columns of standard output."""
    if sys.stdout.isatty():
        return max(60, os.get_terminal_size(sys.stdout.fileno()).columns)
    columns = os.environ.get("COLUMNS", "")
    return min(max(int(columns), 40), 1000) if re.fullmatch(r"[0-9]{1,9}", columns) else 80


def color() -> bool:
    """Say whether standard output takes colours."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
