"""Changes planted in published tokenizer files, where the data are: ``PYHARNESS_DATA`` names their folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

from audited import plants
from audited.checks import check_plant
from layout.thoroughness import examples
from pyharness.features.audit.differences import sides
from pyharness.features.audit.differences.comparison import compare
from pyharness.features.audit.differences.sides import Side

DATA = Path(os.environ.get("PYHARNESS_DATA", "/nowhere")) / "tokenizers"
FILES = ["gpt2", "bert_base_cased", "clip", "gpt_neox", "qwen2_5", "deepseek_v3", "yi", "claude_legacy", "modernbert",
         "mpt", "bert_uncased_gte", "xlnet", "pegasus"]  # fmt: skip
FEW = examples(1000) < 1000
FILES = FILES[: 1 if FEW else None]  # all of them with -m ''
# Draws of each kind and file: a kind that can only change one thing draws the same again. NFC draws nothing.
DRAWS = [(kind, seed) for kind in plants.KINDS for seed in range(1 if FEW or kind == "nfc" else 5)]

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="PYHARNESS_DATA has no tokenizer files")


@lru_cache(maxsize=2)
def published(name: str) -> dict[str, object]:
    content: dict[str, object] = json.loads((DATA / name / "tokenizer.json").read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="module")
def before() -> Callable[[plants.Content, Path], Side]:
    """Loads a side, or gives the one of the same content again: to load a file takes longer than to compare it."""
    kept: list[tuple[plants.Content, Side]] = []

    def load(content: plants.Content, folder: Path) -> Side:
        for known, side in kept:
            if known is content:
                return side
        kept[:] = [*kept[-1:], (content, side_of(content, folder / "before.json"))]
        return kept[-1][1]

    return load


def side_of(content: plants.Content, path: Path) -> Side:
    path.write_text(json.dumps(content), encoding="utf-8")
    return sides.load(f"file:{path}")


@pytest.mark.parametrize(("kind", "seed"), DRAWS)
@pytest.mark.parametrize("name", FILES)  # varies last, so that a file is loaded once
def test_a_change_planted_in_a_published_file_is_named(
    name: str, kind: str, seed: int, tmp_path: Path, before: Callable[[plants.Content, Path], Side]
) -> None:
    plant = plants.KINDS[kind](published(name), seed)
    if plant is None:
        pytest.skip("no plant of this kind")
    first, second = before(plant.before, tmp_path), side_of(plant.after, tmp_path / "after.json")
    check_plant(compare(*sides.share_spellings(first, second)), plant)


@pytest.mark.parametrize("name", FILES)
def test_a_published_file_written_otherwise_is_equal(name: str, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    *_, text = plants.serialisations(published(name))
    other.write_text(text, encoding="utf-8")
    result = compare(*sides.pair(f"file:{DATA / name / 'tokenizer.json'}", f"file:{other}"))
    assert result.same_definition
    assert result.equal
