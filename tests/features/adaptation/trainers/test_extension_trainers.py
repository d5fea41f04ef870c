"""Extensions as trainings: the file of the base, edited, what is said of it, and what is refused."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adapted.bases import NEW, write_base
from adapted.edited_files import changed_keys
from bpe_files import unused
from cases.trained_rows import asked
from pyharness.bpe import BpeTokenizer, import_model
from pyharness.features.adaptation.bpe.extension import extend
from pyharness.features.adaptation.bpe.model_pieces import ModelPieces
from pyharness.features.training import trainers
from pyharness.features.training.trainers import TrainedTokenizer
from pyharness.types import InputError
from tokenizer_files import message


def train(
    base: Path | str, tokens: int = 20, texts: Iterable[str] = NEW, name: str = "continued-bpe", **options: Any
) -> TrainedTokenizer:
    kept = list(texts)
    return trainers.train(name, asked(name, texts=lambda: kept, base=str(base), tokens=tokens, **options))


def record(trained: TrainedTokenizer) -> dict[str, Any]:
    content = json.loads(trained.files["adaptation.json"])
    assert isinstance(content, dict)
    return content


def strings(trained: TrainedTokenizer, first: int) -> list[bytes]:
    assert trained.model is not None
    return [trained.model.vocabulary[token] for token in range(first, trained.model.id_limit)]


def test_continued_bpe_writes_what_is_learnt_into_the_file_of_its_base(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    trained = train(base)
    model = import_model(base)
    pieces = ModelPieces(model)
    pieces.add(NEW)
    expected = extend(model, pieces.pieces(), 20)
    assert next(iter(trained.files)) == "tokenizer.json"
    assert strings(trained, model.id_limit) == list(expected.tokens)
    old, new = (json.loads(data) for data in (base.read_bytes(), trained.files["tokenizer.json"]))
    assert {path.split(".")[0:2][-1] for path in changed_keys(old, new)} <= {"vocab", "merges"}
    assert (trained.vocab_size, trained.merges, trained.complete) == (model.id_limit + 20, 14 + 20, True)
    untouched = ["the cat sat on the mat"]  # no new rule touches it
    before, after = (
        BpeTokenizer(one).encode_batch(untouched).ids for one in (model, import_model(trained.files["tokenizer.json"]))
    )
    assert np.array_equal(before, after)


def test_what_was_done_is_said(tmp_path: Path) -> None:
    trained = train(write_base(tmp_path), tokens=20)
    said = record(trained)
    assert said["added"] == 20
    assert said["added_ids"] == [[273, 292]]
    assert said["unreachable"]["added"] == {"layer_1": 0, "layer_2": 0}
    assert sum(found["tokens"] for found in said["learnt"].values()) == 20
    assert said["documents"] == len(NEW)
    assert said["asked"]["tokens"] == 20
    assert trained.details["added"] == 20


def test_naive_extension_is_another_trainer(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    naive, continued = (record(train(base, name=name)) for name in ("naive-extension", "continued-bpe"))
    assert (naive["added"], naive["last_count"]) == (20, 0)  # its rules were never counted
    assert (continued["added"], continued["last_count"]) == (20, 5)
    with pytest.raises(InputError, match="'continued-bpe' has no option 'auxiliary_size'; trainers with it: naive"):
        train(base, auxiliary_size=300)


@pytest.mark.parametrize("name", ["continued-bpe", "naive-extension"])
def test_a_smaller_size_is_the_beginning_of_a_larger_one(tmp_path: Path, name: str) -> None:
    base = write_base(tmp_path)
    large = train(base, 30, name=name)
    for tokens in (1, 7, 30):
        fresh = train(base, tokens, name=name)
        taken = train(base, tokens, [], name=name, learnt=large.learnt)  # no text is read
        assert taken.files["tokenizer.json"] == fresh.files["tokenizer.json"]
        assert record(taken)["documents"] == len(NEW)
    with pytest.raises(InputError, match="no text"):
        train(base, 31, [], name=name, learnt=large.learnt)


def test_text_that_gives_no_more_ends_early_and_serves_any_size(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    ended = train(base, 100_000)
    assert not ended.complete
    assert any("stopped after" in note for note in ended.notes)
    again = train(base, 200_000, [], learnt=ended.learnt)
    assert again.files["tokenizer.json"] == ended.files["tokenizer.json"]


def test_ids_are_used_again_and_their_number_is_a_multiple(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    trained = train(base, 4, reuse=r"<\|reserved_\d\|>", multiple_of=8)
    said = record(trained)
    assert said["reused"] == {"271": "<|reserved_0|>", "272": "<|reserved_1|>"}
    assert said["added_ids"] == [[271, 274]]
    assert said["file"]["ids"] == 280
    content = json.loads(trained.files["tokenizer.json"])
    assert [token["content"] for token in content["added_tokens"]] == ["<|end|>"]
    with pytest.raises(InputError, match=r"--reuse .*id 272 of '<\|reserved_1\|>'"):
        train(base, 4, [*NEW, "a <|reserved_1|>"], reuse=r"<\|reserved_\d\|>")
    with pytest.raises(InputError, match=r"--reuse '<pad>' .*there are: "):
        train(base, 4, reuse="<pad>")
    content = json.loads(base.read_text(encoding="utf-8")) | {"normalizer": {"type": "Lowercase"}}
    content["added_tokens"] = [token | {"normalized": True} for token in content["added_tokens"]]
    base.write_text(json.dumps(content), encoding="utf-8")
    parts: dict[str, Any] = {"parts": lambda: [NEW, ["<|RESERVED_1|>"]], "balance": True}
    for texts, options in (([*NEW, "a <|RESERVED_1|>"], {}), ([], parts)):
        with pytest.raises(InputError, match=r"--reuse .*id 272 of '<\|reserved_1\|>'"):
            train(base, 4, texts, reuse=r"<\|reserved_\d\|>", **options)


def test_unused_pieces_that_lose_their_ids_are_named(tmp_path: Path) -> None:
    base = tmp_path / "tokenizer.model"
    base.write_bytes(unused("he") + message(1, message(1, b"ooo") + b"\x15\0\0\0\0\x18\x05"))
    trained = train(base, 2, ["well low we", "hello well"] * 3, reuse="ooo")
    assert record(trained)["reused"] == {"14": "ooo"}
    assert record(trained)["added_ids"][0] == [14, 15]


def test_naive_extension_may_add_what_nothing_makes(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    generator = random.Random(1)
    texts = ["".join(generator.choices("athemc ", k=200)) for _ in range(20)]
    naive, continued = (record(train(base, 300, texts, name)) for name in ("naive-extension", "continued-bpe"))
    assert sum(naive["unreachable"]["added"].values()) > 0 == sum(continued["unreachable"]["added"].values())


def test_a_base_that_discards_merges_at_random_keeps_to_it_and_is_noted(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    plain = train(base)
    content = json.loads(base.read_text(encoding="utf-8"))
    content["model"]["dropout"] = 0.9
    base.write_text(json.dumps(content), encoding="utf-8")
    trained = train(base)
    edited = json.loads(trained.files["tokenizer.json"])
    assert (edited["model"].pop("dropout"), strings(trained, 273)) == (0.9, strings(plain, 273))
    for note in (trained.notes[0], record(trained)["notes"][0]):
        assert re.match(rf"{base.name} .*\(dropout 0\.9\)", note)
    assert record(plain)["notes"] == []


def test_what_is_denied_is_not_learnt(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    assert any(b"ass" in string for string in strings(train(base), 273))
    assert not any(b"ass" in string for string in strings(train(base, deny="ass"), 273))


def test_rank_files_keep_their_kind_and_say_how_they_are_loaded(tmp_path: Path) -> None:
    base = write_base(tmp_path, "mine.tiktoken")
    trained = train(f"file:{base}?pattern=gpt2&special=<|end|>:285")
    assert next(iter(trained.files)) == "mine-adapted.tiktoken"
    assert dict(trained.loading) == {"pattern": "gpt2", "special": "<|end|>:285"}
    assert record(trained)["added_ids"] == [[286, 305]]
    filled = train(f"file:{base}?pattern=gpt2&special=<|end|>:285,<|pad|>:286", reuse=r"<\|pad\|>")
    assert record(filled)["added_ids"] == [[270, 284], [286, 290]]
    assert dict(filled.loading) == {"pattern": "gpt2", "special": "<|end|>:285"}
    with pytest.raises(InputError, match=r"mine\.tiktoken .*split.*pattern: .*o200k_base"):
        train(base)


def test_settings_beside_the_base_are_copied_and_other_forms_of_it_are_not(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    decoder = {"270": {"content": "<|end|>"}, "271": {"content": "<|reserved_0|>"}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"a": 1, "added_tokens_decoder": decoder}))
    (tmp_path / "chat_template.jinja").write_text("{{ text }}")
    (tmp_path / "merges.txt").write_text("t h")
    trained = train(base)
    assert trained.files["chat_template.jinja"] == b"{{ text }}"
    assert trained.files["tokenizer_config.json"] == (tmp_path / "tokenizer_config.json").read_bytes()
    assert "merges.txt" not in trained.files
    assert any("tokenizer.json: merges.txt" in note for note in trained.notes)
    reused = train(base, reuse=r"<\|reserved_0\|>").files["tokenizer_config.json"]
    assert json.loads(reused) == {"a": 1, "added_tokens_decoder": {"270": {"content": "<|end|>"}}}


def test_a_template_keeps_its_tokens_though_no_settings_list_them(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    (tmp_path / "chat_template.jinja").write_text("<|reserved_0|>{{ text }}")
    with pytest.raises(InputError, match=r"chat_template\.jinja: .*'<\|reserved_0\|>'"):
        train(base, reuse=r"<\|reserved_0\|>")
    (tmp_path / "chat_template.jinja").unlink()
    (tmp_path / "special_tokens_map.json").write_text('{"additional_special_tokens": ["<|end|>", "<|reserved_0|>"]}')
    files = train(base, reuse=r"<\|reserved_0\|>").files
    assert files["special_tokens_map.json"] == b'{"additional_special_tokens": ["<|end|>"]}'


def test_what_occurs_once_is_not_learnt_unless_asked(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    texts = [*NEW, "zyx"]
    assert not any(b"zy" in string for string in strings(train(base, 1000, texts), 273))
    assert any(b"zy" in string for string in strings(train(base, 1000, texts, min_frequency=1), 273))
