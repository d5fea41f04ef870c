"""The console of all commands: error messages, and the width and colours of standard output."""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import re
import resource
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from pyharness.system import lifeline
from pyharness.types import InputError

if TYPE_CHECKING:
    from pyharness.report.sheet import Sheet

F = TypeVar("F", bound=Callable[..., Any])
ADDRESS_SPACE = 512 << 20  # Python and NumPy; tokenizer libraries need more, and report it themselves
ADDRESS_SPACE_OF_A_CORE = 40 << 20  # OpenBLAS starts a thread per core: a buffer of 32 MiB and a stack of 8 MiB
MOST_FAULTS = 10  # lines
LONGEST_LINE = 2000  # characters
PULL_REQUEST = "markdown for a pull request"  # the format of --for


def reports_errors(command: F) -> F:
    """Make a command report expected errors and signals in a few lines, and exit.

    The exit status is 2 for ``InputError``, ``OSError`` and ``MemoryError``, 0 if the reader of a pipe has ended, 130
    for Ctrl-C, and 128 plus the number of any other signal that ends it. Other exceptions pass through.
    """

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        _open_what_is_closed()
        if (lack := _too_small_an_address_space()) is not None:  # an error message would import NumPy
            click.echo(f"error: {lack}", err=True)
            sys.exit(2)
        try:
            with lifeline.politely():
                return command(*args, **kwargs)
        except InputError as error:
            complain_of(str(error).splitlines())
            context = click.get_current_context(silent=True)
            if context is not None and context.params.get("tracebacks") and error.__cause__ is not None:
                import traceback

                for line in "".join(traceback.format_exception(error.__cause__)).splitlines():
                    complain(line)
            sys.exit(2)
        except BrokenPipeError:  # the reader of a pipe, such as head, has ended
            discard_output()
            sys.exit(0)
        except OSError as error:  # unexpected failures, mostly from limits of the process
            complain_of([f"the system refuses: {_in_words(error)}"])
            sys.exit(2)
        except MemoryError:
            complain_of(["there is not enough memory for this"])
            sys.exit(2)
        except KeyboardInterrupt as end:
            complain("; ".join(["interrupted", *getattr(end, "__notes__", [])]))
            sys.exit(130)
        except lifeline.Ended as end:
            complain("; ".join([f"ended by {end.signal.name}", *getattr(end, "__notes__", [])]))
            raise

    return wrapped  # type: ignore[return-value]


def _too_small_an_address_space() -> str | None:
    """Return why the limit on memory does not allow NumPy, or None: OpenBLAS would request its buffers for ever."""
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
    """Replace closed streams by the null device: otherwise the next opened files would get their numbers."""
    with contextlib.suppress(OSError):
        handle = os.open(os.devnull, os.O_RDONLY)
        while handle <= 2:
            handle = os.dup(handle)
        os.close(handle)
    if sys.stderr is None:  # print() would use standard output instead
        _leave_standard_error()


def _leave_standard_error() -> None:
    """Discard all further messages."""
    if sys.stderr is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())  # Python would report buffered output
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 -- until the process ends


def complain(line: str) -> None:
    """Write a line to standard error, with control characters made visible, lest they control the terminal."""
    from pyharness.report.sheet.strings import shorten, visible

    try:
        click.echo(shorten(visible(line), LONGEST_LINE), err=True)
    except OSError:  # a full disk, say: only the exit status can report it
        _leave_standard_error()


def complain_of(faults: Sequence[str]) -> None:
    """Write faults to standard error, a line each; of many, only the first ones and the number of the others."""
    shown = faults if len(faults) <= MOST_FAULTS else faults[: MOST_FAULTS - 1]
    for fault in shown:
        complain(f"error: {fault}")
    if len(faults) > len(shown):
        complain(f"error: {len(faults) - len(shown):,} more like these")


