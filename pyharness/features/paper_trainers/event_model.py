"""A byte-level vocabulary with events instead of plain merge rules, and its file, ``format: pyharness-events``.

An event replaces neighbouring tokens: a merge makes one of two or more, a split makes two or more of one.
PickyBPE has merges of two, and splits; BPE-knockout has merges of any number.

The file is one JSON object:

- ``format``, ``version``, ``digest``, ``written_by``: :mod:`pyharness.vocabularies.own_file`; the version is 1.
- ``tokens``: number -> string, in the byte alphabet of GPT-2 (``Ġthe`` is `` the``): the 256 bytes first.
- ``ids``: number -> id in the output; -1 for tokens that events make on the way and that are never written.
- ``events``: ``[[left, right], [result]]`` or ``[[removed], [part, part, ...]]``, in numbers of tokens.
- ``special``: text -> id.
- ``origin``: where the model comes from; without effect.

All other members are fields of :class:`EventModel`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from pyharness.types import InputError, TokenKind, Vocabulary
from pyharness.vocabularies import own_file
from pyharness.vocabularies.files.byte_alphabet import in_letters
from pyharness.vocabularies.files.json_file import Members, byte_strings, integers
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID
from pyharness.vocabularies.patterns.syntax import Dialect

PICKY: Final = "picky-bpe"
KNOCKOUT: Final = "bpe-knockout"
Algorithm: TypeAlias = Literal["picky-bpe", "bpe-knockout"]
BYTES: Final = tuple(bytes([byte]) for byte in range(256))
NEVER = -1  # the id of a token that is never written
MOST_BYTES = 1 << 26  # of all strings; of all texts that events are about
MOST_EVENTS = 1 << 24
MOST_PARTS = 1 << 10  # of a merge, as the encoder looks so far around each event


class Event(NamedTuple):
    """Tokens, by number, and what replaces them."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def splits(self) -> bool:
        """Whether a token is taken apart."""
        return len(self.before) == 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventModel:
    """All that decides the ids of a text.

    A text is split into pieces. With ``whole_pieces``, a piece that is a token of the output is that token. Any other
    piece starts as its bytes. ``picky-bpe`` runs the events once, in their order, each wherever it applies, from left
    to right. ``bpe-knockout`` runs the first event that applies, the leftmost first, until none does.
    """

    algorithm: Algorithm
    strings: tuple[bytes, ...]  # number -> bytes; the 256 bytes first
    ids: tuple[int, ...]  # number -> id in the output, or NEVER
    events: tuple[Event, ...]
    splitter: str
    dialect: Dialect = "regex"  # of a splitter that is an expression
    whole_pieces: bool = False
    special: Mapping[str, int] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)  # provenance; JSON values

    def vocabulary(self) -> Vocabulary:
        """Return the bytes and kind of every id of the output."""
        tokens = {number: data for data, number in zip(self.strings, self.ids, strict=True) if number != NEVER}
        tokens |= {number: content.encode() for content, number in self.special.items()}
        return Vocabulary.from_tokens(tokens, dict.fromkeys(self.special.values(), TokenKind.SPECIAL))


def check(model: EventModel, label: str) -> None:
    """Refuse a model that contradicts itself.

    Raises:
        InputError: strings, ids or special tokens are empty, equal, too many or too large; an event changes the text;
            a token without an id would be written.
    """
    strings, ids = model.strings, model.ids
    if len(strings) > BIGGEST_ID or sum(map(len, strings)) > MOST_BYTES or len(model.events) > MOST_EVENTS:
        raise InputError(
            f"{label} has {len(strings):,} tokens, {sum(map(len, strings)):,} bytes and {len(model.events):,} events; "
            f"the most are {BIGGEST_ID:,}, {MOST_BYTES:,} and {MOST_EVENTS:,}"
        )
    if strings[:256] != BYTES or len(set(strings)) != len(strings) or b"" in strings:
        raise InputError(f"{label}: the first tokens are not the 256 bytes, or a token is empty or occurs twice")
    written = [number for number in ids if number != NEVER] + list(model.special.values())
    if len(ids) != len(strings) or len(set(written)) != len(written) or NEVER in ids[:256]:
        raise InputError(f"{label}: an id occurs twice, or a token or a byte has none")
    if not all(0 <= number < BIGGEST_ID for number in written):
        raise InputError(f"{label}: an id is not from 0 to below {BIGGEST_ID:,}")
    if "" in model.special:
        raise InputError(f"{label}: a special token is empty")
    _check_events(model, label)


