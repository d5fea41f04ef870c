"""The base of an adaptation, and its output: the edited file, its settings, and its description."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.reachability import NEVER, ModelVerdict, SelfTokenization, remembered_self_tokenization
from pyharness.corpora.streaming import batches
from pyharness.features.adaptation.editing.files import extend_file
from pyharness.features.adaptation.editing.settings import SETTINGS, known_by_digest, read_settings
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.features.training.trainers import Array, TrainedTokenizer, TrainingRequest
from pyharness.features.training.trainers.feeding import Feed
from pyharness.features.training.trainers.options import located
from pyharness.plugins.specification import check_options
from pyharness.types import Ids, TokenKind
from pyharness.vocabularies import encodings
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.json_file import parse_json
from pyharness.vocabularies.files.vocabulary_file import Kind

_NAMES: Mapping[Kind, str] = {
    "huggingface": "tokenizer.json",
    "tekken": "tekken.json",
    "sentencepiece": "tokenizer.model",
}
_ADAPTED = "-adapted"  # suffix for a rank file: under its own name it would pass for the published one
RECORD = "adaptation.json"
ID_MAP = "id_map.json"
_TEXT = ("documents", "bytes", "distinct_pieces")
_TOGETHER = 64  # strings in one text


@dataclass(frozen=True)
class BaseFile:
    """A tokenizer file as read, and the settings that a rank file lacks."""

    path: Path
    data: bytes
    kind: Kind
    pattern: str | None = None  # of a rank file: split pattern
    special: Mapping[str, int] | None = None  # of a rank file: special tokens and their ids

    @classmethod
    def read(cls, base: str) -> BaseFile:
        """Read the file of a request: a path, or ``file:PATH?pattern=...&special=...``.

        Raises:
            InputError: the file is absent, cut off, no tokenizer, or of a kind without an editor; an option is wrong.
        """
        path, options = located(base)
        data = vocabulary_file.read(path)
        kind = vocabulary_file.detect(data, str(path))
        if kind != "rank_file" and kind not in _NAMES:
            extend_file(data, [], [], str(path))  # raises with the reason
        check_options(base, options, ("pattern", "special") if kind == "rank_file" else ())
        if kind != "rank_file":
            return cls(path, data, kind)
        digest = hashlib.sha256(data).hexdigest()
        if "pattern" not in options:
            encodings.check_whole(data, digest, path.stem, str(path))
        published = encodings.recognise(digest, path.stem)
        pattern = options.get("pattern") or (published.pattern if published else None)
        special = dict(published.special) if published else {}
        if "special" in options:
            special = encodings.read_special(options["special"], str(path))
        return cls(path, data, kind, pattern, special)

    def edited(self, data: bytes, model: BpeModel) -> BaseFile:
        """Return the file with other content, whose model is known."""
        file = replace(self, data=data, special=None if self.special is None else model.special)
        vars(file)["model"] = model  # the place of the cached_property
        return file

    @property
    def label(self) -> str:
        """Name of the file in messages."""
        return str(self.path)

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def model(self) -> BpeModel:
        """Model of the file.

        Raises:
            InputError: the file is damaged, or no tokenizer with merges.
        """
        if self.kind == "rank_file":
            return _model(self.data, self.label, self.pattern, tuple((self.special or {}).items()))
        return _model(self.data, self.label)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Return facts about the file that a reader of the result needs."""
        dropout = parse_json(self.data, self.label)["model"].get("dropout") if self.kind == "huggingface" else None
        if not dropout:
            return ()
        kept = "the result does so, too; counting, learning and checking ignored it"
        return (f"{self.path.name} discards merges at random (dropout {dropout}); {kept}",)

    @property
    def name(self) -> str:
        """Name of the edited file."""
        return _NAMES.get(self.kind) or f"{self.path.stem.removesuffix(_ADAPTED)}{_ADAPTED}.tiktoken"

    def options_of(self, model: BpeModel) -> dict[str, str]:
        """Return the options of ``file:`` that load the edited file."""
        if self.kind != "rank_file" or self.pattern is None:
            return {}
        name, expression = encodings.pattern(self.pattern)
        split = {"pattern": name if name in encodings.PATTERNS else expression}
        return {**split, "special": encodings.written_special(model.special)} if model.special else split


@lru_cache(maxsize=1)  # consecutive trainings share a base, and reading it may take longer than they do
def _model(
    data: bytes, label: str, pattern: str | None = None, special: tuple[tuple[str, int], ...] | None = None
) -> BpeModel:
    return import_model(data, label=label, pattern=pattern, special=None if special is None else dict(special))


