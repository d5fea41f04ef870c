"""Git checkouts: which commit a revision is, and a folder with the files of it."""

from __future__ import annotations

import difflib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from pyharness.features.gate.sources import git, working_tree
from pyharness.features.gate.sources.git import GitFailed as GitFailed
from pyharness.types import InputError

PROJECT_FILES = ("pyproject.toml", "setup.py")
UNSHALLOW = (
    "the clone is shallow: git fetch --unshallow, git fetch --depth=N with commits enough, or fetch-depth: 0 of "
    "actions/checkout"
)
FETCH = "git fetch brings what another clone has"


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
            top = Path(os.fsdecode(git.ask(folder, "rev-parse", "--show-toplevel").removesuffix(b"\n")))
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
            name = git.ask(self.top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        except GitFailed:
            return None
        return name.decode("ascii").strip()

    def meant(self, revision: str) -> str:
        """Ask whether a branch or tag was meant by a revision that is not there; empty where none is like it."""
        listed = git.ask(
            self.top, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags"
        )
        names = os.fsdecode(listed).split()
        close = [name for name in names if name.endswith(f"/{revision}")]
        close = (close + [name for name in difflib.get_close_matches(revision, names, 3) if name not in close])[:3]
        return f"did you mean {' or '.join(map(repr, close))}?" if close else ""

    def is_shallow(self) -> bool:
        """Whether history is cut off: a revision that is not here may be in the repository it was cloned from."""
        return git.ask(self.top, "rev-parse", "--is-shallow-repository").strip() == b"true"

    def may_lack(self, revision: str) -> bool:
        """Whether a revision that is not here may have to be fetched; else its name is wrong.

        Nobody misspells a full id: it is of a commit that this clone has not got.
        """
        return self.is_shallow() or re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", revision) is not None

    def is_dirty(self) -> bool:
        """Whether files differ from the commit that is checked out, or are not in it."""
        changed = ("status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all")
        return bool(git.ask_of_files(self.top, *changed))

    def has_submodules(self, commit: str) -> bool:
        """Whether a commit names other repositories, whose files are not in it."""
        return bool(git.ask(self.top, "ls-tree", commit, "--", ".gitmodules"))

    def content(self, commit: str, place: Path) -> bytes:
        """Bytes of a file of a commit, by its path from ``top``; raises ``GitFailed`` where there is none."""
        return git.ask(self.top, "cat-file", "blob", f"{commit}:{place.as_posix()}")

    def export(self, commit: str, target: Path, *, changed: bool = False) -> Path:
        """Make a folder with the files of a commit, and return that of the project in it.

        It is a repository of its own that reads objects from this one, since many projects ask git for their version;
        it knows tags, and nothing of remotes.

        Args:
            commit: whose files.
            target: the folder that is made.
            changed: whether files are as in the working tree now, whose commit it is.

        Raises:
            GitFailed: git cannot.
        """
        git.ask(self.top, "init", "--quiet", "--template=", str(target))
        (target / ".git" / "objects" / "info").mkdir(parents=True, exist_ok=True)
        objects = git.ask(self.top, "rev-parse", "--path-format=absolute", "--git-path", "objects")
        (target / ".git" / "objects" / "info" / "alternates").write_bytes(objects)
        cut = git.ask(self.top, "rev-parse", "--path-format=absolute", "--git-path", "shallow")
        shallow = Path(os.fsdecode(cut[:-1]))
        if shallow.is_file():
            shutil.copyfile(shallow, target / ".git" / "shallow")
        tags = git.ask(self.top, "for-each-ref", "--format=create %(refname) %(objectname)", "refs/tags")
        git.ask(target, "update-ref", "--stdin", given=tags)
        git.ask(target, "checkout", "--quiet", "--detach", commit)
        lacking = git.ask(target, "ls-files", "--deleted", "-z").split(b"\0")[:-1]  # of which checkout complains alone
        if lacking:
            raise GitFailed(
                f"the clone has not got {len(lacking)} files of the commit, such as {os.fsdecode(lacking[0])!r}: clone "
                "without --filter"
            )
        if changed:
            working_tree.copy(self.changes(), self.top, target)
        return self._project_in(target)

    def _project_in(self, target: Path) -> Path:
        project = target / self.project
        if not project.is_dir():
            raise GitFailed(f"the commit has no folder {self.project!r}, which the project is in now")
        if project.resolve() != target.resolve() / self.project:
            raise GitFailed(f"in the commit, {self.project!r} is a link to another folder")
        return project

    def changes(self) -> list[str]:
        """Files that differ from the commit that is checked out, are gone, or are new and not ignored.

        And those that git was told not to look at (git-update-index(1): assume-unchanged).
        """
        changed = ("diff", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
        listed = git.ask_of_files(self.top, *changed, "-z", "HEAD").split(b"\0")
        new = git.ask(self.top, "ls-files", "--others", "--exclude-standard", "-z").split(b"\0")
        marked = git.ask(self.top, "ls-files", "-v", "-z").split(b"\0")
        hidden = [name[2:] for name in marked if name[:1].islower()]
        return sorted(os.fsdecode(name) for name in {*listed, *new, *hidden} if name)

    def digest(self) -> str:
        """Digest of all that differs from the commit that is checked out; "" where nothing does."""
        names = self.changes()
        return working_tree.digest(names, self.top) if names else ""
