"""What must hold of a comparison of a file with a changed one."""

from __future__ import annotations

from audited import plants
from pyharness.features.audit.differences import witnesses
from pyharness.features.audit.differences.comparison import TokenizerComparison
from pyharness.features.audit.differences.witnesses import Cause


def check_plant(result: TokenizerComparison, plant: plants.Plant) -> None:
    """The change is named, and if the library gives other ids on some text, so is a witness that it confirms."""
    assert [one for one in result.changes if one.kind == plant.named and plant.name in ("", one.name)]
    assert not result.same_definition
    shown = [one for one in result.witnesses if one.cause.stage in plant.causes]
    assert shown or not plant.effective  # the search may find what the plant does not know of
    for one in result.witnesses:
        if one.cause.reading == "template":
            continue
        control = one.cause.reading == "control"
        mine, theirs = (plants.ids(side, one.text, control) for side in (plant.before, plant.after))
        assert mine != theirs
        assert ([token for token, _ in one.first], [token for token, _ in one.second]) == (mine, theirs)
        for at in range(len(one.text)):
            check_shrunk(result, one.cause, one.text[:at] + one.text[at + 1 :])


def check_shrunk(result: TokenizerComparison, cause: Cause, shorter: str) -> None:
    """A shorter text has equal ids, or another cause."""
    if shorter:
        assert witnesses.cause_of(result.first, result.second, shorter, cause.reading) != cause