def _check_events(model: EventModel, label: str) -> None:
    strings = model.strings
    made: dict[int, int] = {}  # token -> the last event that makes it
    split: dict[int, int] = {}  # token -> the last event that takes it apart
    lengths = list(map(len, strings))
    total = 0
    for place, event in enumerate(model.events):
        old, new = (sum(lengths[number] for number in side) for side in event)
        total += old
        if total > MOST_BYTES or len(event.before) > MOST_PARTS:
            raise InputError(
                f"{label}: event {place} merges more than {MOST_PARTS:,} tokens, or events are about more than "
                f"{MOST_BYTES:,} bytes"
            )
        before, after = ([strings[number] for number in side] for side in event)
        kind = sorted((min(len(before), 2), min(len(after), 2)))
        if kind != [1, 2] or old != new or b"".join(before) != b"".join(after):
            shown = " of ".join(f"{str(side[:4])[:80]}" for side in (after, before))
            raise InputError(f"{label}: event {place} makes {shown}, which is neither a merge nor a split")
        if event.splits and model.algorithm == KNOCKOUT:
            raise InputError(f"{label}: event {place} takes a token apart, which {KNOCKOUT} never does")
        made |= dict.fromkeys(event.after, place)
        if event.splits:
            split[event.before[0]] = place
    for number, place in made.items():
        if model.ids[number] == NEVER and split.get(number, -1) < place:
            raise InputError(f"{label}: event {place} makes {strings[number][:40]!r}, which has no id and stays")


FORMAT = "pyharness-events"
VERSION = 1
MEMBERS = frozenset({
    "version", "written_by", "algorithm", "splitter", "dialect", "whole_pieces", "special", "origin", "tokens", "ids",
    "events",
})  # fmt: skip


def save_bytes(model: EventModel, label: str = "the model") -> bytes:
    """Return the file content of a model; raise ``InputError``, in which ``label`` is its name."""
    check(model, label)
    members = {
        "algorithm": model.algorithm,
        "splitter": model.splitter,
        "dialect": model.dialect,
        "whole_pieces": model.whole_pieces,
        "special": dict(model.special),
        "origin": dict(model.origin),
        "tokens": [in_letters(string) for string in model.strings],
        "ids": list(model.ids),
        "events": [[list(event.before), list(event.after)] for event in model.events],
    }
    return own_file.write(FORMAT, VERSION, members, label)


def load_bytes(data: bytes, label: str) -> EventModel:
    """Read a model from file content; raise ``InputError``, in which ``label`` is its name."""
    content = own_file.read(FORMAT, VERSION, data, label, "'pyharness list tokenizers' says what")
    if unknown := content.keys() - MEMBERS:
        raise InputError(f"{label}: unknown member {min(unknown)[:40]!r}")
    members = Members(content, label)
    strings = tuple(byte_strings(members.take("tokens", list), f"{label}: 'tokens'"))
    special = members.take("special", dict)
    model = EventModel(
        algorithm=members.choose("algorithm", get_args(Algorithm)),
        strings=strings,
        ids=tuple(members.integers("ids", NEVER, BIGGEST_ID).tolist()),
        events=_events(members.take("events", list), len(strings), f"{label}: 'events'"),
        splitter=members.take("splitter", str),
        dialect=members.choose("dialect", get_args(Dialect)),
        whole_pieces=members.take("whole_pieces", bool),
        special=dict(zip(special, integers(list(special.values()), 0, BIGGEST_ID, label).tolist(), strict=True)),
        origin=members.take("origin", dict),
    )
    check(model, label)
    return model


def _events(rows: Sequence[Any], size: int, label: str) -> tuple[Event, ...]:
    pairs = (isinstance(row, list) and len(row) == 2 and all(isinstance(side, list) for side in row) for row in rows)
    if not all(pairs):
        raise InputError(f"{label} has an entry that is not two lists: tokens, and what replaces them")
    integers([number for row in rows for side in row for number in side], 0, size, label)
    return tuple(Event(tuple(before), tuple(after)) for before, after in rows)
