"""The console that every command shares: messages of errors, and the width and colours of standard output."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import resource
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click

from pyharness.system import lifeline
from pyharness.types import InputError

F = TypeVar("F", bound=Callable[..., Any])
ADDRESS_SPACE = 512 << 20  # Python and NumPy; libraries of tokenizers take more, and say so themselves
ADDRESS_SPACE_OF_A_CORE = 40 << 20  # OpenBLAS takes 32 MB for a thread, and its stack
MOST_FAULTS = 10  # lines
LONGEST_LINE = 2000  # characters
PULL_REQUEST = "markdown for a pull request"  # a format that --for chooses


def reports_errors(command: F) -> F:
    """Make a command report errors in a few lines and end with their exit status."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        _open_what_is_closed()
        if (lack := _too_small_an_address_space()) is not None:  # complaining would import NumPy
            click.echo(f"error: {lack}", err=True)
            sys.exit(2)
        try:
            with lifeline.politely():
                return command(*args, **kwargs)
        except InputError as error:
            complain_of(str(error).splitlines())
            if kwargs.get("tracebacks") and error.__cause__ is not None:
                for line in "".join(traceback.format_exception(error.__cause__)).splitlines():
                    complain(line)
            sys.exit(2)
        except BrokenPipeError:  # the reader of a pipe, such as head, has gone
            discard_output()
            sys.exit(0)
        except OSError as error:  # what nobody expected to fail: the limits of the process, mostly
            complain_of([f"the system refuses: {_in_words(error)}"])
            sys.exit(2)
        except MemoryError:
            complain_of(["there is not enough memory for this"])
            sys.exit(2)
        except KeyboardInterrupt as end:
            complain("; ".join(["interrupted", *_notes(end)]))
            sys.exit(130)
        except lifeline.Ended as end:
            complain("; ".join([f"ended by {end.signal.name}", *_notes(end)]))
            raise

    return wrapped  # type: ignore[return-value]


def _notes(end: BaseException) -> list[str]:
    """What a command has added to a request to end: how to go on."""
    return list(getattr(end, "__notes__", []))


def _too_small_an_address_space() -> str | None:
    """Say where NumPy cannot be imported: OpenBLAS asks for its buffers again and again, for ever."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    needed = ADDRESS_SPACE + ADDRESS_SPACE_OF_A_CORE * (os.cpu_count() or 1)
    if limit == resource.RLIM_INFINITY or limit >= needed:
        return None
    return (
        f"an address space of {limit / 1e9:.2f} GB is too small: {needed / 1e9:.1f} GB are needed to begin with; "
        "set another limit with ulimit -v"
    )


def _in_words(error: OSError) -> str:
    what = error.strerror or str(error)
    if error.errno in (errno.EMFILE, errno.ENFILE):
        what += " (more may be open at a time after: ulimit -n 1024)"
    return what if error.filename is None else f"{what}: {error.filename!r}"


def _open_what_is_closed() -> None:
    """Put nothing in the place of streams that are closed: the next files to be opened would get their numbers."""
    with contextlib.suppress(OSError):
        handle = os.open(os.devnull, os.O_RDONLY)
        while handle <= 2:
            handle = os.dup(handle)
        os.close(handle)
    if sys.stderr is None:  # print() would take standard output for it
        _leave_standard_error()


def _leave_standard_error() -> None:
    """Discard all further messages."""
    if sys.stderr is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())  # Python would complain of what is buffered
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 -- until the process ends


def complain(line: str) -> None:
    """Write a line to standard error, with control characters made visible: they must not drive the terminal."""
    from pyharness.report.sheet.strings import shorten, visible

    _say(shorten(visible(line), LONGEST_LINE))


def _say(line: str) -> None:
    try:
        click.echo(line, err=True)
    except OSError:  # a full disk, say: the exit status alone can tell of it
        _leave_standard_error()


def complain_of(faults: Sequence[str]) -> None:
    """Write faults to standard error, a line each; of many, the first and how many there are."""
    shown = faults if len(faults) <= MOST_FAULTS else faults[: MOST_FAULTS - 1]
    for fault in shown:
        complain(f"error: {fault}")
    if len(faults) > len(shown):
        complain(f"error: and {len(faults) - len(shown):,} more of these")


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
        discard_output()
        raise InputError(f"cannot write to standard output: {error.strerror or error}") from None


def discard_output() -> None:
    """Discard buffered output: Python would complain about it when it ends."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def width() -> int:
    """Columns of standard output."""
    if is_terminal():
        return max(60, os.get_terminal_size(sys.stdout.fileno()).columns)
    columns = os.environ.get("COLUMNS", "")
    return min(max(int(columns), 40), 1000) if re.fullmatch(r"[0-9]{1,9}", columns) else 80


def color() -> bool:
    """Say whether standard output takes colours."""
    return is_terminal() and "NO_COLOR" not in os.environ


def is_terminal() -> bool:
    """Say whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def check_output() -> None:
    """Refuse to begin what could not be shown in the end."""
    with _output():
        pass


def for_a_pull_request(form: str, reader: str | None) -> str:
    """Return the format that ``--for`` makes of another; one that is no Markdown is for no pull request."""
    if reader is None:
        return form
    if form != "markdown":
        raise InputError(f"--for {reader} is Markdown, not {form}: add --format markdown, or leave --for out")
    return PULL_REQUEST


def summarise(text: str) -> None:
    """Append Markdown to the summary of the step, if there is one; say so where that fails."""
    from pyharness import report

    if (trouble := report.append_step_summary(text)) is not None:
        complain(f"warning: {trouble}")


def check_target(output: Path | None, force: bool, records: Sequence[Path]) -> None:
    """Refuse what may not be replaced: what is read, and any other file unless ``force`` is set."""
    from pyharness import store
    from pyharness.system import atomic_file

    if output is None:
        return
    for record in filter(lambda path: path.name, records):  # "/" and "." have none, and are no records
        for read, what in ((record, "record"), (store.path_beside(record), "state of the record")):
            if _is_same_file(read, output):
                raise InputError(
                    f"--output {str(output)!r} is the {what} that is read, and would be lost: choose another --output"
                )
    atomic_file.check(output, overwrite=force)


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.is_file() and one.samefile(other)
    except OSError:  # there is no other, or a name is too long
        return False
