"""The folder of a run in parts: ``plan.json``, and of each part its passes, then ``PART.done.json``.

::

    plan.json               what is measured, of which files, with which versions
    PART/CASE.part.zip      the pass of a case over a part; CASE is a digest of the key of the case
    PART.done.json          written last: the digests of these files, or why a case has no file
    PART.lock               held while a process works on the part

Files of parts hold ids of sampled documents, which a tokenizer decodes: they are made for their owner alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyharness import store
from pyharness.corpora.parts import MOST_PARTS
from pyharness.store import json_values
from pyharness.store.json_values import as_json, check_values, from_json
from pyharness.system import atomic_file, bounded_file
from pyharness.types import Failure, InputError, Status

KIND, VERSION = "pyharness-parts", 1
PLAN = "plan.json"
MOST_BYTES = 1 << 26  # of a plan, or of what is said of a part
_DONE = ".done.json"
_UNFINISHED = ".*.part"  # what a killed process was writing (``atomic_file``)


@dataclass(frozen=True, slots=True, kw_only=True)
class DividedRow:
    """What must be the same of a row wherever a part is read."""

    spec: str
    version: str  # of its library
    revision: str | None = None
    vocabulary: str | None = None
    sha256: str | None = None  # of its file


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """The content of ``plan.json``: a suite, its number of parts, and what must not change between them."""

    parts: int
    suite: Mapping[str, Any]  # the declaration, as a record holds it
    pyharness: str  # version
    rows: Mapping[str, DividedRow]  # by label
    listings: Mapping[str, str]  # by label of a corpus: SHA-256 of the names, sizes and times of its files
    cases: tuple[str, ...]  # keys of the cases that are read in parts


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """What became of a case in a part: a file with its pass, or why it has no pass."""

    case: str  # its key
    sha256: str | None = None  # of the file
    documents: int = 0
    bytes: int = 0  # of text
    size: int = 0  # of the file, in bytes
    seconds: float = 0.0
    threads: int = 0
    memory: int = 0  # peak of its process, in bytes
    started: bool = False  # whether the process was started for it, which is in the seconds
    tries: int = 1
    status: Status = "ok"
    reason: str | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartDone:
    """The content of ``PART.done.json``."""

    plan: str  # SHA-256 of the plan
    part: int
    seconds: float
    cases: tuple[PartResult, ...]

    @property
    def failed(self) -> list[PartResult]:
        """The cases that have no pass because they failed."""
        return [one for one in self.cases if one.status == "failed"]


@dataclass(frozen=True, slots=True)
class PartsFolder:
    """A folder with a plan."""

    path: Path
    plan: Division
    digest: str  # of the plan

    @classmethod
    def opened(cls, path: Path) -> PartsFolder:
        """Open a folder; raise ``InputError`` for one without a plan, or with one that this version cannot read."""
        if not (path / PLAN).is_file():
            raise InputError(
                f"there is no {PLAN} in {str(path)!r}: make one with pyharness plan SUITE --parts N -o DIR"
            )
        data = _read(path / PLAN)
        try:
            plan = from_json(Division, data, PLAN)
        except store.Misshapen as error:
            raise InputError(f"{str(path / PLAN)!r} is no plan of parts: {error}") from None
        if not 0 < plan.parts <= MOST_PARTS:
            raise InputError(f"{str(path / PLAN)!r} is no plan of parts: it has {plan.parts}, not 1 to {MOST_PARTS:,}")
        return cls(path, plan, _digest(data))

    @classmethod
    def made(cls, path: Path, plan: Division) -> PartsFolder:
        """Write a plan into a folder, or find the same plan there.

        Raises:
            InputError: the folder cannot be written, or has another plan.
        """
        text = store.dump(_named(as_json(Division, plan)), "cases")
        try:
            path.mkdir(parents=True, exist_ok=True)
            if atomic_file.is_stream(path / PLAN):
                raise FileExistsError
            atomic_file.create(path / PLAN, text)
        except FileExistsError:
            if not path.is_dir():
                raise InputError(f"{str(path)!r} is a file: choose another name for the folder") from None
            if (path / PLAN).is_file() and cls.opened(path).plan == plan:
                return cls.opened(path)
            raise InputError(f"{str(path)!r} holds another plan: choose another folder, or remove it") from None
        except OSError as error:
            raise InputError(f"cannot write to {str(path)!r}: {error.strerror or error}") from None
        return cls.opened(path)

    def check(self, part: int) -> None:
        """Raise ``InputError`` for a number that no part has."""
        if not 0 <= part < self.plan.parts:
            raise InputError(f"there is no part {part} of {self.plan.parts}; parts are 0 to {self.plan.parts - 1}")

    def file_of(self, part: int, case: str) -> Path:
        """Return the path of the pass of a case over a part."""
        name = hashlib.sha256(case.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self.path / str(part) / f"{name}.part.zip"

    def make_part(self, part: int) -> None:
        """Make the folder of a part, for its owner alone."""
        try:
            (self.path / str(part)).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write to {str(self.path)!r}: {error.strerror or error}") from None

    def finish(self, done: PartDone) -> None:
        """Say that a part is done; raise ``InputError`` if that cannot be written."""
        path, text = self._about(done.part)[0], store.dump(_named(as_json(PartDone, done)), "cases")
        try:
            atomic_file.keep(path, text)
        except OSError as error:
            raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None

    def done(self, part: int) -> PartDone | None:
        """Return what is done of a part; None if it is missing or damaged, so that it is done again.

        Raises:
            InputError: it is of another plan.
        """
        path, _ = self._about(part)
        if not path.is_file():
            return None
        try:
            done = from_json(PartDone, _read(path), path.name)
        except (InputError, store.Misshapen):
            return None
        if done.plan != self.digest:
            raise InputError(f"{str(path)!r} is of another plan: use another folder, or remove it")
        whole = done.part == part and [one.case for one in done.cases] == list(self.plan.cases)
        return done if whole and all(self._is_there(part, one) for one in done.cases) else None

    def _is_there(self, part: int, result: PartResult) -> bool:
        if result.status != "ok":
            return bool(result.reason)
        path = self.file_of(part, result.case)
        with contextlib.suppress(OSError):
            return path.is_file() and bounded_file.digest(path) == result.sha256
        return False

    def missing(self) -> list[int]:
        """Return the numbers of the parts that are not done."""
        return [part for part in range(self.plan.parts) if self.done(part) is None]

    def remove(self) -> None:
        """Remove what is ours in the folder, and the folder if nothing else is in it."""
        with contextlib.suppress(OSError):
            for part in range(self.plan.parts):
                inner = self.path / str(part)
                files = map(partial(self.file_of, part), self.plan.cases)
                for path in (*files, *self._about(part), *inner.glob(_UNFINISHED)):
                    path.unlink(missing_ok=True)
                with contextlib.suppress(FileNotFoundError):
                    inner.rmdir()
            for path in (self.path / PLAN, *self.path.glob(_UNFINISHED)):
                path.unlink()
            self.path.rmdir()

    def _about(self, part: int) -> tuple[Path, Path]:
        return self.path / f"{part}{_DONE}", self.path / f"{part}.lock"

    @contextlib.contextmanager
    def working(self, part: int) -> Iterator[bool]:
        """Hold a part; give whether it is held, and not by another process. Raise ``InputError`` if it cannot be."""
        _, path = self._about(part)
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None
        try:
            yield atomic_file.lock(handle)
        finally:
            os.close(handle)


def _named(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": KIND, "version": VERSION, **data}


def _read(path: Path) -> dict[str, Any]:
    """Read a file of ours, and return it without kind and version; raise ``InputError`` for any other."""
    content = bounded_file.read(path, MOST_BYTES, str(path))
    try:
        data = json_values.parsed(content)
        check_values(data)
    except (ValueError, store.Misshapen) as error:
        raise InputError(f"{str(path)!r} is damaged: {error}") from None
    if not isinstance(data, dict) or data.pop("kind", None) != KIND:
        raise InputError(f"{str(path)!r} is not a file of a run in parts")
    if (version := data.pop("version", None)) != VERSION:
        raise InputError(f"{str(path)!r} is version {str(version)[:20]}; this pyharness reads {VERSION}")
    return data


def _digest(data: Mapping[str, Any]) -> str:
    return hashlib.sha256(store.dump(data, "cases").encode("utf-8", "surrogatepass")).hexdigest()


def in_ranges(numbers: list[int]) -> str:
    """Write ascending numbers in short.

    >>> in_ranges([0, 1, 2, 5, 7, 8])
    '0-2, 5, 7-8'
    """
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    return ", ".join("-".join(map(str, one)) for one in ranges)
