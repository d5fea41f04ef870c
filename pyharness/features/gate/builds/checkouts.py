"""Git checkouts: the commit of a revision, and a folder with its files.

Only this module runs git. It runs no program that a checkout's own configuration names, since a stranger may have
written that. Filters of the user's configuration (``~/.gitconfig``: that of LFS, say) do run; hooks do not.

Files of a working tree are copied unchanged into an exported commit, and never through a link. Names are relative to
the top of the tree, with ``/``. A link is copied as a link, whatever its target. Anything but a file or a link (a
folder, a FIFO, another repository) counts as absent.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pyharness.features.gate.builds import variables
from pyharness.system import bounded_file, program
from pyharness.types import InputError


def copy_files(names: Sequence[str], top: Path, target: Path) -> None:
    """Make these files of ``target`` equal to those below ``top``: removals first, then copies."""
    for name in names:
        _remove(name, top, target)
    for name in names:
        if _mode(name, top) is not None:
            for above in reversed(PurePosixPath(name).parents[:-1]):
                folder = target / above
                if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                    folder.unlink()
                folder.mkdir(exist_ok=True)
            shutil.copy2(top / name, target / name, follow_symlinks=False)


def _remove(name: str, top: Path, target: Path) -> None:
    """Remove a name from ``target`` (a folder only where ``top`` has a file), and empty parents that it lacks."""
    if not _is_reached(name, target):
        return
    there = target / name
    if there.is_symlink() or there.is_file():
        there.unlink()
    elif there.is_dir() and _mode(name, top) is not None:
        shutil.rmtree(there)
    for above in PurePosixPath(name).parents[:-1]:
        if (top / above).is_dir() and not (top / above).is_symlink():
            return
        try:
            (target / above).rmdir()
        except OSError:  # the folder has other files
            return


def _is_reached(name: str, top: Path) -> bool:
    """Whether all parents of a name are folders, not links."""
    above = [top / one for one in PurePosixPath(name).parents[:-1]]
    return all(one.is_dir() and not one.is_symlink() for one in above)


def _mode(name: str, top: Path) -> int | None:
    """Return the kind and permissions of a file or link; None where it is absent."""
    if not _is_reached(name, top):
        return None
    try:
        mode = (top / name).lstat().st_mode
    except OSError:
        return None
    return mode if stat.S_ISREG(mode) or stat.S_ISLNK(mode) else None


def digest_of(names: Sequence[str], top: Path) -> str:
    """Return the digest of these files: names, kinds, executable bits and content."""
    total = hashlib.sha256()
    for name in names:
        mode = _mode(name, top)
        if mode is None:
            content, kind = "", "gone"
        elif stat.S_ISLNK(mode):
            content, kind = repr((top / name).readlink()), "link"
        else:
            content, kind = bounded_file.digest(top / name), f"file {mode & stat.S_IXUSR}"
        total.update(repr((name, kind, content)).encode(errors="surrogateescape"))
    return total.hexdigest()


QUIET = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=", "-c", "core.alternateRefsCommand=false"),
    *("-c", "advice.detachedHead=false", "-c", "core.quotePath=false", "--no-pager"),
)
# A partial clone fetches missing objects with programs that it names: allow no protocol. Do not write the index.
ALONE = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}
ANSWER_SECONDS = 30.0  # for local data: git waits for ever for the other end of a FIFO in its folder
# Commands that read all files may take longer; for those that write them, the default limit of a program holds.
LONGER: Mapping[str, float] = {
    **dict.fromkeys(("status", "diff", "ls-files"), 300.0),
    **dict.fromkeys(("checkout", "update-ref"), program.LONGEST_SECONDS),
}
_FILTER = re.compile(rb"filter\..*\.(clean|smudge|process|required)", re.DOTALL)


class GitFailed(InputError):
    """An error that git reports, or a checkout that cannot be exported."""


def git(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    """Run git in a folder, and return its output.

    Raises:
        GitFailed: git reports an error.
        InputError: git cannot be started, or does not answer within its limit (``ANSWER_SECONDS``, ``LONGER``).
        OutOfTime: the time of ``program.until`` ends first.
    """
    return _ran(folder, arguments, given, {})


def git_of_files(folder: Path, *arguments: str) -> bytes:
    """Run a git command that compares files with a commit, without filters of the checkout's own configuration.

    git-config(1) has the variables: GIT_CONFIG_COUNT.
    """
    listed = git(folder, "config", "--list", "--name-only", "--show-scope", "-z").split(b"\0")
    own = {key for scope, key in zip(listed[::2], listed[1::2], strict=False) if scope in (b"local", b"worktree")}
    settings = {"GIT_CONFIG_COUNT": "0"}
    for number, key in enumerate(sorted(filter(_FILTER.fullmatch, own))):
        value = "false" if key.endswith(b".required") else ""
        settings |= {f"GIT_CONFIG_KEY_{number}": os.fsdecode(key), f"GIT_CONFIG_VALUE_{number}": value}
        settings["GIT_CONFIG_COUNT"] = str(number + 1)
    return _ran(folder, arguments, b"", settings)


def _ran(folder: Path, arguments: tuple[str, ...], given: bytes, further: Mapping[str, str]) -> bytes:
    # No GIT_DIR as in hooks, which would name another repository. In English, because messages are parsed.
    environment = {**variables.for_building(os.environ), "LC_ALL": "C.UTF-8", **ALONE, **further}
    command, longest, begun = arguments[0], LONGER.get(arguments[0], ANSWER_SECONDS), time.monotonic()
    try:
        ran = program.run(["git", *QUIET, "-C", str(folder), *arguments], environment, given=given, seconds=longest)
    except program.OutOfTime:
        if time.monotonic() - begun < longest:  # another limit than this one
            raise
        raise InputError(
            f"git {command} does not answer in {str(folder)!r} within {longest:.0f} s; look for what is neither file "
            "nor folder: find .git -type p"
        ) from None
    if ran.status != 0:
        lines = [line for line in ran.complaints.splitlines() if line.strip()]
        complaint = lines[-1] if lines else f"it ended with status {ran.status}"
        raise GitFailed(f"git {command} fails in {str(folder)!r}: {complaint}")
    return ran.output


PROJECT_FILES = ("pyproject.toml", "setup.py")
UNSHALLOW = "the clone is shallow: git fetch --unshallow, or fetch-depth: 0 of actions/checkout, gets all commits"


@dataclass(frozen=True, slots=True)
class Checkout:
    """A repository with files, and the project in it that is built."""

    top: Path
    project: str  # folder below ``top``; "." for ``top`` itself

    @classmethod
    def around(cls, folder: Path) -> Checkout | None:
        """Find the checkout that contains a folder; None outside of any.

        The project is the nearest folder, from this one upwards, that has one of ``PROJECT_FILES``; else the top.

        Raises:
            InputError: git refuses to read the checkout, or does not answer.
        """
        try:
            top = Path(os.fsdecode(git(folder, "rev-parse", "--show-toplevel").removesuffix(b"\n")))
        except GitFailed as failure:
            if "dubious ownership" in str(failure) or "safe.directory" in str(failure):
                raise InputError(f"git refuses to read {str(folder)!r}: {failure}") from None
            return None
        inside = [one for one in (folder.resolve(), *folder.resolve().parents) if one.is_relative_to(top.resolve())]
        project = next((one for one in inside if any((one / name).is_file() for name in PROJECT_FILES)), top.resolve())
        return cls(top, str(project.relative_to(top.resolve())))

    def commit(self, revision: str) -> str | None:
        """Return the commit that a revision names; None where it names no commit."""
        if not revision or revision.startswith("-") or "\0" in revision:
            return None
        try:
            name = git(self.top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        except GitFailed:
            return None
        return name.decode("ascii").strip()

    def names(self) -> list[str]:
        """Return the names of HEAD, local branches, remote branches and tags."""
        listed = git(self.top, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
        return ["HEAD", *os.fsdecode(listed).split()]

    def subject(self, commit: str) -> str:
        """Return the first line of a commit's message."""
        return git(self.top, "log", "-1", "--format=%s", commit).decode("utf-8", "replace").strip()

    def has(self, commit: str, place: Path) -> bool:
        """Whether a commit has a file or folder, by its path from ``top``."""
        return bool(git(self.top, "ls-tree", commit, "--", place.as_posix())) or place == Path()

    def is_shallow(self) -> bool:
        """Whether history is cut off: an unknown revision may be in the repository of origin."""
        return git(self.top, "rev-parse", "--is-shallow-repository").strip() == b"true"

    def is_dirty(self) -> bool:
        """Whether the working tree has changed or new files, relative to the commit that is checked out."""
        changed = ("status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all")
        return bool(git_of_files(self.top, *changed))

    def content(self, commit: str, place: Path) -> bytes:
        """Return the bytes of a commit's file, by its path from ``top``; raise ``GitFailed`` where it is absent."""
        return git(self.top, "cat-file", "blob", f"{commit}:{place.as_posix()}")

    def export(self, commit: str, target: Path, *, changed: bool = False) -> Path:
        """Make a folder with the files of a commit, and return the project's folder in it.

        The folder is a repository that reads objects from this one, since many projects ask git for their version. It
        has tags, but no remotes.

        Args:
            commit: the commit to export.
            target: the new folder.
            changed: take files as they are in the working tree now; ``commit`` is checked out there.

        Raises:
            GitFailed: git cannot export it, or it lacks files or the project's folder.
        """
        git(self.top, "init", "--quiet", "--template=", str(target))
        (target / ".git" / "objects" / "info").mkdir(parents=True, exist_ok=True)
        objects = git(self.top, "rev-parse", "--path-format=absolute", "--git-path", "objects")
        (target / ".git" / "objects" / "info" / "alternates").write_bytes(objects)
        cut = git(self.top, "rev-parse", "--path-format=absolute", "--git-path", "shallow")
        shallow = Path(os.fsdecode(cut[:-1]))
        if shallow.is_file():
            shutil.copyfile(shallow, target / ".git" / "shallow")
        tags = git(self.top, "for-each-ref", "--format=create %(refname) %(objectname)", "refs/tags")
        git(target, "update-ref", "--stdin", given=tags)
        git(target, "checkout", "--quiet", "--detach", commit)
        lacking = git(target, "ls-files", "--deleted", "-z").split(b"\0")[:-1]  # checkout complains only of these
        if lacking:
            raise GitFailed(
                f"the clone lacks {len(lacking)} files of the commit, such as {os.fsdecode(lacking[0])!r}: clone "
                "without --filter"
            )
        if changed:
            copy_files(self.changes(), self.top, target)
        return self._project_in(target)

    def _project_in(self, target: Path) -> Path:
        project = target / self.project
        if not project.is_dir():
            raise GitFailed(f"the commit has no folder {self.project!r}, which the project is in now")
        if project.resolve() != target.resolve() / self.project:
            raise GitFailed(f"in the commit, {self.project!r} is a link to another folder")
        return project

    def changes(self) -> list[str]:
        """Return files that differ from the commit that is checked out, are deleted, or are new and not ignored.

        Files that git skips (git-update-index(1): assume-unchanged) are included.
        """
        changed = ("diff", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
        listed = git_of_files(self.top, *changed, "-z", "HEAD").split(b"\0")
        new = git(self.top, "ls-files", "--others", "--exclude-standard", "-z").split(b"\0")
        marked = git(self.top, "ls-files", "-v", "-z").split(b"\0")
        hidden = [name[2:] for name in marked if name[:1].islower()]
        return sorted(os.fsdecode(name) for name in {*listed, *new, *hidden} if name)

    def digest(self) -> str:
        """Return the digest of all changes to the commit that is checked out; "" without changes."""
        names = self.changes()
        return digest_of(names, self.top) if names else ""