def digest_of(base: str) -> str:
    """Return the SHA-256 of everything that an adaptation reads of its base: the file, and any settings next to it.

    Raises:
        InputError: the file is absent.
    """
    path, _ = located(base)
    file = vocabulary_file.digest(path)
    beside = [path.parent / name for name in SETTINGS if (path.parent / name).is_file()]
    if not beside:
        return file
    lines = [file, *(f"{settings.name} {vocabulary_file.digest(settings)}" for settings in beside)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def settings_files(base: BaseFile, ids: IdMap, added: Ids) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return settings files by name, with the new ids, and notes.

    The notes tell programs that may not know the edited file, and files that were not copied.

    Args:
        base: the original.
        ids: its new ids.
        added: ids of new tokens, taken from any tokens that had them.

    Raises:
        InputError: as :func:`pyharness.features.adaptation.editing.settings.read_settings`.
    """
    where = np.where(np.isin(ids.new, added), -1, ids.new)
    gone = {token.content for token in base.model.added if token.id < len(where) and where[token.id] < 0}
    settings = read_settings(base.path, IdMap(where, ids.size), added.tolist(), gone)
    notes = [known_by_digest(base.kind, base.digest)]
    if settings.left_out:
        files = ", ".join(settings.left_out)
        notes.append(f"not copied, as nothing in it was adapted with {base.path.name}: {files}")
    return dict(settings.files), tuple(note for note in notes if note is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """An edited file, and how its ids are related to those of the base."""

    base: BaseFile
    data: bytes
    model: BpeModel  # model of the edited file, checked
    ids: IdMap  # from the base
    added: Ids  # ids of new tokens, in the order in which they were learnt
    complete: bool = True
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any]  # JSON values


def trained(trainer: str, feed: Feed, adapted: Adapted, learnt: Mapping[str, Array]) -> TrainedTokenizer:
    """Return the files and facts of an adaptation.

    Raises:
        InputError: as :func:`settings_files`.
    """
    model, base = adapted.model, adapted.base
    with feed.phases.timed("testing"):
        record = _record(trainer, feed.request, adapted)
    settings, left = settings_files(base, adapted.ids, adapted.added)
    files = {base.name: adapted.data, RECORD: _json(record), **settings}
    if not np.array_equal(adapted.ids.new, np.arange(len(adapted.ids))):
        files[ID_MAP] = _json(adapted.ids.new.tolist())
    counts = {
        name: record[name]
        for name in ("added", "added_ids", "removed", "unreachable", "learnt", "missing_characters", "reused", *_TEXT)
        if name in record
    }
    return TrainedTokenizer(
        files=files,
        vocab_size=present(model),
        merges=_merges(model),
        complete=adapted.complete,
        seconds=feed.phases.seconds,
        notes=(*base.notes, *adapted.notes, *left),
        model=model,
        details={**counts, "ids": model.id_limit, "rows": adapted.ids.size},
        loading=base.options_of(model),
        learnt=learnt,
    )


def present(model: BpeModel) -> int:
    """Count the ids with a token."""
    return int(np.count_nonzero(model.vocabulary.kinds != TokenKind.ABSENT))


def texts_of(strings: Iterable[bytes]) -> list[str]:
    """Return texts with these strings of a model, to compare libraries."""
    texts = (string.decode(errors="ignore").replace("▁", " ") for string in strings)
    return ["".join(some) + "\n" + " ".join(some) for some in batches(texts, count=_TOGETHER)]


def _merges(model: BpeModel) -> int:
    merges = model.merges
    return len(merges.rules) if merges.rules is not None else int(np.count_nonzero(merges.ranks != NEVER))


def _record(trainer: str, request: TrainingRequest[Any], adapted: Adapted) -> dict[str, Any]:
    base, model = adapted.base, adapted.model
    before, after = (remembered_self_tokenization(one.merges, request.threads) for one in (base.model, model))
    gone = (adapted.ids.new < 0) & (base.model.vocabulary.kinds != TokenKind.ABSENT)
    return {
        "trainer": trainer,
        "base": {"file": base.path.name, "sha256": base.digest, "ids": base.model.id_limit},
        "file": {"name": base.name, "ids": adapted.ids.size, "options": base.options_of(model)},
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
        "notes": [*base.notes, *adapted.notes],
    }


def _unreachable(tested: SelfTokenization, of: Ids | None = None) -> dict[str, int]:
    """Count tokens that fail the self-tokenization test, by layer."""
    verdicts: Array = tested.verdict if of is None else tested.verdict[of]
    return {
        "layer_1": int(np.count_nonzero(verdicts == ModelVerdict.UNDERIVABLE)),
        "layer_2": int(np.count_nonzero(verdicts == ModelVerdict.MODEL)),
    }


def _ranges(ids: Ids) -> list[list[int]]:
    """Return ids as runs: first and last of each."""
    if not len(ids):
        return []
    cuts = np.flatnonzero(np.diff(ids.astype(np.int64)) != 1)
    firsts, lasts = ids[np.r_[0, cuts + 1]].tolist(), ids[np.r_[cuts, len(ids) - 1]].tolist()
    return [list(pair) for pair in zip(firsts, lasts, strict=True)]


def _json(content: object) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=None if isinstance(content, list) else 1) + "\n").encode()
