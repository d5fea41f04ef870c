"""Control: whether text of a user becomes a control token, by the library's default call and by its safest one.

A chat template joins fields that users wrote. If the text ``<|im_start|>`` in a field becomes the id of that token,
its author speaks with another's voice. Every marker of a file is tried in five places, and every outcome is read off
the ids: the marker's id is there more often than in the same text without the marker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.benchmarks import Benchmark, Findings, Pace, Work
from pyharness.benchmarks.load import TEXT
from pyharness.features.serving import calls
from pyharness.features.serving.calls import Encode, EncodeCall, LibraryCalls, RowFile
from pyharness.features.serving.markers import Marker, Markers
from pyharness.features.serving.metrics import OF_CONTROL
from pyharness.types import Answer, Case, CaseResult, Column, Listing, Measurement, State, Table, listed

Cells: TypeAlias = NDArray[np.uint8]  # MarkerOutcome [markers, PLACES]
MOST_NAMED = 20  # markers of a call that the details name
OWN = "the row"
BECOMES, REFUSES, KEEPS = "becomes ids", "is refused", "stays text"
ROW_SETTING = (
    "Rows measure text: special tokens in it stay text, and added tokens that are not flagged special become their ids."
)


class MarkerOutcome(IntEnum):
    """What a call made of a marker in a text."""

    TEXT = 0  # the marker's id is not there
    CONTROL = 1  # it is
    REFUSED = 2  # the library raised an exception, or panicked


@dataclass(frozen=True, slots=True)
class MarkerPlace:
    """Where a marker stands in a text: between what a template writes."""

    name: str
    before: str = ""
    behind: str = ""
    times: int = 1

    def text(self, marker: str) -> str:
        """Return the text with a marker."""
        return self.before + marker * self.times + self.behind


PLACES = (
    MarkerPlace("alone"),
    MarkerPlace("inside text", "Say ", " now."),
    MarkerPlace("after a letter", "x"),
    MarkerPlace("doubled", times=2),
    # Its halves are in two fields, which a template joins. No check of a single field sees it.
    MarkerPlace("split in two fields", "Name: ", "\n"),
)
FRAMES = tuple(place.before + place.behind for place in PLACES)


def outcome(encode: Encode, marker: Marker, place: MarkerPlace, without: int) -> MarkerOutcome:
    """Encode a marker in a place; ``without``: how often its id is in the same text without it."""
    try:
        ids = encode(place.text(marker.text))
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException:  # a panic in Rust is no Exception
        return MarkerOutcome.REFUSED
    return MarkerOutcome.CONTROL if list(ids).count(marker.id) > without else MarkerOutcome.TEXT


def outcomes(encode: Encode, markers: Sequence[Marker]) -> Cells:
    """Return the outcome of every marker in every place."""
    frames = [list(encode(frame)) for frame in FRAMES]
    cells = [
        [outcome(encode, marker, place, frame.count(marker.id)) for place, frame in zip(PLACES, frames, strict=True)]
        for marker in markers
    ]
    return np.array(cells, np.uint8).reshape(-1, len(PLACES))


# --------------------------------------------------------------------------------------------------------- a library


@dataclass(frozen=True, slots=True)
class LibraryOutcomes:
    """The outcomes of one library's calls: of its default, and of its safest one if it has a switch."""

    library: str
    default: Cells
    safest: Cells | None
    written: tuple[str, str | None]  # both calls

    @classmethod
    def of(cls, library: LibraryCalls, markers: Sequence[Marker]) -> LibraryOutcomes:
        """Try every call. The safest one lets the fewest control tokens through, then refuses the fewest texts."""
        control = _are_control(markers)
        tried = [
            (call, outcomes(call.encode, markers)) for call in library.switches if _reads_alike(call, library.default)
        ]
        default = outcomes(library.default.encode, markers)
        best = min(tried, key=lambda one: _danger(one[1][control]), default=None)
        safest = None if best is None else best[1]
        return cls(
            library.library, default, safest, (library.default.written, None if best is None else best[0].written)
        )

    @property
    def least(self) -> Cells:
        """The outcomes of the safest call, or of the default one if it has no switch."""
        return self.default if self.safest is None else self.safest

    def does(self, control: NDArray[np.bool_]) -> str:
        """Return what the default call does with the text of most of these control tokens, and how many become ids."""
        cells = self.default[control]
        through, refused = int(_becomes(cells).sum()), int((cells == MarkerOutcome.REFUSED).any(axis=1).sum())
        if 2 * through >= len(cells) > 0:
            return f"{BECOMES} ({through:,} of {len(cells):,})"
        kind = REFUSES if 2 * refused >= len(cells) > 0 else KEEPS
        return f"{kind}, but for {through:,} of {len(cells):,}" if through else kind

    def verdict(self, control: NDArray[np.bool_]) -> str:
        """Return the call that is safe for these control tokens, or "none" and how many become ids all the same."""
        refusing = ""
        for call, cells in ((self.written[1], self.safest), (self.written[0], self.default)):
            if cells is not None and not _becomes(cells)[control].any():
                if not (cells[control] == MarkerOutcome.REFUSED).any():
                    return str(call)
                refusing = refusing or f"{call}, which refuses it"
        if refusing:
            return refusing
        return f"none: {int(_becomes(self.least)[control].sum()):,} of {int(control.sum()):,} become ids"


