"""``max_bytes`` for every text of a suite: the smaller bound holds, documents stay whole, labels stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyharness import corpora, suite
from pyharness.types import CorpusFamily, InputError, Tally


@pytest.mark.parametrize(
    ("spec", "cut"),
    [
        ("sample", "sample?max_bytes=20kB"),
        ("sample?max_bytes=19kB&name=a", "sample?max_bytes=19kB&name=a"),
        ("sample?max_bytes=20001", "sample?max_bytes=20kB"),
        ("path:a?.txt", "path:a%3F.txt?max_bytes=20kB"),
        ("path:a?name=50%25%20%26&max_bytes=1GB", "path:a?name=50%25 %26&max_bytes=20kB"),
        ("shard:0/2:repeat:3:sample?max_bytes=1MB", "shard:0/2:repeat:3:sample?max_bytes=20kB"),
    ],
)
def test_the_smaller_bound_holds(spec: str, cut: str) -> None:
    assert corpora.capped(spec, "20kB") == cut
    assert corpora.capped(cut, "20kB") == cut


def test_a_suite_is_cut_in_whole_documents_and_keeps_its_labels() -> None:
    quick = suite.read(suite.find("quick"))
    cut = suite.declare(base=quick, max_bytes="600kB")
    assert [entry.label for entry in cut.corpora] == [entry.label for entry in quick.corpora]
    assert "max_bytes=600kB" in cut.corpora[1].spec
    assert "max_bytes=500kB" in cut.corpora[2].spec
    assert cut.digest != quick.digest
    assert suite.declare(base=quick).digest == quick.digest
    whole, some = Tally(), Tally()
    first = list(corpora.open_corpus("sample").documents(whole))
    front = list(corpora.open_corpus(corpora.capped("sample", "20kB")).documents(some))
    assert front == first[: len(front)]
    size = sum(len(text.encode()) for text in front)
    assert size <= 20_000 < size + len(first[len(front)].encode())


def test_what_cannot_be_cut_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"max_bytes=much\b.*2MB"):
        corpora.capped("sample", "much")
    own = CorpusFamily("own", lambda spec, argument, options: corpora.open_corpus("sample"), "", "own")
    monkeypatch.setattr(corpora, "families", lambda: {"own": own})
    with pytest.raises(InputError, match=r"'own:x'.* 2MB: 'own' .*\bmax_bytes"):
        corpora.capped("own:x", "2MB")
