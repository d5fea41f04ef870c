"""What an adaptation leaves: the edited file, checked, what goes with it, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyharness.bpe.analysis.self_tokenization import NEVER, SelfTokenization, Verdict, self_tokenization
from pyharness.bpe.model.model import BpeModel
from pyharness.trainers import Array, TrainedTokenizer, TrainingRequest
from pyharness.trainers.adapting.base_file import BaseFile
from pyharness.trainers.adapting.settings_files import settings_files
from pyharness.trainers.feeding import Feed
from pyharness.types import IdMap, Ids, InputError, TokenKind

RECORD = "adaptation.json"
ID_MAP = "id_map.json"
_TEXT = frozenset({"documents", "bytes", "distinct_pieces"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """An edited file, and how its ids are related to those of the base."""

    base: BaseFile
    file: BaseFile
    ids: IdMap  # from the base
    added: Ids  # ids of new tokens, in the order in which they were learnt
    strings: tuple[bytes, ...]  # of these
    complete: bool = True
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any]  # JSON values

    def check(self) -> None:
        """Read the edited file and compare it with the base.

        Raises:
            InputError: it does not say what it should.
        """
        old, new = self.base.model, self.file.model
        merges = new.merges
        data, ends = merges.data.tobytes(), merges.offsets.tolist()
        for token, string in zip(self.added.tolist(), self.strings, strict=True):
            if data[ends[token] : ends[token + 1]] != string:
                raise self._fault(f"id {token} is not {string!r}")
        reused = set(self.added.tolist())
        for token, moved in enumerate(self.ids.new.tolist()):
            gap = old.vocabulary.kinds[token] == TokenKind.ABSENT
            if moved < 0 or gap or moved in reused:
                continue
            if old.vocabulary[token] != new.vocabulary[moved] or old.kind(token) != new.kind(moved):
                raise self._fault(f"id {token} has become {moved}, which is {new.vocabulary[moved]!r}")

    def _fault(self, what: str) -> InputError:
        return InputError(f"the edited {self.base.path.name} does not read as it should: {what}; this is a defect here")


def trained(trainer: str, feed: Feed, adapted: Adapted, learnt: Mapping[str, Any] | None) -> TrainedTokenizer:
    """Check an adaptation and describe it."""
    with feed.phases.timed("checking"):
        adapted.check()
        record = _record(trainer, feed.request, adapted)
    model = adapted.file.model
    settings, left = settings_files(adapted.base, adapted.ids, adapted.added)
    files = {adapted.file.name: adapted.file.data, RECORD: _json(record), **settings}
    if not np.array_equal(adapted.ids.new, np.arange(len(adapted.ids))):
        files[ID_MAP] = _json(adapted.ids.new.tolist())
    return TrainedTokenizer(
        files=files,
        vocab_size=present(model),
        merges=_merges(model),
        complete=adapted.complete,
        seconds=feed.phases.seconds,
        notes=(*adapted.notes, *left),
        model=model,
        details={name: record[name] for name in ("added", "removed", "unreachable")} | _said(adapted),
        loading=adapted.file.options,
        learnt=learnt,
    )


def present(model: BpeModel) -> int:
    """Ids that have a token."""
    return int(np.count_nonzero(model.vocabulary.kinds != TokenKind.ABSENT))


def _merges(model: BpeModel) -> int:
    merges = model.merges
    return len(merges.rules) if merges.rules is not None else int(np.count_nonzero(merges.ranks != NEVER))


def _said(adapted: Adapted) -> dict[str, Any]:
    return {name: value for name, value in adapted.details.items() if name in _TEXT}


def _record(trainer: str, request: TrainingRequest, adapted: Adapted) -> dict[str, Any]:
    base, file = adapted.base, adapted.file
    before, after = (self_tokenization(one.model.merges, request.threads) for one in (base, file))
    gone = (adapted.ids.new < 0) & (base.model.vocabulary.kinds != TokenKind.ABSENT)
    return {
        "trainer": trainer,
        "base": {"file": base.path.name, "sha256": base.digest, "ids": base.model.id_limit},
        "file": {"name": file.name, "sha256": file.digest, "ids": file.model.id_limit, "options": file.options},
        "trained_on": dict(request.source()),
        "added": len(adapted.added),
        "added_ids": _ranges(adapted.added),
        "removed": int(np.count_nonzero(gone)),
        "complete": adapted.complete,
        "unreachable": {
            "base": _unreachable(before),
            "adapted": _unreachable(after),
            "added": _unreachable(after, adapted.added),
        },
        **adapted.details,
        "notes": list(adapted.notes),
    }


def _unreachable(tested: SelfTokenization, of: Ids | None = None) -> dict[str, int]:
    """Tokens that fail the self-tokenization test, by layer."""
    verdicts: Array = tested.verdict if of is None else tested.verdict[of]
    return {
        "layer_1": int(np.count_nonzero(verdicts == Verdict.UNDERIVABLE)),
        "layer_2": int(np.count_nonzero(verdicts == Verdict.MODEL)),
    }


def _ranges(ids: Ids) -> list[list[int]]:
    """Ids as runs: first and last of each."""
    if not len(ids):
        return []
    cuts = np.flatnonzero(np.diff(ids.astype(np.int64)) != 1)
    firsts, lasts = ids[np.r_[0, cuts + 1]].tolist(), ids[np.r_[cuts, len(ids) - 1]].tolist()
    return [list(pair) for pair in zip(firsts, lasts, strict=True)]


def _json(content: object) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=None if isinstance(content, list) else 1) + "\n").encode()
