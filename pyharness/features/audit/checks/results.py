"""What a check gives: faults with witnesses and advice, and a status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from pyharness.report.sheet.strings import shorten, visible

# From the worst: a fault; not decided; what a team should know; nothing found; nothing to check here.
CheckStatus: TypeAlias = Literal["fail", "open", "warn", "pass", "none"]
STATUSES: tuple[CheckStatus, ...] = get_args(CheckStatus)
_MOST_SHOWN = 8  # faults of a kind
_LONGEST = 60  # characters of a text in a witness


@dataclass(frozen=True, slots=True)
class AuditFault:
    """One finding. ``witness`` is what the home library, or the file itself, shows; ``advice`` is what to do."""

    name: str  # of the kind of fault, as docs/audit.md lists it
    text: str
    witness: str
    advice: str
    status: CheckStatus = "fail"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check. ``tried`` says what was looked at, or why nothing was."""

    tried: str
    faults: Sequence[AuditFault] = ()
    absent: bool = False  # there is nothing to check

    @property
    def status(self) -> CheckStatus:
        """The worst status of the faults; without one it is a pass."""
        return min((one.status for one in self.faults), key=STATUSES.index, default="none" if self.absent else "pass")


def few(faults: Iterable[AuditFault]) -> Sequence[AuditFault]:
    """Return the first faults of each kind, and how many more there are: a damaged file may have a million."""
    counts: Counter[tuple[str, CheckStatus]] = Counter()
    shown = []
    for fault in faults:
        counts[fault.name, fault.status] += 1
        if counts[fault.name, fault.status] <= _MOST_SHOWN:
            shown.append(fault)
    more = [(*kind, number - _MOST_SHOWN) for kind, number in counts.items() if number > _MOST_SHOWN]
    return (*shown, *(AuditFault(name, f"{rest:,} more like these", "", "as above", status)
                      for name, status, rest in more))  # fmt: skip


def quoted(text: str | bytes) -> str:
    r"""Return a text for a witness: visible, short and in quotes.

    >>> quoted("a\x00"), quoted(b"\xff")
    ("'a\\x00'", "'\\xff'")
    """
    string = text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else text
    return f"'{shorten(visible(string), _LONGEST)}'"


def id_list(ids: Sequence[int]) -> str:
    """Return ids for a witness; of many, the first ones.

    >>> id_list([1, 2])
    '[1, 2]'
    """
    shown = ", ".join(map(str, ids[:8]))
    return f"[{shown}{', ...' if len(ids) > 8 else ''}]"
