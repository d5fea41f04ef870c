"""A terminal of 80 columns: a program typed into it, and what is on its screen in the end."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

COLUMNS = 80
_PARTS = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|[\r\n]|[^\x1b\r\n]+")
_PLAIN = ("m", "h", "l")  # colours, and whether a cursor is shown


def typed(command: list[str], folder: Path) -> tuple[int, str]:
    """Exit status of a program, and all that it wrote to the terminal."""
    mine, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    unset = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "PYHARNESS_DATA")
    environment = {name: value for name, value in os.environ.items() if name not in unset} | {
        "TERM": "xterm-256color",
        "PAGER": "cat",
    }
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=its, stdout=its, stderr=its) as child:
        os.close(its)
        written = b""
        while part := _read(mine):
            written += part
    os.close(mine)
    return child.returncode, written.decode()


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 1 << 16)
    except OSError:  # nobody has the other end any more
        return b""


def screen(written: str) -> str:
    """Lines that are left when bars have been drawn anew and taken away, however many there are."""
    lines, row, column = [""], 0, 0
    place = 0
    while place < len(written):
        part = _PARTS.match(written, place)
        assert part is not None, f"no terminal is known to do {written[place : place + 20]!r}"
        place = part.end()
        if part[2] is not None:
            assert part[2] in (*_PLAIN, "A", "K"), f"not drawn here: {part[0]!r}"
            row -= int(part[1] or 1) if part[2] == "A" else 0
            lines[row] = "" if part[2] == "K" else lines[row]
        elif part[0] in "\r\n":
            row, column = row + (part[0] == "\n"), 0
            lines += [""] * (row == len(lines))
        else:
            lines[row] = lines[row][:column].ljust(column) + part[0] + lines[row][column + len(part[0]) :]
            column += len(part[0])
    return "".join(f"{line.rstrip()}\n" for line in lines).rstrip("\n") + "\n"
