"""What ``--base`` and ``--head`` name: a wheel, an environment, a revision, a working tree, or a tokenizer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from email.parser import HeaderParser
from pathlib import Path
from typing import BinaryIO, TypeAlias

from pyharness import tokenizers
from pyharness.features.gate.builds.checkouts import FETCH, UNSHALLOW, Checkout
from pyharness.features.gate.types import SIDES, Side
from pyharness.system import archive, bounded_file, folders
from pyharness.types import InputError

CHOICES = (
    "give a revision (HEAD~1), PATH@REVISION, a checkout, '.' (the working tree as it is), a wheel, a virtual "
    "environment, or a tokenizer on both sides"
)
METADATA_BYTES = 4 << 20
_METADATA = re.compile(r"[^/]+\.dist-info/METADATA")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")  # PEP 508
_VERSION = re.compile(r"[A-Za-z0-9!+._-]{1,100}")


@dataclass(frozen=True, slots=True)
class Wheel:
    """A file that pip installs."""

    asked: str
    path: Path
    distribution: str
    version: str  # with a prefix of the file's digest
    digest: str  # of the file, SHA-256


def wheel(side: Side, asked: str, path: Path) -> Wheel:
    """Read name and version of a wheel; raise ``InputError`` where it is absent or unreadable."""
    try:
        with bounded_file.opened(path) as file:
            name, version = _distribution(file)
            file.seek(0)
            digest = bounded_file.digest(file)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"--{side} {asked!r}: there is no such wheel; {CHOICES}") from None
    except archive.DAMAGE as error:
        about = (getattr(error, "strerror", None) or str(error) or type(error).__name__)[:300]
        raise InputError(f"--{side} {asked!r} is no wheel that can be read: {about}; build it again") from None
    return Wheel(asked, path.resolve(), name, f"{version} (sha256:{digest[:12]})", digest)


def _distribution(file: BinaryIO) -> tuple[str, str]:
    """Return name and version from the file's metadata; raise one of ``archive.DAMAGE``."""
    with archive.opened(file) as members:
        said = [name for name in members.namelist() if _METADATA.fullmatch(name)]
        if len(said) != 1:
            count = f"it has {len(said)} files" if said else "it has no file"
            raise ValueError(f"it does not say which distribution it is: {count} *.dist-info/METADATA")
        text = archive.read(members, said[0], METADATA_BYTES).decode("utf-8", "replace")
    metadata = HeaderParser().parsestr(text)
    name, version = (str(metadata[key] or "").strip() for key in ("Name", "Version"))
    if not _NAME.fullmatch(name) or not _VERSION.fullmatch(version):
        raise ValueError("it does not say which distribution it is: its METADATA has no name and version")
    return name, version


def check_unchanged(side: Side, wheel: Wheel) -> None:
    """Raise ``InputError`` where the file has changed: builds run as this user and can write it."""
    try:
        digest = bounded_file.digest(wheel.path)
    except OSError:
        digest = ""
    if digest != wheel.digest:
        raise InputError(
            f"--{side} {wheel.asked!r}: its wheel was changed or removed after it was made, perhaps by the other "
            "side's build: nothing of it is measured; look at what these builds do"
        )


WORKTREE = "worktree"


