"""Files that a row cannot read where they lie: in gzip, or of a revision in git. A copy takes their place."""

from __future__ import annotations

import fnmatch
import os
import re
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyharness.system import bounded_file, program
from pyharness.types import InputError
from pyharness.vocabularies.files import vocabulary_file

_PARTS = re.compile(r"(?P<head>(?:\w+\+)?(?:file:)?)(?P<path>[^?]+)(?P<options>\?.*)?", re.DOTALL)
_GZIP, _LFS = b"\x1f\x8b", b"version https://git-lfs"
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=", "-c", "core.quotePath=false", "--no-pager")
# A partial clone fetches missing objects with programs that it names: allow no protocol.
_ALONE = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}
_SECONDS = 60.0
_WANTED = (*vocabulary_file.NAMES, "*merges.txt")


@contextmanager
def readable(spec: str) -> Iterator[str]:
    """Yield a specification that rows can read: the same one, or one of a copy that ends with the block.

    ``model.json.gz`` is unpacked. ``PATH@REVISION`` is a file or folder at a revision in git.

    Raises:
        InputError: gzip data are damaged or too large, or git has no such revision or file.
    """
    parts = _PARTS.fullmatch(spec)
    path = Path(parts["path"]).expanduser() if parts is not None else Path()
    if parts is None or not (_is_packed(path) or _is_revision(path)):
        yield spec
        return
    with tempfile.TemporaryDirectory(prefix="pyharness-") as folder:
        copy = _unpack(path, Path(folder)) if _is_packed(path) else _check_out(path, Path(folder))
        try:
            yield f"{parts['head'].removesuffix('file:')}file:{copy}{parts['options'] or ''}"
        except InputError as error:
            raise type(error)(str(error).replace(str(copy), str(path))) from None


def _is_packed(path: Path) -> bool:
    try:
        with bounded_file.opened(path) as file:
            return path.is_file() and file.read(len(_GZIP)) == _GZIP
    except (OSError, ValueError):
        return False


def _is_revision(path: Path) -> bool:
    """Whether a path that is not there names a revision of one in a folder that is there."""
    base, at, revision = str(path).rpartition("@")
    return bool(at and base and revision) and not os.path.lexists(path) and Path(base).absolute().parent.is_dir()


def _unpack(path: Path, folder: Path) -> Path:
    inflating, packed = zlib.decompressobj(wbits=31), vocabulary_file.read(path)
    try:
        data = inflating.decompress(packed, vocabulary_file.BIGGEST_FILE + 1)
    except zlib.error as error:
        raise InputError(f"{path} is damaged: {error}; fetch it again") from None
    if len(data) > vocabulary_file.BIGGEST_FILE:
        raise InputError(f"{path} unpacks to more than {vocabulary_file.BIGGEST_FILE:,} bytes, the most that is read")
    if not inflating.eof or inflating.unused_data:
        raise InputError(f"{path} is cut off, or has more behind its end; fetch it again")
    copy = folder / path.name.removesuffix(".gz")
    copy.write_bytes(data)
    return copy


# ---------------------------------------------------------------------------------------------- git


def _check_out(path: Path, folder: Path) -> Path:
    """Write the file, or the tokenizer files of the folder, as a revision has them."""
    base, _, revision = str(path).rpartition("@")
    place = Path(base).absolute()
    commit = _git(place.parent, f"no revision {revision!r} of {base!r}", "rev-parse", "--verify", "--end-of-options",
                  f"{revision}^{{commit}}").decode().strip()  # fmt: skip
    what = f"{base!r} is not in revision {revision!r}"
    kind = _git(place.parent, what, "cat-file", "-t", f"{commit}:./{place.name}").decode().strip()
    if kind != "tree":
        copy = folder / place.name
        copy.write_bytes(_blob(place.parent, f"{commit}:./{place.name}", base))
        return copy
    copy = folder / "model"
    copy.mkdir()
    listed = _git(place.parent, what, "ls-tree", "-z", "--name-only", f"{commit}:./{place.name}")
    names = listed.decode(errors="replace").split("\0")
    for name in (one for one in names if any(fnmatch.fnmatch(one, wanted) for wanted in _WANTED)):
        (copy / name).write_bytes(_blob(place.parent, f"{commit}:./{place.name}/{name}", f"{base}/{name}"))
    return copy


def _blob(folder: Path, name: str, what: str) -> bytes:
    data = _git(folder, f"{what!r} cannot be read", "cat-file", "blob", name)
    if data.startswith(_LFS):
        raise InputError(f"{what!r} is a pointer of Git LFS at that revision: fetch it with git lfs, and name the file")
    return data


def _git(folder: Path, lack: str, *arguments: str) -> bytes:
    command: Sequence[str] = ("git", *_QUIET, "-C", str(folder), *arguments)
    try:
        # Without those of a caller that is git itself, which name another repository.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        ran = program.run(command, {**environment, **_ALONE}, seconds=_SECONDS)
    except program.OutOfTime:
        raise InputError(f"{lack}: git does not answer within {_SECONDS:.0f} s") from None
    if ran.status:
        said_last = ran.complaints.strip().rpartition("\n")[2][:200]
        raise InputError(f"{lack}: {said_last or 'git does not know it'}")
    return ran.output
