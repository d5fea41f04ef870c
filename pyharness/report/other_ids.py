"""Ids of two cases: whether they are equal, by digests in the records, and where not, by the states beside these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pyharness.metrics.counting.id_digests import first_difference, kept_of
from pyharness.report.comparison import Pair, States
from pyharness.store import Record
from pyharness.types import CaseResult, InputError, counted


def comparable(pair: Pair) -> bool:
    """Whether both sides keep a digest of all their ids."""
    return pair.measured and pair.one.ids is not None and pair.other is not None and pair.other.ids is not None


def differing(pairs: Iterable[Pair]) -> Iterator[tuple[Pair, str]]:
    """Pairs whose ids differ, with where they do, in words.

    A record without digests of ids shows a difference only where it changes how many tokens some group of documents
    has, and never where it is.
    """
    with States() as states:
        for pair in pairs:
            if comparable(pair) and pair.other is not None and pair.one.ids != pair.other.ids:
                yield pair, _where(pair, pair.other, states)
            elif _other_counts(pair):
                yield pair, "by their number in groups of documents; a record is too old to say where"


def share_a_vocabulary(pair: Pair) -> bool:
    """Whether both sides are one row and claim one vocabulary, which must give the same ids."""
    claims = [_vocabulary(record, pair.one) for record in (pair.a, pair.b)]
    same_row = pair.other is not None and pair.other.case.tokenizer == pair.one.case.tokenizer
    return same_row and claims[0] is not None and claims[0] == claims[1]


def _vocabulary(record: Record, result: CaseResult) -> object:
    about = record.data["tokenizers"].get(result.case.tokenizer)
    return about.get("vocabulary") if isinstance(about, Mapping) else None


def _other_counts(pair: Pair) -> bool:
    if not pair.measured or pair.other is None or comparable(pair):
        return False
    return pair.one.groups.get("tokens") != pair.other.groups.get("tokens")


def _where(pair: Pair, other: CaseResult, states: States) -> str:
    try:
        mine, theirs = (kept_of(states.of(*side)) for side in ((pair.a, pair.one), (pair.b, other)))
    except InputError as error:
        return f"where is not known: {error}"
    found = first_difference(mine, theirs)
    if found is None:
        return f"behind the {min(len(mine.keys), len(theirs.keys)):,} documents whose digests are kept"
    read = pair.one.tally.documents if pair.one.tally is not None else found.document + 1
    behind = "" if found.document < read else f", behind the {read:,} of the corpus"
    return (
        f"in {found.documents:,} of {counted(found.compared, 'document')}, first in document {found.document} "
        f"(from 0{behind}), at ids {found.token} to {found.last_token}{_of_text(pair, found.text)}"
    )


def _of_text(pair: Pair, text: range | None) -> str:
    """Where ids stand in the text: in the document's own bytes, or in those that decoding gives where they differ."""
    if text is None:
        return ""
    about = pair.a.data["tokenizers"].get(pair.one.case.tokenizer)
    exact = isinstance(about, Mapping) and about.get("round_trip") == "exact"
    return f", in {counted(len(text), 'byte')} from byte {text.start:,}{'' if exact else ' of what they decode to'}"
