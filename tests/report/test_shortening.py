"""Names that are cut to fit into a table never look alike."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from gating.gates import gate, judgement
from pyharness import report
from pyharness.report.sheet.shortening import shorten, shorten_apart

PARTS = st.lists(st.sampled_from(["a", "bb", "english", "polish", "::", "/x/", "-2]"]), max_size=30).map("".join)


@given(st.lists(PARTS, max_size=20), st.integers(4, 40))
@example(["x" * 9 + f"{one}{'y' * 30}{one}" + "z" * 9 for one in "abcdefghij"], 4)
def test_different_names_stay_different_and_fit(names: list[str], width: int) -> None:
    shown = shorten_apart(names, width)
    assert shown.keys() == set(names)
    assert len(set(shown.values())) == len(shown)
    assert all(len(short) <= width for short in shown.values())
    assert all(shown[name] == name for name in names if len(name) <= width and len(set(map(len, names))) == 1)


def test_what_tells_names_apart_is_left() -> None:
    names = [f"speed/test_splitter_speed.py::test_split[{text}-{n}]" for text in ("english", "polish") for n in (1, 2)]
    shown = shorten_apart(names, 24)
    for name, short in shown.items():
        assert ("english" in short) is ("english" in name)
        assert short.endswith(name[-3:])
    assert shorten_apart(["alone" * 20], 24) == {"alone" * 20: shorten("alone" * 20, 24)}


def test_a_table_of_80_columns_and_a_comment_tell_names_apart() -> None:
    names = [f"bench/speed/test_it.py::test_split[{'gpt2-' * 3}{text}-{'x' * 300}2]" for text in ("english", "polish")]
    done = gate(*(judgement(name) for name in names))
    text = report.to_text(report.gate_sheets(done), width=80)
    rows = [line.partition("  ")[0] for line in text.splitlines() if " pass " in line]
    assert len(set(rows)) == len(rows) == len(names)
    comment = report.to_pull_request(done)
    cells = [line.split("|")[1] for line in comment.splitlines() if line.startswith("| ") and "pass" in line]
    assert len(set(cells)) == len(cells) == len(names)
