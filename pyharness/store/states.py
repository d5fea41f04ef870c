"""States: the integer arrays behind a record's numbers, in one compressed file next to it.

The file is a zip archive. ``arrays/DIGEST.npy`` is an array that NumPy reads without ``allow_pickle``. Its name is the
BLAKE2b of its bytes, so an array that two cases share is stored once. ``index.json`` lists the arrays of each case by
name. Equal arrays of equal types give equal bytes. The record has the file's name, size and SHA-256. During a run each
case has such a file of its own: a worker writes it, and its parent checks it.

Nothing is trusted. Sizes are checked before anything is allocated, members are stored or deflated, and arrays are
integers of at most 64 bits.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import re
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pyharness.store import json_values
from pyharness.system import archive, atomic_file, bounded_file
from pyharness.types import InputError, State

FORMAT = "pyharness-state"
VERSION = 1
LARGEST_ARRAY = 1 << 28  # bytes
LARGEST_STATE = 1 << 29  # bytes of the arrays of one case: what a reader may hold at once
LARGEST_INDEX = 1 << 26
LONGEST_NAME = 200
_INDEX = "index.json"
_OTHER = "it was changed or is of another run; copy both files again"
_PIECE = 1 << 20  # bytes that are unpacked at once
_LONGEST_HEADER = 256  # of an array, in bytes; ours take 128
_EPOCH = (1980, 1, 1, 0, 0, 0)  # that every archive has: the same arrays give the same bytes
_NPY: Any = np.lib.format


class NoState(InputError):
    """A record has no state next to it, or none that can be read."""


def path_beside(record: Path) -> Path:
    """Return the path of the state of a record."""
    return record.parent / f"{record.name}.state.zip"  # with_name refuses "", which a shell's empty variable gives


# ---------------------------------------------------------------------------------------------- writing


class StateWriter:
    """Writes a file of states, case by case; an array that is already in it is not written again.

    ``level``: of compression, from 1 (fast) to 9.
    """

    def __init__(self, file: Path | IO[bytes], level: int = 6) -> None:
        self._archive, self._level = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED), level
        self._written: set[str] = set()
        self._cases: dict[str, dict[str, str]] = {}

    def __enter__(self) -> StateWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            index = {"format": FORMAT, "version": VERSION, "cases": self._cases}
            self._write(_INDEX, json.dumps(index, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        self._archive.close()

    def add(self, case: str, state: Mapping[str, Any]) -> None:
        """Write the arrays of a case; raise ``ValueError`` if a name, a type or a size is not allowed."""
        sizes = [_check(name, array).nbytes for name, array in state.items()]
        if sum(sizes) > LARGEST_STATE:
            raise ValueError(f"a state of {sum(sizes):,} bytes is more than {LARGEST_STATE:,}")
        self._cases[case] = {name: self._add(np.ascontiguousarray(array)) for name, array in state.items()}

    def _add(self, array: NDArray[Any]) -> str:
        data = io.BytesIO()
        _NPY.write_array(data, array.astype(array.dtype.newbyteorder("<")), version=(1, 0), allow_pickle=False)
        digest = hashlib.blake2b(data.getbuffer(), digest_size=16).hexdigest()
        if digest not in self._written:
            self._write(_member(digest), data.getbuffer())
            self._written.add(digest)
        return digest

    def _write(self, name: str, data: bytes | memoryview) -> None:
        about = zipfile.ZipInfo(name, _EPOCH)
        about.compress_type = zipfile.ZIP_DEFLATED
        self._archive.writestr(about, data, compresslevel=self._level)


def _check(name: object, array: object) -> NDArray[Any]:
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise ValueError(f"an array is called {str(name)[:60]!r}; names are text of 1 to {LONGEST_NAME} characters")
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu":
        raise ValueError(f"{name!r} of a state is not an array of integers")
    if array.nbytes > LARGEST_ARRAY:
        raise ValueError(f"{name!r} of a state has {array.nbytes:,} bytes; {LARGEST_ARRAY:,} are allowed")
    return array


def _member(digest: str) -> str:
    return f"arrays/{digest}.npy"


# ---------------------------------------------------------------------------------------------- reading


class StateReader:
    """A file of states with a checked index; arrays are read case by case.

    ``about``: what the record says of the file's size and digest, which must hold.

    Raises:
        NoState: the file is missing, damaged, of another record, or not a file of states.
    """

    def __init__(self, path: Path, about: Mapping[str, Any] | None = None) -> None:
        self.path = path
        try:
            self.file = bounded_file.opened(path)
        except OSError as error:
            raise NoState(f"state {str(path)!r} cannot be read: {error.strerror or error}") from None
        try:
            if about is not None:
                self._compare(about)
            with self._damage():
                self._archive = archive.opened(self.file)
                self._cases = self._index()
        except BaseException:
            self.file.close()
            raise

    def __enter__(self) -> StateReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()
        self.file.close()

    def __contains__(self, case: object) -> bool:
        return case in self._cases

    @property
    def cases(self) -> Collection[str]:
        """Return the keys of its cases."""
        return self._cases.keys()

    def of(self, case: str) -> State:
        """Return the arrays of a case by name; raise ``NoState`` if the case or an array cannot be read."""
        return dict(self.arrays(case))

    def arrays(self, case: str) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the arrays of a case with their names; raise ``NoState`` if the case or an array cannot be read."""
        with self._damage():
            if case not in self:
                raise NoState(f"state {str(self.path)!r} has no case {case[:200]!r}")
            members = {name: self._archive.getinfo(_member(digest)) for name, digest in self._cases[case].items()}
            if sum(member.file_size for member in members.values()) > LARGEST_STATE + _LONGEST_HEADER * len(members):
                raise ValueError(f"case {case!r} has more than {LARGEST_STATE:,} bytes")
        for name, member in members.items():
            with self._damage():
                array = self._array(name, member)
            yield name, array

    def _compare(self, about: Mapping[str, Any]) -> None:
        size = os.fstat(self.file.fileno()).st_size
        if size != about["bytes"]:
            raise NoState(f"state {str(self.path)!r} has {size:,} bytes, the record says {about['bytes']:,}: {_OTHER}")
        digest = bounded_file.digest(self.file)
        if digest != about["sha256"]:
            raise NoState(f"state {str(self.path)!r} has SHA-256 {digest}, the record says {about['sha256']}: {_OTHER}")
        self.file.seek(0)

    def _index(self) -> dict[str, dict[str, str]]:
        index = json_values.parsed(archive.read(self._archive, _INDEX, LARGEST_INDEX), "surrogatepass")
        if not isinstance(index, dict) or index.get("format") != FORMAT:
            raise ValueError("it is of another format")
        if index.get("version") != VERSION:
            raise ValueError(f"it is version {str(index.get('version'))[:20]}; this pyharness reads {VERSION}")
        cases = index.get("cases")
        if not isinstance(cases, dict) or not all(map(_names_arrays, cases.values())):
            raise ValueError("its index is not a table of cases and arrays")
        return cases

    def _array(self, name: str, member: zipfile.ZipInfo) -> NDArray[Any]:
        with archive.member(self._archive, member) as file:
            start = io.BytesIO(file.read(_LONGEST_HEADER))  # the header is in it, and some of the values
            if _NPY.read_magic(start) != (1, 0):
                raise ValueError(f"{name!r} is an array of another version")
            shape, by_columns, dtype = _NPY.read_array_header_1_0(start, max_header_size=_LONGEST_HEADER)
            size = math.prod(shape) * dtype.itemsize
            if dtype.kind not in "iu" or by_columns or not 0 <= size <= LARGEST_ARRAY:
                raise ValueError(f"{name!r} is not an array of integers of at most {LARGEST_ARRAY:,} bytes")
            if start.tell() + size != member.file_size:
                raise ValueError(f"{name!r} is cut off, or goes on after its end")
            values = bytearray(size)
            filled = start.readinto(values)
            while part := file.read(_PIECE):  # the last read finds the end, and checks the sum
                values[filled : filled + len(part)] = part
                filled += len(part)
            if filled != size:
                raise ValueError(f"{name!r} is cut")
        return np.frombuffer(values, dtype).reshape(shape)

    @contextlib.contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            yield
        except NoState:
            raise
        # What zipfile, zlib and NumPy raise for damage has no common name: EOFError, zlib.error, struct.error, ...
        except Exception as error:
            raise NoState(f"state {str(self.path)!r} is damaged: {str(error)[:200] or type(error).__name__}") from None


