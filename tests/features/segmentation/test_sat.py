"""The plug-in for SaT, on a stub of the library: no model is at hand where tests run."""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pyharness import tokenizers
from pyharness.features.segmentation.units import SatSentences, ends_of
from pyharness.types import InputError, Unsupported


class Stub:
    """Splits behind full stops, and drops the spaces there; remembers how it was made and asked."""

    made: list[str]
    asked: list[float]

    def __init__(self, model: str) -> None:
        type(self).made.append(model)

    def split(self, text: str, *, threshold: float) -> list[str]:
        type(self).asked.append(threshold)
        return re.split(r"(?<=\.)\s*", text)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> type[Stub]:
    module: Any = ModuleType("wtpsplit")
    Stub.made, Stub.asked = [], []
    module.SaT = Stub
    monkeypatch.setitem(sys.modules, "wtpsplit", module)
    return Stub


def test_a_row_runs_the_library_with_its_options(library: type[Stub]) -> None:
    spec = tokenizers.resolve("units:sat?model=sat-3l&threshold=0.25")
    assert library.made == []  # naming a row loads nothing
    assert spec.instead is not None
    texts = ["Eins.  Zwei é. Drei", "", " \n"]
    segments = spec.instead.make(spec).segment_batch(texts)
    assert segments.fault(np.array([len(text.encode()) for text in texts], np.int64)) is None
    assert [segments.document(index).tolist() for index in range(3)] == [[7, 16, 20], [], [2]]
    assert (library.made, set(library.asked)) == (["sat-3l"], {0.25})


def test_sentences_that_are_not_in_the_text_leave_it_out() -> None:
    assert ends_of("a b", ["a", "c"]) is None
    assert ends_of("a b", ["b", "a"]) is None
    assert ends_of("a b", []) == [3]

    class Lossy:
        def split(self, text: str, *, threshold: float) -> list[str]:
            return [text.upper()]

    assert SatSentences(Lossy()).segment_batch(["abc", "X"]).missing.tolist() == [True, False]


def test_what_is_not_installed_or_no_threshold_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wtpsplit", None)
    spec = tokenizers.resolve("units:sat")
    assert spec.instead is not None
    with pytest.raises(Unsupported, match=r"wtpsplit.* not installed"):
        spec.instead.make(spec)
    for value in ("nan", "2", "x", "0"):
        with pytest.raises(InputError, match=f"threshold={value} .*not a share"):
            tokenizers.resolve(f"units:sat?threshold={value}")


def test_what_the_library_refuses_is_a_line(library: type[Stub], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(model: str) -> None:
        raise OSError(f"no such model:\n{model}")

    monkeypatch.setattr(sys.modules["wtpsplit"], "SaT", fails)
    spec = tokenizers.resolve("units:sat?model=nothing")
    assert spec.instead is not None
    with pytest.raises(InputError, match=r"units:sat.* was refused by wtpsplit: no such model: nothing"):
        spec.instead.make(spec)
