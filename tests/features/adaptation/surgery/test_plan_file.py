"""Plans as files: read again they are the same, and damaged ones are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adapted.bases import write_base
from checkpoints.made import extended, of_json
from pyharness.corpora.document_keys import TRAINED_ON
from pyharness.features.adaptation.surgery.checkpoint import tokenizer_files
from pyharness.features.adaptation.surgery.initialisation import PlanRequest, plan_of_tokenizers
from pyharness.features.adaptation.surgery.plan import EmbeddingPlan
from pyharness.types import InputError
from tokenizer_files import byte_level


@pytest.fixture
def plan() -> EmbeddingPlan:
    request = PlanRequest(rows=263, checkpoint="0" * 64, named={263: 5, 6: 7}, seed=3)
    return plan_of_tokenizers(of_json(byte_level()), of_json(extended(("hello", "Ġ"), ("Ġw", "o"))), request)


def test_a_plan_is_read_back(plan: EmbeddingPlan) -> None:
    data = plan.as_json()
    again = EmbeddingPlan.of_json(data, "plan.json")
    assert again.as_json() == data
    assert (again.seed, again.ids.new.tolist(), again.added) == (3, [*range(263)], [263, 264])
    rows = json.loads(data)["plan"]
    assert (rows[6], rows[263], rows[264]) == (["row", 7, 6], ["row", 5], ["mean", 260, 111])


PLAN_DAMAGE: list[tuple[Callable[[Any], object], str]] = [
    (lambda plan: plan.update(format="other"), r"plan\.json .*not a plan .*version"),
    (lambda plan: plan.update(version=2), r"plan\.json .*not a plan .*version"),
    (lambda plan: plan.pop("old"), "damaged plan: KeyError"),
    (lambda plan: plan["plan"].pop(), "damaged plan: (.* 264 rows|ValueError: 265 ids)"),
    (lambda plan: plan.update(plan=7), "damaged plan: TypeError"),
    (lambda plan: plan["plan"].__setitem__(3, ["copy", 263]), r"damaged plan: .*row \[\"copy\", 263\] is not possible"),
    (lambda plan: plan["plan"].__setitem__(3, ["copy", 1, 2]), "damaged plan: .*is not possible"),
    (lambda plan: plan["plan"].__setitem__(3, ["row", 1, 2, 3]), "damaged plan: .*is not possible"),
    (lambda plan: plan["plan"].__setitem__(3, ["mean"]), "damaged plan: .*is not possible"),
    (lambda plan: plan["plan"].__setitem__(3, ["random", 1]), "damaged plan: .*is not possible"),
    (lambda plan: plan["plan"].__setitem__(3, ["pickle"]), "damaged plan: KeyError"),
    (lambda plan: plan["plan"].__setitem__(3, ["mean", -1]), "damaged plan: .*'-1'"),
    (lambda plan: plan["plan"].__setitem__(3, ["mean", True]), "damaged plan: .*'True'"),
    (lambda plan: plan["plan"].__setitem__(3, []), "damaged plan: IndexError"),
    (lambda plan: plan["checkpoint"].update(sha256="x"), "damaged plan: .*'x'.* digest"),
    (lambda plan: plan["checkpoint"].update(rows=10**9), "damaged plan: .*'1000000000' .*number of rows"),
    (lambda plan: plan["old"].update(gaps=[263]), "damaged plan: .*263 ids with 1 gaps"),
    (lambda plan: plan["old"].update(ids=264), "damaged plan: .*264 ids with 0 gaps .*263 rows"),
    (lambda plan: plan.update(seed=-1), "damaged plan"),
]


@pytest.mark.parametrize(("damage", "message"), PLAN_DAMAGE)
def test_damaged_plans(damage: Callable[[Any], object], message: str, plan: EmbeddingPlan) -> None:
    content = json.loads(plan.as_json())
    damage(content)
    with pytest.raises(InputError, match=message) as error:
        EmbeddingPlan.of_json(json.dumps(content).encode(), "plan.json")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["", "tokenizer.json"])
def test_digests_of_the_training_text_stay_next_to_the_tokenizer(name: str, tmp_path: Path) -> None:
    for folder in ("model", "new"):
        (tmp_path / folder).mkdir()
    path = write_base(tmp_path / "new")
    (tmp_path / "new" / TRAINED_ON).write_bytes(b"digests")
    model, plan = SimpleNamespace(path=tmp_path / "model"), SimpleNamespace(ids=None, added={})
    files = tokenizer_files(tmp_path / "new" / name, model, plan)  # type: ignore[arg-type]
    assert files == {path.name: path.read_bytes(), TRAINED_ON: b"digests"}