def _names_arrays(arrays: object) -> bool:
    if not isinstance(arrays, dict):
        return False
    return all(isinstance(digest, str) and len(digest) == 32 and digest.isalnum() for digest in arrays.values())


def check(path: Path, case: str) -> None:
    """Read all arrays of a case once; raise ``NoState`` if the case is missing or an array cannot be read."""
    with StateReader(path) as states:
        for _ in states.arrays(case):
            pass


_ENDING = ".state.zip"
_OURS = re.compile(r"[0-9a-f]{32}\.state\.zip|\.[0-9a-f]{32}\.state\.zip\.[0-9a-f]{8}\.part")


def write_case(path: Path, case: str, state: Mapping[str, Any]) -> None:
    """Write the file of one case atomically; raise ``ValueError`` if the arrays are not a state."""

    def write(file: IO[bytes]) -> None:
        # It lasts until a run or a merge has read it: level 6 saves a tenth of the bytes in five times the time.
        with StateWriter(file, level=1) as states:
            states.add(case, state)

    atomic_file.replace(path, write)


class CaseStates:
    """The state files of a run, one per case; there are none if the record goes to a device or a pipe."""

    def __init__(self, record: Path | None) -> None:
        self._record = record
        self._folder = None if record is None else record.with_name(record.name + ".states")
        self._digests: dict[str, str] = {}

    def path_of(self, case: str) -> Path | None:
        """Return the path at which the worker of a case writes its state, and make its folder, or None.

        Raises:
            InputError: the folder cannot be made.
        """
        if self._folder is None:
            return None
        try:
            self._folder.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write to {str(self._folder)!r}: {error.strerror or error}") from None
        return self._folder / (hashlib.sha256(case.encode("utf-8", "surrogatepass")).hexdigest()[:32] + _ENDING)

    def take(self, case: str) -> str | None:
        """Return the digest of the state that a worker wrote; None without one; raise ``NoState`` if it is damaged."""
        path = self.path_of(case)
        self._digests.pop(case, None)
        if path is None or not path.is_file():
            return None
        check(path, case)
        self._digests[case] = bounded_file.digest(path)
        return self._digests[case]

    def discard(self, case: str) -> None:
        """Remove the state that an earlier worker of a case wrote."""
        self._digests.pop(case, None)
        if (path := self.path_of(case)) is not None:
            path.unlink(missing_ok=True)

    def resume(self, case: str, digest: str | None) -> bool:
        """Take the state of a finished case; return False if it is gone or changed: the case must be measured again."""
        if digest is None or self._folder is None:
            return True
        with contextlib.suppress(NoState, OSError):
            return self.take(case) == digest
        return False

    def write(self, cases: Iterable[str]) -> dict[str, Any] | None:
        """Write the state next to the record, replacing an older one; return its facts for the record.

        If no case has any, remove the older one and return None.

        Raises:
            InputError: the file cannot be written. Then everything is still in the journal and the folder next to it.
        """
        kept = [case for case in cases if case in self._digests]
        if self._record is None or self._folder is None:
            return None
        target = path_beside(self._record)
        if not kept:
            target.unlink(missing_ok=True)  # of the record that this one replaces
            return None
        atomic_file.write(target, partial(self._join, kept), overwrite=True)
        return {"file": target.name, "bytes": target.stat().st_size, "sha256": bounded_file.digest(target)}

    def _join(self, cases: Iterable[str], file: IO[bytes]) -> None:
        with StateWriter(file) as states:
            for case in cases:
                path = self.path_of(case)
                assert path is not None  # noqa: S101 -- there is a folder
                with StateReader(path) as state:
                    states.add(case, state.of(case))

    def remove(self) -> None:
        """Remove the files, and their folder if nothing else is in it."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            for path in [path for path in self._folder.iterdir() if _OURS.fullmatch(path.name)]:
                path.unlink()
            self._folder.rmdir()