def show(text: str) -> None:
    """Write text to standard output; raise ``InputError`` if that fails. Characters it cannot encode become escapes."""
    with _output() as out:
        encoding = out.encoding or "utf-8"  # an ASCII terminal cannot show every file name
        out.write(text.encode(encoding, "backslashreplace").decode(encoding))
        out.flush()


def formatted(sheets: Sequence[Sheet], form: str = "text") -> str:
    """Return sheets as text of the width and colours of standard output, or as Markdown."""
    from pyharness import report

    return report.to_markdown(sheets) if form == "markdown" else report.to_text(sheets, width(), color())


def show_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Write names with their values, a line for each."""
    from pyharness.report.sheet.strings import visible

    show("".join(f"{name:11} {visible(value)}\n" for name, value in facts))


def show_json(content: Any) -> None:
    """Write JSON values to standard output, in ASCII where it is not UTF-8: ``show`` would write escapes of no JSON."""
    escaped = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    show(json.dumps(content, ensure_ascii=escaped, allow_nan=False, indent=1) + "\n")


def show_in_pager(text: str) -> None:
    """Write text to standard output, or to a pager if it does not fit the lines of a terminal."""
    if not is_terminal() or text.count("\n") < os.get_terminal_size(sys.stdout.fileno()).lines:
        show(text)
        return
    os.environ.setdefault("LESS", "FRX")  # as git: end where the text fits, show colours, leave the text there
    click.echo_via_pager(text, color=None if color() else False)  # None: only for pagers that show colours


def put(parts: Iterable[bytes]) -> None:
    """Write bytes to standard output as they come; raise ``InputError`` if that fails."""
    for part in parts:
        with _output() as out:
            left = memoryview(part)
            while left:  # a write may be partial, under PYTHONUNBUFFERED or on a nearly full disk
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
    """Discard output that is still buffered: Python would fail to write it at exit, and report that."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def width() -> int:
    """Return the columns to use: those of a terminal (at least 60), or else COLUMNS within 40 to 1000, or 80."""
    if is_terminal():
        return max(60, os.get_terminal_size(sys.stdout.fileno()).columns)
    columns = os.environ.get("COLUMNS", "")
    return min(max(int(columns), 40), 1000) if re.fullmatch(r"[0-9]{1,9}", columns) else 80


def color() -> bool:
    """Whether to write colours: standard output is a terminal, and NO_COLOR is not set."""
    return is_terminal() and "NO_COLOR" not in os.environ


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def check_output() -> None:
    """Raise ``InputError`` if standard output is closed: a command checks this before it works."""
    with _output():
        pass


def for_a_pull_request(form: str, reader: str | None) -> str:
    """Return ``form``, or with ``--for`` (``reader``) that of a pull request.

    Raises:
        InputError: ``--for`` is given, and ``form`` is not Markdown.
    """
    if reader is None:
        return form
    if form != "markdown":
        raise InputError(f"--for {reader} writes Markdown, not {form}: add --format markdown, or leave --for out")
    return PULL_REQUEST


def summarise(text: str) -> None:
    """Append Markdown to the summary of the CI step, if any; report a failure."""
    from pyharness import report

    if (trouble := report.append_step_summary(text)) is not None:
        complain(f"warning: {trouble}")


def check_target(output: Path | None, force: bool, records: Sequence[Path]) -> None:
    """Raise ``InputError`` if ``output`` is an input file or, without ``force``, if it exists."""
    from pyharness import store
    from pyharness.system import atomic_file

    if output is None:
        return
    for record in filter(lambda path: path.name, records):  # "/" and "." have no name, and are no records
        for read, what in ((record, "record"), (store.path_beside(record), "state of the record")):
            if _is_same_file(read, output):
                raise InputError(f"--output {str(output)!r} would overwrite the {what}: choose another --output")
    atomic_file.check(output, overwrite=force)


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.is_file() and one.samefile(other)
    except OSError:  # the file is absent, or a name is too long
        return False
