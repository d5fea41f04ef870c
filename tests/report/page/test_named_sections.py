"""What failed and why stands there, once for all cases that share a reason; so do dead tokens with their witnesses."""

from __future__ import annotations

import json

from paged import made
from pyharness import store
from pyharness.report.page.sections import listings as named
from pyharness.report.page.sections import missing
from pyharness.report.sheet import Sheet
from pyharness.report.sheet.parts import Section


def edited(status: str, complete: bool = True) -> Section | None:
    data = json.loads(json.dumps(made.record(["a", "b"], ["text"]).data)) | {"complete": complete}
    if status != "ok":
        data["results"][0] |= {"status": status, "reason": "<b>no</b> file", "measurements": []}
    return next(iter(missing(store.Record.from_json(data, "edited"))), None)


def test_reasons_stand_there() -> None:
    section = edited("failed")
    assert section is not None
    counts, sheet = section.blocks
    assert counts == "Cases: 3 ok, 1 failed."
    assert isinstance(sheet, Sheet)
    assert sheet.texts == (("a", "failed", "compression on text", "<b>no</b> file"),)


def test_a_whole_record_lacks_nothing_and_an_interrupted_one_says_so() -> None:
    assert edited("ok") is None
    section = edited("ok", complete=False)
    assert section is not None
    interrupted, cases = section.blocks
    assert "not complete" in str(interrupted)
    assert cases == "Cases: 4 ok."


def test_all_dead_tokens_are_listed_with_witness_and_reason() -> None:
    dead = [
        {
            "id": number,
            "token": f"<h{number}>",
            "verdict": "merge_unreachable",
            "instead": [1, 2],
            "argument": "never",
            "because": "it is never made",
        }
        for number in range(15)
    ]
    result = made.case("reachability", "row", None, [{"metric": "unreachable_pipeline", "value": 15}])
    result["details"] = {"pipeline": dead}
    (section,) = named(made.of_results([result], ["row"], []))
    (sheet,) = section.blocks
    assert isinstance(sheet, Sheet)
    assert [row[2] for row in sheet.texts] == [f"'<h{number}>'" for number in range(15)]
    assert sheet.texts[0] == ("row", "0", "'<h0>'", "ids 1, 2", "unreachable (merge): never")
