"""What ``--base`` and ``--head`` name: a wheel, an environment, a revision, a working tree, or a tokenizer."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from email.parser import HeaderParser
from pathlib import Path
from typing import BinaryIO, TypeAlias

from pyharness import tokenizers
from pyharness.features.gate.builds.checkouts import UNSHALLOW, Checkout, GitFailed
from pyharness.features.gate.types import SIDES, Side
from pyharness.system import archive, bounded_file, folders
from pyharness.types import InputError

CHOICES = (
    "give a revision (HEAD~1), PATH@REVISION, '.' (the working tree), a wheel, a virtual environment, or a tokenizer"
)
MOST_NEAR = 5  # names in "did you mean"
ALIKE = 0.6  # least similarity of such a name
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
        raise absent(f"--{side}", asked, path, "python -m pip wheel --no-deps . makes a wheel") from None
    except archive.DAMAGE as error:
        about = (getattr(error, "strerror", None) or str(error) or type(error).__name__)[:300]
        raise InputError(f"--{side} {asked!r} is not a readable wheel: {about}; build it again") from None
    return Wheel(asked, path.resolve(), name, f"{version} (sha256:{digest[:12]})", digest)


def _distribution(file: BinaryIO) -> tuple[str, str]:
    """Return name and version from the file's metadata; raise one of ``archive.DAMAGE``."""
    with archive.opened(file) as members:
        files = [name for name in members.namelist() if _METADATA.fullmatch(name)]
        if len(files) != 1:
            raise ValueError(f"it has {len(files)} files *.dist-info/METADATA, and a wheel has one")
        text = archive.read(members, files[0], METADATA_BYTES).decode("utf-8", "replace")
    metadata = HeaderParser().parsestr(text)
    name, version = (str(metadata[key] or "").strip() for key in ("Name", "Version"))
    if not _NAME.fullmatch(name) or not _VERSION.fullmatch(version):
        raise ValueError("its METADATA has no name and version")
    return name, version


