"""The journal from which a run is resumed: its finished cases, in a file next to the future record."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

from pyharness.store import json_values
from pyharness.store.json_values import Encoded, dump, encoded, short
from pyharness.store.results import result_as_json
from pyharness.store.states import CaseStates, path_beside
from pyharness.system import atomic_file, bounded_file
from pyharness.types import CaseResult, InputError

MOST_BYTES = 2 * json_values.MOST_BYTES  # a turn is there twice: by itself, and in the result of its case
MOST_VALUES = 2 * json_values.MOST_VALUES
_BEGINNING = '{"header"'


class Taken(InputError):
    """The name of the record is taken: by a file, or by another run."""


def journal_of(record: Path) -> Path:
    """Return the path of the journal of a record."""
    return record.with_name(record.name + ".journal")


class Journal:
    """Finished cases and turns of a run in progress: one line each, synced to disk, next to the future record.

    The journal also claims the name of the record. Its file is locked while the run lives, so two runs never write one
    path. Creating it before anything is measured shows that the record can be written. If the record goes to a device
    or a pipe, its journal is a file without a name, and the run cannot be resumed.

    Raises:
        Taken: the record or its state exists (``overwrite`` replaces them; ``advice`` tells the user how), or a run has
            claimed it.
        InputError: the folder cannot be written to, or the record has the name of a folder or socket.
    """

    def __init__(
        self, record: Path, *, overwrite: bool = False, resume: bool = False, advice: str = atomic_file.ADVICE
    ) -> None:
        # Whether it is there matters once nobody else can make it.
        atomic_file.check(record, overwrite=True, advice=advice)
        self.record, self.overwrite = record, overwrite
        self.path = None if atomic_file.is_stream(record) else journal_of(record)
        self.states = CaseStates(None if self.path is None else record)
        # Folders that are not there yet, the innermost first.
        folders = () if self.path is None else (record.parent, *record.parent.parents)
        self._made = [folder for folder in folders if not folder.exists()]
        try:
            record.parent.mkdir(parents=True, exist_ok=True)
            # A read-only folder, or too long a name, must be found out now, not after an hour of measuring.
            atomic_file.check_writable(record, overwrite=True)
            if self.path is not None:
                atomic_file.check_writable(path_beside(record), overwrite=True)
            unnamed = partial(tempfile.TemporaryFile, "a+", encoding="utf-8")
            self.file = unnamed() if self.path is None else _lock(self.path)
        except BlockingIOError:
            raise Taken(f"another run is writing {str(record)!r}; choose another --output") from None
        except OSError as error:
            raise InputError(f"cannot write to {str(record.parent)!r}: {error.strerror or error}") from None
        self._worthless = not self.begun
        self._texts: dict[str, tuple[CaseResult, Encoded]] = {}  # by key of the case
        if not overwrite and not self.begun and self.path is not None:
            for path in (record, path_beside(record)):
                if path.exists():
                    self.close()
                    hint = "; there is no unfinished run to resume there" if resume else ""
                    raise Taken(f"{str(path)!r} exists already{hint}: {advice}")

    @classmethod
    def of_a_new_name(cls, folder: Path, stem: str) -> Journal:
        """Claim ``stem.json`` in a folder, or ``stem-2.json`` and so on if the name is taken."""
        for number in itertools.count(1):
            with contextlib.suppress(Taken):
                journal = cls(folder / f"{stem}{'' if number == 1 else f'-{number}'}.json")
                if not journal.begun:
                    return journal
                journal.close()
        raise AssertionError  # numbers do not end

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def begun(self) -> bool:
        """Whether the journal has content, that is, an unfinished run."""
        return os.fstat(self.file.fileno()).st_size > 0

    @property
    def resumable(self) -> bool:
        """Whether the journal holds a finished case of an unfinished run."""
        return self.path is not None and not self._worthless and self.path.exists()

    def start(self, header: Mapping[str, Any], resume: bool) -> list[dict[str, Any]]:
        """Write the header of a new run, or return the finished cases and turns of the same run when resuming.

        Raises:
            InputError: there are finished cases or turns and the run does not resume them, they are of another run, the
                file is no journal, or no record can hold the header.
        """
        dump({**header, "results": []})  # what a record cannot hold is found out now
        lines = self._lines()
        self._worthless = not lines[1:]
        if self._worthless and not resume:  # there is nothing to lose, should an earlier run have been killed
            self.file.truncate(0)
            lines = []
        if not lines:
            self._append({"header": header})
            return []
        try:
            _check(str(self.path), lines, header, resume)
        except InputError:
            self.close()
            raise
        return lines[1:]

    def _lines(self) -> list[dict[str, Any]]:
        self.file.seek(0)
        entries: list[dict[str, Any]] = []
        whole = 0
        try:
            for line, entry in _entries(self.file):
                entries.append(entry)
                whole += len(line.encode())
            self.file.seek(0)
            begun = self.file.read(len(_BEGINNING))
        except UnicodeDecodeError:
            entries, begun = [], "?"
        ours = isinstance(entries[0].get("header"), dict) if entries else _BEGINNING.startswith(begun)
        if not ours:
            self.close()
            raise InputError(f"{str(self.path)!r} exists and is not a journal of a run: choose another --output")
        self.file.truncate(whole)
        self.file.seek(0, os.SEEK_END)
        return entries

    def add(self, entry: Mapping[str, Any]) -> None:
        """Add one finished case or turn; raise ``InputError`` if it cannot be written."""
        self._worthless = False
        self._append(entry)

    def text_of(self, result: CaseResult, text: Encoded | None = None) -> Encoded:
        """Return the JSON text of a result; it is made once, for the journal and the record."""
        before, line = self._texts.get(result.case.key, (None, None))
        if line is None or before is not result:
            line = text or encoded(result_as_json(result))
            self._texts[result.case.key] = result, line
        return line

    def _append(self, entry: Mapping[str, Any]) -> None:
        fields = ", ".join(f"{encoded(name)}: {encoded(value)}" for name, value in entry.items())
        try:
            self.file.write(f"{{{fields}}}\n")
            self.file.flush()
            os.fsync(self.file.fileno())
        except OSError as error:
            raise InputError(f"cannot write {str(self.path)!r}: {error.strerror or error}") from None

    def close(self) -> None:
        """Release the lock. A journal without a finished case is removed."""
        if self.file.closed:
            return
        with contextlib.suppress(OSError):
            if self._worthless and self.path is not None:
                self.states.remove()
                self.path.unlink(missing_ok=True)
                for folder in self._made:
                    folder.rmdir()
        with contextlib.suppress(OSError):
            self.file.close()

    def remove(self) -> None:
        """Remove the journal, and release the lock: the record is written."""
        self.states.remove()
        if self.path is not None:
            self.path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.file.close()


def finished_cases(record: Path, header: Mapping[str, Any], resume: bool) -> frozenset[str]:
    """Return the keys of finished cases in the journal of a record; claim and change nothing.

    Raise ``InputError`` if it has some and a run with this header does not resume them, or is another run.
    """
    try:
        with io.TextIOWrapper(bounded_file.opened(journal_of(record)), encoding="utf-8") as file:
            lines = [entry for _, entry in _entries(file)]
    except (OSError, UnicodeDecodeError):  # there is none, or the run that begins says what is wrong with it
        return frozenset()
    if not lines[1:] or not isinstance(lines[0].get("header"), dict):
        return frozenset()
    _check(str(journal_of(record)), lines, header, resume)
    results = (entry.get("result") for entry in lines[1:] if "round" not in entry)
    return frozenset(str(result["key"]) for result in results if isinstance(result, dict) and "key" in result)


def _check(path: str, lines: list[dict[str, Any]], header: Mapping[str, Any], resume: bool) -> None:
    """Refuse to resume another run, or to begin over an unfinished one."""
    if not resume:
        raise InputError(
            f"{path!r} holds an unfinished run: continue it with --resume, remove it, or choose another --output"
        )
    for name, value in header.items():
        if (before := lines[0]["header"].get(name)) != value:
            raise InputError(f"cannot resume {path!r}: {name} was {short(before)}, now {short(value)}: change it back")


def _lock(path: Path) -> IO[str]:
    """Open and lock a journal; raise ``BlockingIOError`` if another process holds the lock."""
    while True:
        file = path.open("a+", encoding="utf-8")
        try:
            if not atomic_file.lock(file):
                raise BlockingIOError
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except FileNotFoundError:
            pass
        except BaseException:
            file.close()
            raise
        file.close()  # a run that has just ended removed the file that we had opened: what we locked has no name


def _entries(file: IO[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield whole lines with their content, up to the line that a killed run was writing.

    Reading also stops at a damaged line, or at the limits of a journal. Cases after it are measured again.
    """
    read = values = 0
    while (line := file.readline(MOST_BYTES + 1)).endswith("\n"):
        read, values = read + len(line), values + json_values.values_in(line)
        if read > MOST_BYTES or values > MOST_VALUES:
            return
        try:
            entry = json_values.parsed(line.encode())
        except ValueError:
            return
        if not isinstance(entry, dict):
            return
        yield line, entry