def _reads_alike(call: EncodeCall, default: EncodeCall) -> bool:
    """Return whether a call gives ordinary text the ids of the default call, which may add ids before and behind.

    A switch that raises does not: an older library has none, and a file may have what surrounds markers as a token.
    """
    try:
        ids, *_ = [list(call.encode(text)) for text in (TEXT, *FRAMES)]
    except Exception:
        return False
    expected = list(default.encode(TEXT))
    return any(expected[start : start + len(ids)] == ids for start in range(len(expected) - len(ids) + 1))


def _danger(cells: Cells) -> tuple[int, int]:
    return int(_becomes(cells).sum()), int((cells != MarkerOutcome.TEXT).sum())


def _are_control(markers: Sequence[Marker]) -> NDArray[np.bool_]:
    return np.array([marker.is_control for marker in markers], np.bool_)


def _becomes(cells: Cells) -> NDArray[np.bool_]:
    """Return whether each marker becomes its id in any place."""
    return np.asarray((cells == MarkerOutcome.CONTROL).any(axis=1))


# ---------------------------------------------------------------------------------------------------------- the case


def run(work: Work) -> Findings:
    """Try every marker with every call of the row's library, of those that wrap it, and with the row itself."""
    file = RowFile.of(work.spec)
    markers = Markers.of(file)
    of_libraries = [LibraryOutcomes.of(one, markers.tried) for one in calls.of_row(file)]
    tokenizer = work.load()
    own = outcomes(lambda text: tokenizer.encode_batch([text]).ids.tolist(), markers.tried)
    state = _state(of_libraries, own, markers.tried)
    details = {
        "row_setting": ROW_SETTING,
        "row_notes": list(tokenizer.notes),
        "markers_in_file": markers.in_file,
        "markers_tried": len(markers.tried),
        "template_words_that_are_plain_text": list(markers.plain[:MOST_NAMED]),
        "markers": [[marker.text, marker.id, marker.origin] for marker in markers.tried if marker.is_control][
            :MOST_NAMED
        ],
        "libraries": {one.library: _details(one, markers.tried) for one in of_libraries},
        "row": _counts(own),
    }
    return replace(rederive(state, work.case), details=details, state=state)


def _details(one: LibraryOutcomes, markers: Sequence[Marker]) -> dict[str, Any]:
    control = _are_control(markers)
    through = [markers[index] for index in np.flatnonzero(_becomes(one.least) & control)]
    return {
        "default_call": one.written[0],
        "safest_call": one.written[1],
        "default_does": one.does(control),
        "verdict": one.verdict(control),
        "default": _counts(one.default),
        "safest": None if one.safest is None else _counts(one.safest),
        "passes_safest": [marker.text for marker in through[:MOST_NAMED]],
        "passes_safest_unflagged": sum(marker.origin == "not flagged special" for marker in through),
    }


def _counts(cells: Cells) -> dict[str, dict[str, int]]:
    """Count outcomes by place: of all markers, words among them."""
    return {
        place.name: {kind.name.lower(): int((cells[:, column] == kind).sum()) for kind in MarkerOutcome}
        for column, place in enumerate(PLACES)
    }


def _state(of_libraries: Sequence[LibraryOutcomes], own: Cells, markers: Sequence[Marker]) -> State:
    state = {"control": _are_control(markers).astype(np.uint8), f"default {OWN}": own}
    for one in of_libraries:
        state[f"default {one.library}"] = one.default
        if one.safest is not None:
            state[f"safest {one.library}"] = one.safest
    return state


