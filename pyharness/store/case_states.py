"""States of the finished cases of a run in progress: one file each, in a folder beside the journal."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pyharness.store.states import NoState, StateReader, StateWriter, check, path_beside, sha256_of
from pyharness.system import atomic_file
from pyharness.types import InputError

_ENDING = ".state.zip"
_WHOLE = "all.part"
_OURS = re.compile(rf"[0-9a-f]{{32}}\.state\.(zip|part)|{re.escape(_WHOLE)}")


def write_case(path: Path, case: str, state: Mapping[str, Any]) -> None:
    """Write the file of one case, whole or not at all; raises ``ValueError`` for arrays that are no state."""
    part = path.with_suffix(".part")
    with StateWriter(part) as states:
        states.add(case, state)
    with part.open("rb") as file:
        os.fsync(file.fileno())  # the journal will say that it is there
    part.replace(path)


class CaseStates:
    """Files that a run keeps for the state of its record; none for a record that goes into a device or a pipe."""

    def __init__(self, record: Path | None) -> None:
        self._record = record
        self._folder = None if record is None else record.with_name(record.name + ".states")
        self._digests: dict[str, str] = {}

    def path_of(self, case: str) -> Path | None:
        """Where the worker of a case leaves its state."""
        if self._folder is None:
            return None
        try:
            self._folder.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write to {str(self._folder)!r}: {error.strerror or error}") from None
        return self._folder / (hashlib.sha256(case.encode("utf-8", "surrogatepass")).hexdigest()[:32] + _ENDING)

    def take(self, case: str) -> str | None:
        """Check what the worker of a case has left; returns its digest. Raises ``NoState`` where it is damaged."""
        path = self.path_of(case)
        self._digests.pop(case, None)
        if path is None or not path.is_file():
            return None
        check(path, case)
        self._digests[case] = sha256_of(path)
        return self._digests[case]

    def discard(self, case: str) -> None:
        """Forget what an earlier worker of a case has left."""
        self._digests.pop(case, None)
        if (path := self.path_of(case)) is not None:
            path.unlink(missing_ok=True)

    def resume(self, case: str, digest: str | None) -> bool:
        """Take a finished case over from a journal; False: its state is gone, so that it must be measured again."""
        if digest is None or self._folder is None:
            return True
        with contextlib.suppress(NoState, OSError):
            return self.take(case) == digest
        return False

    def write(self, cases: Iterable[str]) -> dict[str, Any] | None:
        """Write the file beside the record, over one that is there; returns what the record says of it.

        Raises:
            InputError: it cannot be written; everything is in the journal and beside it then.
        """
        kept = [case for case in cases if case in self._digests]
        if self._record is None or self._folder is None:
            return None
        target = path_beside(self._record)
        if not kept:
            target.unlink(missing_ok=True)  # of the record that this one replaces
            return None
        whole = self._folder / _WHOLE
        try:
            self._join(kept, whole)
            about = {"file": target.name, "bytes": whole.stat().st_size, "sha256": sha256_of(whole)}
            atomic_file.write(target, whole, overwrite=True)
            whole.unlink()
        except OSError as error:
            raise InputError(f"cannot write {str(whole)!r}: {error.strerror or error}") from None
        return about

    def _join(self, cases: Iterable[str], whole: Path) -> None:
        with StateWriter(whole) as states:
            for case in cases:
                path = self.path_of(case)
                assert path is not None  # noqa: S101 -- there is a folder
                with StateReader(path) as state:
                    states.add(case, state.of(case))

    def remove(self) -> None:
        """Remove the folder, once the record holds everything."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            for path in [path for path in self._folder.iterdir() if _OURS.fullmatch(path.name)]:
                path.unlink()
            self._folder.rmdir()
