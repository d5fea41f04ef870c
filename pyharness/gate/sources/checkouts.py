"""Git checkouts: which commit a revision is, and a folder with the files of it."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from pyharness.gate.sources import variables
from pyharness.system import program
from pyharness.types import InputError

PROJECT_FILES = ("pyproject.toml", "setup.py")
QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", "-c", "core.quotePath=false")
UNSHALLOW = (
    "the clone is shallow: git fetch --unshallow, git fetch --depth=N with commits enough, or fetch-depth: 0 of "
    "actions/checkout"
)
FETCH = "git fetch brings what another clone has"


class GitFailed(InputError):
    """What git complains of."""


def git(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    """Run git in a folder, and return what it writes; raises ``GitFailed``."""
    # No GIT_DIR, as hooks have it: it would name another repository. Complaints are looked into: in English.
    environment = {**variables.for_building(os.environ), "LC_ALL": "C.UTF-8"}
    ran = program.run(["git", *QUIET, "-C", str(folder), *arguments], environment, given=given)
    if ran.status != 0:
        lines = [line for line in ran.complaints.splitlines() if line.strip()]
        said = lines[-1] if lines else f"it ended with status {ran.status}"
        raise GitFailed(f"git {arguments[0]} fails in {str(folder)!r}: {said}")
    return ran.output


@dataclass(frozen=True, slots=True)
class Checkout:
    """A repository with files, and the project in it that is built."""

    top: Path
    project: str  # its folder below ``top``; "." for ``top`` itself

    @classmethod
    def around(cls, folder: Path) -> Checkout | None:
        """Find the checkout that a folder is in; None where it is in none.

        The project is the nearest folder, from this one upwards, that can be built.
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
        """Commit that a revision names; None where there is none."""
        if not revision or revision.startswith("-") or "\0" in revision:
            return None
        try:
            name = git(self.top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        except GitFailed:
            return None
        return name.decode("ascii").strip()

    def meant(self, revision: str) -> str:
        """Ask whether a branch or tag was meant by a revision that is not there; empty where none is like it."""
        listed = git(self.top, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
        names = os.fsdecode(listed).split()
        close = [name for name in names if name.endswith(f"/{revision}")]
        close = (close + [name for name in difflib.get_close_matches(revision, names, 3) if name not in close])[:3]
        return f"did you mean {' or '.join(map(repr, close))}?" if close else ""

    def is_shallow(self) -> bool:
        """Whether history is cut off: a revision that is not here may be in the repository it was cloned from."""
        return git(self.top, "rev-parse", "--is-shallow-repository").strip() == b"true"

    def may_lack(self, revision: str) -> bool:
        """Whether a revision that is not here may have to be fetched; else its name is wrong.

        Nobody misspells a full id: it is of a commit that this clone has not got.
        """
        return self.is_shallow() or re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", revision) is not None

    def is_dirty(self) -> bool:
        """Whether files differ from the commit that is checked out, or are not in it."""
        return bool(git(self.top, "status", "--porcelain"))

    def has_submodules(self, commit: str) -> bool:
        """Whether a commit names other repositories, whose files are not in it."""
        return bool(git(self.top, "ls-tree", commit, "--", ".gitmodules"))

    def content(self, commit: str, place: Path) -> bytes:
        """Bytes of a file of a commit, by its path from ``top``; raises ``GitFailed`` where there is none."""
        return git(self.top, "cat-file", "blob", f"{commit}:{place.as_posix()}")

    def export(self, commit: str, target: Path) -> Path:
        """Make a folder with the files of a commit, and return that of the project in it.

        It is a repository of its own that reads objects from this one, since many projects ask git for their version;
        it knows tags, and nothing of remotes.

        Raises:
            GitFailed: git cannot.
        """
        git(self.top, "init", "--quiet", "--template=", str(target))
        (target / ".git" / "objects" / "info").mkdir(parents=True, exist_ok=True)
        objects = git(self.top, "rev-parse", "--path-format=absolute", "--git-path", "objects")
        (target / ".git" / "objects" / "info" / "alternates").write_bytes(objects)
        shallow = Path(os.fsdecode(git(self.top, "rev-parse", "--path-format=absolute", "--git-path", "shallow")[:-1]))
        if shallow.is_file():
            shutil.copyfile(shallow, target / ".git" / "shallow")
        tags = git(self.top, "for-each-ref", "--format=create %(refname) %(objectname)", "refs/tags")
        git(target, "update-ref", "--stdin", given=tags)
        git(target, "checkout", "--quiet", "--detach", commit)
        project = target / self.project
        if not project.is_dir():
            raise GitFailed(f"the commit has no folder {self.project!r}, which the project is in now")
        return project

    def changes(self) -> list[str]:
        """Files that differ from the commit that is checked out, are gone, or are new and not ignored."""
        changed = git(self.top, "diff", "--name-only", "--no-renames", "-z", "HEAD")
        new = git(self.top, "ls-files", "--others", "--exclude-standard", "-z")
        return sorted(os.fsdecode(name) for name in {*changed.split(b"\0"), *new.split(b"\0")} if name)

    def overlay(self, target: Path) -> None:
        """Make an exported folder what the working tree is now."""
        for name in self.changes():
            there, here = target / name, self.top / name
            if there.is_symlink() or there.is_file():
                there.unlink()
            if here.is_symlink() or here.is_file():
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(here, there, follow_symlinks=False)

    def digest(self) -> str:
        """Digest of all that differs from the commit that is checked out; "" where nothing does."""
        names = self.changes()
        total = hashlib.sha256()
        for name in names:
            path = self.top / name
            data = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
            total.update(repr((name, path.is_file(), len(data))).encode(errors="surrogateescape") + data)
        return total.hexdigest() if names else ""