def rederive(state: State, case: Case) -> Findings:
    """Compute the shares again, from the outcomes."""
    del case
    control = np.asarray(state["control"]).astype(np.bool_)
    total = int(control.sum())
    measurements = [Measurement("control_tokens", total)]
    for name, cells in state.items():
        call, _, library = name.partition(" ")
        if library:
            measurements += _shares(call, library, np.asarray(cells)[control], total)
    return Findings(tuple(measurements))


def _shares(call: str, library: str, cells: Cells, total: int) -> Iterator[Measurement]:
    refused = int((cells == MarkerOutcome.REFUSED).any(axis=1).sum())
    through = int(_becomes(cells).sum())
    if library == OWN:
        yield _share("control_by_row", through, total, None)
        return
    yield _share(f"control_by_{call}", through, total, library)
    if call == "default":
        yield _share("refused_by_default", refused, total, library)


def _share(metric: str, count: int, total: int, part: str | None) -> Measurement:
    if not total:
        return Measurement(metric, None, reason="the file has no control tokens", part=part)
    return Measurement(metric, count / total, part=part, no_interval="every control token of the file is tried")


# -------------------------------------------------------------------------------------------------------- the report


def verdicts(result: CaseResult) -> Iterator[tuple[str, ...]]:
    """Yield library, its default call, what that does with a control token's text, and the call that is safe."""
    for library, about in result.details.get("libraries", {}).items():
        yield library, about["default_call"], about["default_does"], about["verdict"]


def becoming(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[Answer]:
    """Count what libraries do by default, and name the rows for which a library has no safe call."""
    del data
    every = {(result.case.tokenizer, entry[0]): entry for result in results for entry in verdicts(result)}
    if not every:
        return
    does: dict[str, dict[str, None]] = {BECOMES: {}, REFUSES: {}, KEEPS: {}}
    for (_, library), entry in every.items():
        does[next(kind for kind in does if entry[2].startswith(kind))][library] = None
    by_default = "; ".join(f"{kind} in {listed(list(names))}" for kind, names in does.items() if names)
    unsafe = {row: [library for (of, library), entry in every.items() if of == row and entry[3].startswith("none")]
              for row in dict.fromkeys(row for row, _ in every)}  # fmt: skip
    rows = [f"{row} in {listed(libraries)}" for row, libraries in unsafe.items() if libraries]
    ending = f"No call is safe for {'; '.join(rows)}." if rows else "Each has a safe call."
    yield Answer("Users write control tokens", f"by default, text {by_default}. {ending}", "alarm" if rows else "")


def _left(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Name tokens that no call keeps out, markers that were not tried, and template words that are plain text."""
    del data
    for result in results:
        row, details = result.case.tokenizer, result.details
        for library, about in details.get("libraries", {}).items():
            if passing := about.get("passes_safest"):
                unflagged = f"{about['passes_safest_unflagged']:,} of them not flagged special"
                names = ", ".join([*passing[:3], *["..."] * (len(passing) > 3)])
                yield f"{row}, {library}: become ids by its safest call, too: {names}; {unflagged}."
        if details.get("markers_in_file", 0) > details.get("markers_tried", 0):
            yield f"{row}: {details['markers_tried']:,} of {details['markers_in_file']:,} markers were tried."
        if plain := details.get("template_words_that_are_plain_text"):
            yield f"{row}: its template writes {', '.join(plain[:3])} as plain text, as any user can."


TABLE = Table(
    "Control tokens in a user's text",
    columns=(
        Column("control_tokens", "tokens"),
        Column("control_by_default", "default %"),
        Column("refused_by_default", "refused %"),
        Column("control_by_safest", "safest %"),
        Column("control_by_row", "this row %"),
    ),
    notes=(
        "default, safest: control tokens that text becomes by the library's default call, and by its safest call.",
        "refused: by the default call. safest -: the library has no switch that can be used.",
        "this row: as measured here, where special tokens in text stay text.",
        _left,
    ),
    sized=False,
)

BENCHMARKS = (
    Benchmark(
        "control",
        "control tokens that a user's text becomes, by each library's default call and by its safest one",
        run,
        corpus="none",
        pace=Pace(3.0),
        place=11,
        metrics=OF_CONTROL,
        tables=(TABLE,),
        answers=becoming,
        listing=Listing(
            "Which call keeps control tokens out",
            ("library", "default call", "text", "safe call"),
            verdicts,
        ),
        rederive=rederive,
    ),
)