@dataclass(frozen=True, slots=True)
class Installed:
    """A given environment; the gate does not change it."""

    asked: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit, or with ``changes`` the working tree on top of it."""

    asked: str
    checkout: Checkout
    commit: str
    changes: str | None = (
        None  # digest of the changes to the commit; "" without changes, None where the commit itself was named
    )

    @property
    def version(self) -> str:
        """The commit, and a prefix of the digest of the changes to it."""
        return f"{self.commit}+{self.changes[:12]}" if self.changes else self.commit

    def now(self) -> Revision:
        """Return the revision in its present state: a working tree may have changed, a commit has not."""
        if self.changes is None:
            return self
        return replace(self, commit=self.checkout.commit("HEAD") or "", changes=self.checkout.digest())


@dataclass(frozen=True, slots=True)
class Specified:
    """A tokenizer of this environment."""

    asked: str
    version: str  # of its vocabulary


Source: TypeAlias = Wheel | Installed | Revision | Specified
Pair: TypeAlias = tuple[Source, Source]  # base and head


class NoRevision(InputError):
    """A checkout lacks the revision of a side; it may have to be fetched, as in the clone of a CI job."""


def find(base: str, head: str, folder: Path) -> Pair:
    """Resolve the names of both sides; paths and revisions are relative to ``folder``.

    Raises:
        InputError: a name resolves to no source, or only one side is a tokenizer.
    """
    first, second = (_find(side, asked, folder) for side, asked in zip(SIDES, (base, head), strict=True))
    if isinstance(first, Specified) is not isinstance(second, Specified):
        only = "base" if isinstance(first, Specified) else "head"
        raise InputError(
            f"--base {base!r} and --head {head!r} cannot be compared: only {only} is a tokenizer; a tokenizer stands "
            "against a tokenizer of this environment"
        )
    return first, second


def notes(sources: Pair) -> Iterator[str]:
    """Yield notes on parts of the sources that the gate does not measure."""
    revisions = [source for source in sources if isinstance(source, Revision)]
    asked_as_it_is = {source.checkout.top for source in revisions if source.changes is not None}
    for top in dict.fromkeys(source.checkout.top for source in revisions):
        if top not in asked_as_it_is and Checkout(top, ".").is_dirty():
            yield f"uncommitted changes in {top} are not measured; --head . measures them"
    for source in revisions:
        if source.checkout.has_submodules(source.commit):
            yield f"{source.asked!r} has submodules, which are not in what is built"


def _find(side: Side, asked: str, folder: Path) -> Source:
    if not asked.strip() or "\0" in asked:
        raise InputError(f"--{side} is empty; {CHOICES}")
    if asked in (WORKTREE, "."):
        return _working_tree(side, asked, folder)
    path = folder / folders.expanded(asked)
    if asked.endswith(".whl"):
        return wheel(side, asked, path)
    if path.is_dir():
        return _folder(side, asked, path, Checkout.around(folder))
    return _elsewhere(side, asked, folder) or _here(side, asked, folder)


def _working_tree(side: Side, asked: str, folder: Path) -> Revision:
    checkout = Checkout.around(folder)
    if checkout is None:
        raise InputError(
            f"--{side} {asked!r} is the working tree, but {str(folder)!r} is in no git checkout; {CHOICES}"
        )
    commit = checkout.commit("HEAD")
    if commit is None:
        raise InputError(f"--{side} {asked!r}: {str(checkout.top)!r} has no commit yet; commit something first")
    return Revision(asked, checkout, commit, checkout.digest())


def _folder(side: Side, asked: str, path: Path, here: Checkout | None) -> Source:
    if is_environment(path):
        return Installed(asked, path.resolve())
    if here is not None and not asked.startswith((".", "/", "~")) and here.commit(asked) is not None:
        raise InputError(
            f"--{side} {asked!r} is a folder here and a revision too: write './{asked}' or 'refs/heads/{asked}'"
        )
    checkout = Checkout.around(path)
    if checkout is None:
        raise InputError(
            f"--{side} {asked!r} is a folder, but no virtual environment (pyvenv.cfg, bin/python) and in no git "
            f"checkout; {CHOICES}"
        )
    return _revision(side, asked, checkout, "HEAD")


def is_environment(folder: Path) -> bool:
    """Whether a folder is a Python environment of venv, virtualenv, uv or conda."""
    made = (folder / "pyvenv.cfg").is_file() or (folder / "conda-meta").is_dir()
    return made and (folder / "bin" / "python").is_file()


def _elsewhere(side: Side, asked: str, folder: Path) -> Source | None:
    """Resolve ``PATH@REVISION``, cut at the first "@" after the path of a checkout."""
    for match in re.finditer("@", asked):
        path, revision = asked[: match.start()], asked[match.end() :]
        place = folder / folders.expanded(path)
        if path and place.is_dir() and (checkout := Checkout.around(place)) is not None:
            if revision == WORKTREE:
                return _working_tree(side, asked, place)
            return _revision(side, asked, checkout, revision)
    return None


def _revision(side: Side, asked: str, checkout: Checkout, revision: str) -> Revision:
    commit = checkout.commit(revision)
    if commit is None:
        raise _no_revision(side, asked, checkout, revision)
    return Revision(asked, checkout, commit)


def _no_revision(side: Side, asked: str, checkout: Checkout, revision: str, besides: str = "") -> InputError:
    """Return an error that suggests a similar name or a fetch; ``besides``: other kinds of source it is not."""
    place, meant = str(checkout.top), checkout.meant(revision)
    lacking = checkout.may_lack(revision)
    if meant and not lacking and "did you mean" not in besides:
        return InputError(f"--{side} {asked!r}: no revision {revision!r} in {place!r}; {meant}")
    advice = " ".join(filter(None, (meant, UNSHALLOW if checkout.is_shallow() else FETCH)))
    kind = NoRevision if lacking else InputError
    return kind(f"--{side} {asked!r}: no revision {revision!r} in {place!r} ({advice}){besides}; {CHOICES}")


def _here(side: Side, asked: str, folder: Path) -> Source:
    """Resolve a revision of the checkout around ``folder``, else a tokenizer."""
    checkout = Checkout.around(folder)
    if checkout is not None and (commit := checkout.commit(asked)) is not None:
        return Revision(asked, checkout, commit)
    try:
        return Specified(asked, tokenizers.resolve(asked).vocabulary or asked)
    except InputError as error:
        why = str(error).partition("; known:")[0]
    besides = f"no wheel, no environment, and no tokenizer ({why})"
    if checkout is not None:
        raise _no_revision(side, asked, checkout, asked, f", {besides}")
    raise InputError(f"--{side} {asked!r} is in no git checkout here, {besides}; {CHOICES}")
