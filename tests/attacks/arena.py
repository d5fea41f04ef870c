"""The folder that every attack starts in: a text, a tokenizer, a record, and what is none of these."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

from pyharness.features.gate import records as gate_records

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))  # under -P, too

from gating.gates import gate, judgement

PROGRAMS = "bin"  # of the stock: put on the PATH, so that a signal to $! reaches what it names
TEXT = "to be or not to be, that is the question;\nwhether 'tis nobler in the mind to suffer\n"


def make_stock(folder: Path) -> Path:
    """Make, once, what takes long: the command, ``text.txt``, ``bpe/model.json``, and records of a run and a gate."""
    folder.mkdir(parents=True)
    program = folder / PROGRAMS / "pyharness"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m pyharness "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    (folder / "text.txt").write_text(TEXT * 5, encoding="utf-8")
    _pyharness(folder, "train", "bpe", "-c", "path:text.txt", "--vocab-size", "270", "--out", "bpe", "-q")
    options = ("-t", "raw_bytes", "-t", "file:bpe/model.json", "-c", "path:text.txt", "-b", "compression")
    _pyharness(folder, "run", *options, "-o", "record.json", "-q")
    (folder / "gate.json").write_text(gate_records.dump_gate(gate(judgement("encode"))), encoding="utf-8")
    return folder


def _pyharness(folder: Path, *arguments: str) -> None:
    subprocess.run([sys.executable, "-P", "-m", "pyharness", *arguments], cwd=folder, check=True, capture_output=True)


def build(folder: Path, stock: Path) -> None:
    """Lay the arena out: the stock, and beside it

    ``loop/`` (a text, links in a circle, a link that leads nowhere), ``pipe`` (a FIFO), ``socket``, ``device`` (the
    numbers of /dev/null, for root), ``zero`` (those of /dev/zero), ``link.json`` (to ``record.json``), ``nowhere.json``
    (a link to what is not there), ``circle`` (a link to itself), ``empty``, ``binary``, ``folder/``.
    """
    shutil.copytree(stock, folder, ignore=lambda *_: [PROGRAMS])
    (folder / "loop").mkdir()
    (folder / "loop" / "text.txt").write_text(TEXT, encoding="utf-8")
    for name, target in {"self": "../loop", "a.txt": "b.txt", "b.txt": "a.txt", "lost.txt": "none.txt"}.items():
        (folder / "loop" / name).symlink_to(target)
    for name, target in {"link.json": "record.json", "nowhere.json": "none.json", "circle": "circle"}.items():
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        before = Path.cwd()
        server.bind(os.path.relpath(folder / "socket", before))
    (folder / "empty").write_bytes(b"")
    (folder / "binary").write_bytes(bytes(range(256)) * 16)
    (folder / "folder").mkdir()
    if os.geteuid() == 0:
        os.mknod(folder / "device", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.mknod(folder / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
