"""Shades follow the distance from the reference, in the direction that is better."""

from __future__ import annotations

import pytest

from paged import made
from pyharness.report.page.sections import matrix, shade
from pyharness.report.sheet import Sheet


def sheet(values: dict[str, float], texts: int = 2) -> Sheet:
    results = [
        made.case("compression", row, text, [{"metric": "bytes_per_token", "value": value, "replicates": [value] * 32}])
        for text in made.names("text", texts)
        for row, value in values.items()
    ]
    (section,) = matrix(made.of_results(results, list(values), made.names("text", texts)))
    (block,) = section.blocks
    assert isinstance(block, Sheet)
    return block


def test_cells_say_how_far_they_are_from_the_reference() -> None:
    shown = {str(row[0].value): row[1:] for row in sheet({"ref": 4.0, "more": 4.4, "less": 3.0, "same": 4.0}).rows}
    assert [cell.text for cell in shown["more"]] == ["4.4000 (+10.0%)"] * 2
    assert [shown[row][0].shade for row in ("ref", "more", "less", "same")] == [4, 7, 0, 4]
    assert shown["less"][0].text == "3.0000 (-25.0%)"
    assert shown["ref"][0].text == "4.0000"
    assert shown["more"][1].case == "compression | more | text-01"


def test_all_sizes_are_filled() -> None:
    for count in (2, 30):
        values = {row: 2.0 + number / 10 for number, row in enumerate(made.names("row", count))}
        filled = sheet(values, count)
        assert (len(filled.rows), len(filled.headings)) == (count, count + 1)
        assert all(cell.value is not None for row in filled.rows for cell in row)


@pytest.mark.parametrize("share", [0.0, 0.019, 0.02, 0.05, 0.1, 0.2, 5.0])
def test_shades_are_symmetric_and_grow(share: float) -> None:
    assert shade(share) - 4 == 4 - shade(-share)
    assert shade(share) <= shade(share + 0.05) <= 8


def test_one_text_has_no_matrix() -> None:
    assert not list(matrix(made.record(["a", "b"], ["text"], timed=False)))
