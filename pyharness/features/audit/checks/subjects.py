"""What is audited, and what a check gives.

A subject is a row with its library, the file it is from and the model folder around that file. A result is faults with
witnesses and advice, and a status.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np

from pyharness import tokenizers
from pyharness.features.audit.differences import definitions
from pyharness.plugins.specification import TOKENIZER
from pyharness.report.sheet.strings import shorten, visible
from pyharness.system import bounded_file
from pyharness.tokenizers.families.huggingface import HuggingFaceTokenizer
from pyharness.tokenizers.families.sentencepiece import SentencePieceTokenizer
from pyharness.tokenizers.families.tiktoken import TiktokenTokenizer
from pyharness.types import HasVocabulary, InputError, Tokenizer, Tokens, Unsupported, Vocabulary
from pyharness.vocabularies import encodings
from pyharness.vocabularies.files import vocabulary_file

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


@dataclass(eq=False)
class AuditSubject:
    """A tokenizer under audit. ``tokenizer`` is None where its file is refused; ``refusal`` then says why."""

    spec: str
    library: str  # the distribution that runs it
    tokenizer: Tokenizer | None
    refusal: str = ""
    path: Path | None = None

    @cached_property
    def loaded(self) -> Tokenizer:
        """The tokenizer of a file that was not refused."""
        if self.tokenizer is None:
            raise InputError(f"{self.spec!r} is not loaded: {self.refusal}")
        return self.tokenizer

    @cached_property
    def home(self) -> HuggingFaceTokenizer | TiktokenTokenizer | SentencePieceTokenizer | None:
        """The tokenizer in its home library; None for rows of other libraries."""
        home = self.tokenizer
        if "+" in self.spec.partition(":")[0] and home is not None:
            home = definitions.home(self.spec)
        homes = (HuggingFaceTokenizer, TiktokenTokenizer, SentencePieceTokenizer)
        return home if isinstance(home, homes) else None

    @cached_property
    def vocabulary(self) -> Vocabulary | None:
        """The bytes of all ids; None where the row hides them."""
        for one in (self.tokenizer, self.home):
            if isinstance(one, HasVocabulary):
                return one.vocabulary()
        return None

    @property
    def folder(self) -> Path | None:
        """The folder of its file."""
        return None if self.path is None else self.path.parent

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file in hexadecimal; "" without one."""
        return "" if self.path is None else bounded_file.digest(self.path)

    def decode_each(self, tokens: Tokens) -> list[bytes]:
        """Decode documents by the home library's own call, which for byte-level files a row replaces by its table."""
        documents = [tokens.document(index) for index in range(len(tokens))]
        if isinstance(self.home, HuggingFaceTokenizer):
            ids = [document.tolist() for document in documents]
            texts: list[str] = self.home.library.decode_batch(ids, skip_special_tokens=False)
            return [text.encode() for text in texts]
        return [self.loaded.decode(document) for document in documents]

    def ids(self, text: str) -> list[int]:
        """Return the ids of one text."""
        ids: list[int] = self.loaded.encode_batch([text]).ids.tolist()
        return ids

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode one document by the home library's own call."""
        return self.decode_each(Tokens(np.asarray(ids, np.uint32), np.array([0, len(ids)])))[0]


def load(spec: str) -> AuditSubject:
    """Load what a specification or path names; a file that is there and damaged is a subject, too.

    Raises:
        InputError: there is no such row or file, or the specification lacks an option.
        Unsupported: the row has no vocabulary.
    """
    path = _file_of(spec)
    try:
        row = tokenizers.obtain(spec)
        if row.instead is not None:
            raise Unsupported(f"{spec!r} has no vocabulary: its units have no ids, so there is nothing to audit")
        tokenizer = tokenizers.load(row)
    except Unsupported:
        raise
    except InputError as error:
        # A device, pipe or folder has no end or no content.
        if path is None or not path.is_file() or not os.access(path, os.R_OK) or _lacks_pattern(path, spec):
            raise
        return AuditSubject(spec, "", None, str(error), path)
    file = path or (Path(row.path) if row.path is not None else None)
    return AuditSubject(spec, row.library, tokenizer, path=file)


def _file_of(spec: str) -> Path | None:
    """Return the file that a specification names, if it is there."""
    wanted = TOKENIZER.parse(TOKENIZER.of_path(spec, tokenizers.bare_names))
    home = TOKENIZER.parse(wanted.home)
    return vocabulary_file.find(home.argument) if home.name == "file" and home.argument is not None else None


def _lacks_pattern(path: Path, spec: str) -> bool:
    """Whether a rank file is refused because nothing says how text is split: that is no fault of the file."""
    try:
        data = vocabulary_file.read(path)
        if vocabulary_file.detect(data, str(path)) != "rank_file" or "pattern=" in spec:
            return False
        digest = hashlib.sha256(data).hexdigest()
        encodings.check_whole(data, digest, path.stem, str(path))
    except InputError:
        return False
    return encodings.recognise(digest, path.stem) is None
