"""A cell is confirmed only if the second script counts what the benchmark counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import control_cells
from served.direct_calls import MarkedFile
from tokenizer_files import byte_level, write


def test_a_cell_is_confirmed_refuted_or_has_a_reason(tmp_path: Path) -> None:
    write(tmp_path, "tokenizer.json", {**byte_level(), "truncation": None, "padding": None, "post_processor": None})
    file = MarkedFile.of_json(tmp_path / "tokenizer.json")
    confirmed = control_cells.cell("tokenizers", "made", file)
    assert (confirmed.wrong, confirmed.reason, bool(confirmed.shown)) == ((), "", True)
    (name, number), other = file.marked
    shifted = replace(file, marked=[(name, number + 1), other])
    assert control_cells.cell("tokenizers", "made", shifted).wrong == ("default",)
    unread = control_cells.cell("sentencepiece", "made", file)
    assert (unread.shown, unread.reason) == ("", "sentencepiece is not called on a tokenizer.json here")
