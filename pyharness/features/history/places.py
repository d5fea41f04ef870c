"""The order of revisions: the first-parent line of a branch, as far as a clone knows it. No clock has a say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyharness.features.gate.builds.checkouts import Checkout, git
from pyharness.types import InputError

_FIELDS = "%H%x1f%P%x1f%cI%x1f%s"


@dataclass(frozen=True, slots=True)
class LineRevision:
    """A commit, and the one that it follows on the line of its branch."""

    id: str
    parent: str | None  # None: it has none
    committed: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class BranchLine:
    """The first-parent line of a branch, newest first."""

    tip: str
    revisions: tuple[LineRevision, ...]


def branch_line(folder: Path, branch: str = "HEAD") -> BranchLine | None:
    """Return the line of a branch; None outside of a checkout, or without a commit.

    Raises:
        InputError: there is no such branch, or git fails.
    """
    checkout = Checkout.around(folder)
    if checkout is None:
        if branch != "HEAD":
            raise InputError(f"--branch {branch!r}: {str(folder)!r} is in no git checkout; run it in one")
        return None
    tip = checkout.commit(branch)
    if tip is None:
        if branch == "HEAD":
            return None
        raise InputError(f"--branch: unknown branch {branch!r}; git branch --all lists them")
    listed = git(checkout.top, "log", "--first-parent", "-z", f"--format={_FIELDS}", tip, "--")
    revisions = [_revision(entry) for entry in listed.decode("utf-8", "replace").split("\0") if entry]
    if revisions and revisions[-1].parent is None:
        revisions[-1] = _with_parent(checkout, revisions[-1])
    return BranchLine(tip, tuple(revisions))


def _revision(entry: str) -> LineRevision:
    commit, parents, committed, subject = entry.split("\x1f", 3)
    return LineRevision(commit, parents.split(" ")[0] or None, committed, subject)


def _with_parent(checkout: Checkout, oldest: LineRevision) -> LineRevision:
    """Return the parent of a shallow clone's oldest commit, too: the commit names it, and ``git log`` hides it."""
    for line in git(checkout.top, "cat-file", "commit", oldest.id).decode("utf-8", "replace").splitlines():
        if line.startswith("parent "):
            return LineRevision(oldest.id, line.removeprefix("parent "), oldest.committed, oldest.subject)
        if not line:
            break
    return oldest


def ancestors(tip: str, parents: Mapping[str, str | None]) -> list[str]:
    """Return the known line that ends in ``tip``, oldest first.

    >>> ancestors("c", {"c": "b", "b": "a", "x": "a"})
    ['b', 'c']
    """
    line, seen = [], set[str]()
    here: str | None = tip
    while here is not None and here in parents and here not in seen:  # a stranger's database may have a circle
        seen.add(here)
        line.append(here)
        here = parents[here]
    return line[::-1]


def newer_tip(known: str | None, other: str | None, parents: Mapping[str, str | None]) -> str | None:
    """Return the tip of two that the other leads to; of lines that parted, as by a force push, that of ``other``."""
    if known is None or other is None:
        return known if other is None else other
    return known if other in ancestors(known, parents) else other


def rewritten(measured: Iterable[str], line: Iterable[str], before: Iterable[str]) -> list[str]:
    """Return measured revisions that were on the line before and are not on it now."""
    return sorted(set(measured) & set(before) - set(line))