def check_unchanged(side: Side, wheel: Wheel) -> None:
    """Raise ``InputError`` where the file has changed: builds run as this user and can write it."""
    try:
        digest = bounded_file.digest(wheel.path)
    except OSError:
        digest = ""
    if digest != wheel.digest:
        raise InputError(
            f"--{side} {wheel.asked!r}: its wheel was changed or removed after the build, perhaps by the other side's "
            "build, so nothing is measured: look for what writes there in both builds"
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
    version: str  # its vocabulary, or the name as asked where none is known


Source: TypeAlias = Wheel | Installed | Revision | Specified
Pair: TypeAlias = tuple[Source, Source]  # base and head


class UnknownName(InputError):
    """A name that nothing has, with the near names that exist."""

    def __init__(self, what: str, advice: str, near: Iterable[str] = ()) -> None:
        self.near = tuple(near)[:MOST_NEAR]
        super().__init__(
            f"{what}; did you mean {' or '.join(map(repr, self.near))}?" if self.near else f"{what}; {advice}"
        )


class NotFetched(UnknownName):
    """A checkout lacks a revision that perhaps only has to be fetched, as in the clone of a CI job."""


def near(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that are spelt like ``name``, or end like it, the most similar first.

    >>> near("mian", ["main", "docs", "origin/mian"]), near("origin/mian", ["HEAD", "main"])
    (['origin/mian', 'main'], ['main'])
    """
    alike = {one: max(_similarity(name, one), _similarity(_last(name), _last(one))) for one in names}
    return sorted((one for one in alike if alike[one] >= ALIKE), key=lambda one: -alike[one])[:MOST_NEAR]


def _similarity(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio()


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def absent(option: str, given: str, path: Path, advice: str) -> UnknownName:
    """Return the error for a path that does not exist: with near names that exist, or else with ``advice``."""
    folder = next((one for one in path.parents if one.is_dir()), path.parent)
    missing, *rest = path.relative_to(folder).parts or (path.name,)
    stem, suffix = Path(missing).stem, Path(missing).suffix
    stems = {one.stem for one in folder.iterdir() if one.suffix == suffix} if folder.is_dir() else ()
    paths = [folder.joinpath(name + suffix, *rest) for name in near(stem, sorted(stems))]
    above = given.removesuffix(str(Path(missing, *rest)))
    return UnknownName(f"{option}: {given!r} does not exist", advice,
                       (above + str(one.relative_to(folder)) for one in paths if one.exists()))  # fmt: skip


def find(base: str, head: str, folder: Path) -> Pair:
    """Resolve the names of both sides; paths and revisions are relative to ``folder``.

    Raises:
        InputError: a name resolves to no source, or only one side is a tokenizer.
        OutOfTime: git takes too long (``program.until``).
    """
    first, second = (_source(side, asked, folder) for side, asked in zip(SIDES, (base, head), strict=True))
    if isinstance(first, Specified) is not isinstance(second, Specified):
        only = "base" if isinstance(first, Specified) else "head"
        raise InputError(
            f"--base {base!r} and --head {head!r} cannot be compared: only {only} is a tokenizer; give two tokenizers, "
            "or two versions of a library"
        )
    return first, second


def check_different(sources: Pair) -> None:
    """Raise ``InputError`` where two different names are one wheel or revision; one name twice measures the noise."""
    base, head = sources
    if base.asked != head.asked and (version := _content(base)) is not None and version == _content(head):
        raise InputError(
            f"--base {base.asked!r} and --head {head.asked!r} are the same version ({version[0][:12]}): nothing to "
            "compare; --head . takes uncommitted changes, and one name twice measures the noise"
        )


def _content(source: Source) -> tuple[str, str] | None:
    if isinstance(source, Wheel):
        return source.digest, ""
    return (source.version, source.checkout.project) if isinstance(source, Revision) else None


def commits(sources: Pair) -> dict[Side, dict[str, str]]:
    """Return commit and subject of each side that is a revision, for reports."""
    revisions = {side: source for side, source in zip(SIDES, sources, strict=True) if isinstance(source, Revision)}
    return {
        side: {"commit": one.version, "subject": one.checkout.subject(one.commit)} for side, one in revisions.items()
    }


def distribution(source: Source) -> str:
    """Return the name of the distribution, or "" where no wheel or ``pyproject.toml`` has it."""
    if isinstance(source, Wheel):
        return source.distribution
    if not isinstance(source, Revision):
        return ""
    place = Path(source.checkout.project, "pyproject.toml")
    try:
        committed = source.checkout.content(source.commit, place) if source.changes is None else None
        content = (source.checkout.top / place).read_bytes() if committed is None else committed
        name = tomllib.loads(content.decode())["project"]["name"]
    except (GitFailed, OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return name if isinstance(name, str) else ""


def notes(sources: Pair) -> Iterator[str]:
    """Yield notes on parts of the sources that the gate does not measure."""
    revisions = [source for source in sources if isinstance(source, Revision)]
    asked_as_it_is = {source.checkout.top for source in revisions if source.changes is not None}
    for top in dict.fromkeys(source.checkout.top for source in revisions):
        if top not in asked_as_it_is and Checkout(top, ".").is_dirty():
            yield f"uncommitted changes in {top} are not measured; --head . measures them"
    for source in revisions:
        if source.checkout.has(source.commit, Path(".gitmodules")):
            yield f"{source.asked!r} has submodules, which are not in what is built"


def _source(side: Side, asked: str, folder: Path) -> Source:
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
            f"--{side} {asked!r} is a folder, but neither a virtual environment (pyvenv.cfg, bin/python) nor in a git "
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
        raise _no_revision(f"--{side} {asked!r}", checkout, revision)
    return Revision(asked, checkout, commit)


def _no_revision(option: str, checkout: Checkout, revision: str) -> UnknownName:
    """Return an error that suggests near names, or a fetch where the clone may lack commits."""
    what = f"{option}: unknown revision {revision!r}"
    if checkout.is_shallow():
        return NotFetched(what, UNSHALLOW)
    if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", revision):  # a whole id, which nobody misspells
        return NotFetched(what, f"git fetch origin {revision} gets the commit")
    stem = re.split("[~^@:]", revision, maxsplit=1)[0]
    rest = revision[len(stem) :]
    if rest and checkout.commit(stem) is not None:
        return UnknownName(what, f"{stem!r} exists: git log --oneline {stem} lists its commits")
    names = (name + rest for name in near(stem, checkout.names()))
    return UnknownName(what, "git branch --all and git tag list the names, git fetch gets new ones",
                       (name for name in names if checkout.commit(name) is not None))  # fmt: skip


def _here(side: Side, asked: str, folder: Path) -> Source:
    """Resolve a revision of the checkout around ``folder``, else a tokenizer."""
    checkout = Checkout.around(folder)
    if checkout is not None and (commit := checkout.commit(asked)) is not None:
        return Revision(asked, checkout, commit)
    try:
        return Specified(asked, tokenizers.resolve(asked).vocabulary or asked)
    except InputError as error:
        refusal = error
    if asked.startswith((".", "/", "~")):
        file = asked.partition("@")[0]
        raise absent(f"--{side}", file, folder / folders.expanded(file), CHOICES)
    unknown = None if checkout is None else _no_revision(f"--{side}", checkout, asked)
    if unknown is not None and (unknown.near or isinstance(unknown, NotFetched)):
        raise unknown
    if ":" in asked or "did you mean" in str(refusal) or not str(refusal).startswith("unknown tokenizer"):
        raise InputError(f"--{side}: {refusal}") from None
    raise unknown or InputError(f"--{side} {asked!r}: no git checkout here, and no tokenizer of this name; {CHOICES}")
