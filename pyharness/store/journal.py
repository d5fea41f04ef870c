"""The journal that a run can be resumed from: finished cases, beside the record to be."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyharness import atomic_file
from pyharness.store.records import dump
from pyharness.store.shape import short
from pyharness.types import InputError

_BEGINNING = '{"header"'


def check_output(path: Path, force: bool = False, resume: bool = False) -> None:
    """Refuse a path that no record can be written to, or that holds something already: before anything is measured.

    What is there is replaced with ``force``. A run that is ``resume``d finds its journal there; ``Journal.start`` says
    what to do about one that is not.
    """
    _check_place(path)
    journal = _journal_of(path)
    if force or not path.exists() or (journal.exists() and journal.stat().st_size > 0):
        return
    hint = "; there is no unfinished run to resume there" if resume else ""
    raise InputError(f"{str(path)!r} exists already{hint}: replace it with --force, or choose another --output")


def _journal_of(record: Path) -> Path:
    return record.with_name(record.name + ".journal")


def _check_place(record: Path) -> None:
    try:
        if record.is_dir() or not record.name:
            raise InputError(f"{str(record)!r} is a folder; name a file in it with --output, such as record.json")
        if record.exists() and not record.is_file():
            raise InputError(f"{str(record)!r} is not a regular file; choose another --output")
    except OSError as error:
        raise InputError(f"cannot write {str(record)!r}: {error.strerror or error}") from None


class Journal:
    """Finished cases of a run in progress: one line each, synced to disk, beside the record to be.

    The file is locked while the run lives, so two runs cannot write one path.
    """

    def __init__(self, record: Path) -> None:
        _check_place(record)
        self.path = _journal_of(record)
        try:
            record.parent.mkdir(parents=True, exist_ok=True)
            # A read-only folder, or too long a name, must be found out now, not after an hour of measuring.
            atomic_file.check_folder(record)
            self.file = self.path.open("a+", encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write to {str(record.parent)!r}: {error.strerror or error}") from None
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.file.close()
            raise InputError(f"another run is writing {str(record)!r}; choose another --output") from None

    def start(self, header: Mapping[str, Any], resume: bool) -> list[dict[str, Any]]:
        """Write the header of a new run, or return the finished cases of the same run when resuming."""
        dump({**header, "results": []})  # what a record cannot hold is found out now
        lines = self._lines()
        if not lines:
            self._append({"header": header})
            return []
        if not resume:
            self.close()
            raise InputError(
                f"{str(self.path)!r} holds an unfinished run: continue it with --resume, remove it, "
                "or choose another --output"
            )
        for name, value in header.items():
            if (found := lines[0]["header"].get(name)) != value:
                self.close()
                raise InputError(
                    f"cannot resume {str(self.path)!r}: {name} was {short(found)}, now it is {short(value)}"
                )
        return lines[1:]

    def _lines(self) -> list[dict[str, Any]]:
        self.file.seek(0)
        found: list[dict[str, Any]] = []
        whole = 0
        try:
            for line in self.file:
                if not line.endswith("\n") or not isinstance(entry := _parsed(line), dict):
                    break  # the run was killed while writing this line
                found.append(entry)
                whole += len(line.encode())
            self.file.seek(0)
            begun = self.file.read(len(_BEGINNING))
        except UnicodeDecodeError:
            found, begun = [], "?"
        ours = isinstance(found[0].get("header"), dict) if found else _BEGINNING.startswith(begun)
        if not ours:
            self.close()
            raise InputError(f"{str(self.path)!r} is in the way and no journal of a run: choose another --output")
        self.file.truncate(whole)
        self.file.seek(0, os.SEEK_END)
        return found

    def add(self, entry: Mapping[str, Any]) -> None:
        """Keep one finished case."""
        self._append(entry)

    def _append(self, entry: Mapping[str, Any]) -> None:
        try:
            self.file.write(json.dumps(entry, allow_nan=False) + "\n")
            self.file.flush()
            os.fsync(self.file.fileno())
        except OSError as error:
            raise InputError(f"cannot write {str(self.path)!r}: {error.strerror or error}") from None

    def close(self) -> None:
        """Give the lock back; the journal stays."""
        with contextlib.suppress(OSError):
            self.file.close()

    def remove(self) -> None:
        """Finish: the record holds everything now."""
        self.path.unlink(missing_ok=True)
        self.close()


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
