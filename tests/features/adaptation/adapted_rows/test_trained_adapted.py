"""Rows ``trained:continued-bpe?base=...``: learnt once for all sizes, and anew when the base changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pyharness
from adapted.bases import NEW, write_base
from bpe_files import characters_file
from pyharness import tokenizers
from pyharness.features.adaptation.trainers import growth, pruning
from pyharness.features.training import rows as trained
from pyharness.types import InputError, Unsupported

pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "new.txt"
    path.write_text("\n".join(NEW), encoding="utf-8")
    return f"path:{path}?split=line"


def row(base: Path | str, corpus: str, tokens: int, more: str = "") -> str:
    escaped = str(base).replace("&", "%26")
    return f"trained:continued-bpe?base={escaped}&corpus={corpus.replace('&', '%26')}&tokens={tokens}{more}"


def test_a_row_is_the_edited_file(tmp_path: Path, corpus: str) -> None:
    base = write_base(tmp_path)
    spec = tokenizers.obtain(row(base, corpus, 20))
    assert spec.path is not None
    assert Path(spec.path).name == "tokenizer.json"
    assert (Path(spec.path).parent / "adaptation.json").is_file()
    assert tokenizers.load(spec).id_limit == 293
    assert tokenizers.load(f"native+{row(base, corpus, 20)}").id_limit == 293


def test_rank_files_come_with_their_pattern(tmp_path: Path, corpus: str) -> None:
    pytest.importorskip("tiktoken")
    base = write_base(tmp_path, "mine.tiktoken")
    spec = tokenizers.obtain(row(f"file:{base}?pattern=gpt2&special=<|end|>:285", corpus, 20))
    tokenizer = tokenizers.load(spec)
    assert tokenizer.id_limit == 306
    assert tokenizer.decode(tokenizer.encode_batch([NEW[0]]).ids) == NEW[0].encode()


def test_sizes_are_learnt_once_if_the_largest_comes_first(
    tmp_path: Path, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = write_base(tmp_path)
    learnt: list[int] = []
    counted = growth.counted

    def counting(*given: Any) -> Any:
        learnt.append(1)
        return counted(*given)

    monkeypatch.setattr(growth, "counted", counting)
    rows = [row(base, corpus, tokens) for tokens in (5, 20, 10)]
    in_turn = sorted(rows, key=tokenizers.precedence)
    assert in_turn == [rows[1], rows[2], rows[0]]
    assert [tokenizers.load(tokenizers.obtain(one)).id_limit for one in in_turn] == [293, 283, 278]
    assert len(learnt) == 1
    assert tokenizers.load(tokenizers.obtain(row(base, corpus, 25))).id_limit == 298
    tokenizers.obtain(row(base, corpus, 22))
    assert len(learnt) == 2
    tokenizers.obtain(row(base, corpus, 20, "&min_frequency=3"))
    assert len(learnt) == 3
    other = [row(base, corpus, tokens, "&deny=q") for tokens in (5, 20, 10)]
    result = pyharness.run(other, ["sample:prose"], ["vocabulary"])
    assert len(learnt) == 4
    assert [*dict.fromkeys(found.case.tokenizer for found in result.record.results)] == other


def test_a_changed_base_is_said_and_trained_anew(tmp_path: Path, corpus: str) -> None:
    base = write_base(tmp_path)
    one = row(base, corpus, 20)
    first = tokenizers.obtain(one)
    content = json.loads(base.read_text(encoding="utf-8"))
    content["model"]["merges"].pop()
    base.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match="changed"):
        tokenizers.load(one)
    second = tokenizers.obtain(one)
    assert tokenizers.load(one).id_limit == 293
    assert second.vocabulary != first.vocabulary


def test_settings_beside_the_base_are_part_of_it(tmp_path: Path, corpus: str) -> None:
    """Neither a refusal nor a copy outlives the file that it came from."""
    one, config = row(write_base(tmp_path), corpus, 20), tmp_path / "tokenizer_config.json"
    config.write_text("{broken", encoding="utf-8")
    with pytest.raises(Unsupported, match="tokenizer_config"):
        tokenizers.load(tokenizers.obtain(one))
    config.write_text('{"name": "first"}', encoding="utf-8")
    with pytest.raises(InputError, match="changed"):
        tokenizers.load(one)
    for content in ('{"name": "first"}', '{"name": "other"}'):
        config.write_text(content, encoding="utf-8")
        spec = tokenizers.obtain(one)
        assert spec.path is not None
        assert (Path(spec.path).parent / config.name).read_text(encoding="utf-8") == content
    config.unlink()
    spec = tokenizers.obtain(one)
    assert spec.path is not None
    assert not (Path(spec.path).parent / config.name).exists()


def test_several_corpora_are_separated_by_a_bar(tmp_path: Path, corpus: str) -> None:
    base = write_base(tmp_path)
    other = tmp_path / "other.txt"
    other.write_text("päike paistab\n" * 3, encoding="utf-8")
    both = f"{corpus}|path:{other}"
    plain, balanced = (tokenizers.obtain(row(base, both, 20, more)) for more in ("", "&balance=1"))
    assert plain.path is not None
    said = json.loads((Path(plain.path).parent / "adaptation.json").read_text(encoding="utf-8"))
    assert said["documents"] == len(NEW) + 1
    assert plain.vocabulary != balanced.vocabulary


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("&balance=yes", "neither 0 nor 1"),
        ("&share=x", "no option 'share'"),
        ("&vocab_size=400", "no option 'vocab_size'"),
        ("&character_coverage=7", "coverage of 7"),
        ("&character_coverage=all", "character_coverage=all .*not a number"),
    ],
)
def test_bad_options_are_refused(tmp_path: Path, corpus: str, more: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        tokenizers.resolve(row(write_base(tmp_path), corpus, 20, more))
    with pytest.raises(InputError, match="lacks base="):
        tokenizers.resolve(f"trained:continued-bpe?corpus={corpus}&tokens=3")


def test_a_corpus_that_gives_nothing_costs_its_row(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x", encoding="utf-8")
    one = row(write_base(tmp_path), f"path:{tmp_path / 'x.txt'}", 20)
    tokenizers.obtain(one)
    with pytest.raises(Exception, match=r"nothing to add.*min_frequency"):
        tokenizers.load(one)


def test_a_row_may_learn_characters(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(characters_file(byte_fallback=True)), encoding="utf-8")
    (tmp_path / "new.txt").write_text("hell õõ õhe\nõhe hello\n", encoding="utf-8")
    one = row(tmp_path / "tokenizer.json", f"path:{tmp_path / 'new.txt'}", 2, "&character_coverage=1")
    tokenizer = tokenizers.load(tokenizers.obtain(one))
    assert tokenizer.encode_batch(["hõ"]).ids.tolist()[-1] == tokenizer.id_limit - 2


def test_prunings_of_one_order_read_the_text_once(tmp_path: Path, corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    base = write_base(tmp_path)
    rows = [f"trained:leaf-pruning?base={base}&corpus={corpus}&{size}" for size in ("vocab_size=265", "share=0.5")]
    assert tokenizers.load(tokenizers.obtain(rows[0])).id_limit == 265
    monkeypatch.setattr(pruning, "TokenCounter", lambda *_: pytest.fail("counted twice"))
    assert tokenizers.load(tokenizers.obtain(rows[1])).id_limit == 266


def test_tokens_that_are_exchanged_name_no_size(tmp_path: Path, corpus: str) -> None:
    """Its recipe has no part that other sizes would share: a place of their own would be the row's, which is locked."""
    one = f"trained:leaf-pruning?base={write_base(tmp_path)}&corpus={corpus}&tokens=6"
    recipe = trained.recipe_of(one)
    assert recipe is not None
    assert recipe.of_all_sizes is None
    assert tokenizers.load(tokenizers.obtain(one)).id_limit == 273
