"""The study of ranks on made-up counts: its tables, and what its options choose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import equal_rows


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    """A folder that keeps the counts of two texts: in every document all rows have another number of tokens."""
    random = np.random.default_rng(7)
    for name, spread in (("code", 1.5), ("books", 0.5)):
        sizes = np.exp(random.normal(7, spread, 200)).round() + 1
        rates = np.exp(random.normal(0, 0.2, (200, 30))) / np.linspace(2, 6, 30)
        np.save(tmp_path / f"{name}.npy", np.column_stack([sizes, (sizes[:, None] * rates).round() + 1]))
    return tmp_path


def test_pairs_without_an_interval_have_two_tables_of_the_texts_asked_for(counts: Path) -> None:
    """The counts that are kept are those of the texts: none is opened, and no tokenizer."""
    written = counts / "ranks.md"
    said: list[str] = []
    given = ["--lacking", "--tables", "4", "--counts", str(counts), "--data", str(counts), "--output", str(written)]
    equal_rows.main([*given, "--texts", "code", "books"], said.append)
    assert written.read_text(encoding="utf-8") == "".join(said)
    errors, power = ([line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
                     for table in "".join(said).split("\n\n"))  # fmt: skip
    assert [(row[0], row[1], row[2]) for row in errors] == [
        (name, str(documents), str(rows))
        for name in ("code", "books") for documents in equal_rows.LACKING for rows in (5, 10, 30)
    ]  # fmt: skip
    assert {len(row) for row in errors} == {8}
    shares = [[float(cell.rstrip("%")) for cell in row[4:]] for row in errors]
    assert all(row == sorted(row, reverse=True) for row in shares), "each rule asks for more than the one before it"
    assert [(row[0], row[1]) for row in power] == [
        (name, str(documents)) for name in ("code", "books") for documents in equal_rows.LACKING
    ]
    assert all(row[5].endswith(" / 100%") for row in power), "raw_bytes, and a row with half of its tokens"


def test_a_text_that_it_does_not_know_is_refused(counts: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        equal_rows.main(["--lacking", "--texts", "a text of ours", "--data", str(counts)])
    assert ended.value.code == 2
