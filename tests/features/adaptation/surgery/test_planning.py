"""Plans of rows: which token is which, what the others are made of, and where padding goes."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checkpoints.made import PADDED, applied, extended, nameless, of_json, of_rules, weights
from layout.thoroughness import examples
from oracles import bpe
from oracles.vocabulary_transfer import transferred
from pyharness.bpe import BpeModel, import_model
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.features.adaptation.surgery.initialisation import PlanRequest, plan_of_map, plan_of_tokenizers
from pyharness.features.adaptation.surgery.plan import EmbeddingPlan, Operation
from pyharness.features.adaptation.surgery.rows import PlannedRows, StoredMatrix
from pyharness.features.language_models.folder import ModelFolder
from pyharness.features.language_models.weights_file import WeightsFile
from pyharness.types import InputError, TokenKind
from tokenizer_files import byte_level, message, sentencepiece_data

VECTORS = json.loads((Path(__file__).parents[3] / "support" / "vectors.json").read_text(encoding="utf-8"))["vectors"]
DIGEST = "0" * 64


def asked(rows: int, **options: Any) -> PlanRequest:
    return PlanRequest(rows=rows, checkpoint=DIGEST, **options)


def steps(plan: EmbeddingPlan) -> list[tuple[str, list[int]]]:
    return [(Operation(plan.operations[row]).name, plan.of_row(row).tolist()) for row in range(len(plan))]


def random_rules(generator: random.Random, letters: bytes, count: int) -> tuple[dict[int, bytes], list[bpe.Rule]]:
    vocabulary, rules = dict(enumerate(bpe.BYTES)), []
    for _ in range(count):
        left, right = generator.choices([*letters, *range(256, len(vocabulary))], k=2)
        data = vocabulary[left] + vocabulary[right]
        if data not in vocabulary.values():
            rules.append((left, right, len(vocabulary)))
            vocabulary[len(vocabulary)] = data
    return vocabulary, rules


def test_rows_are_the_oracles_in_random_cases(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    for seed in range(examples(500)):
        generator = random.Random(seed)
        old, rules = random_rules(generator, b"abc\xe4", generator.randint(0, 15))
        new, others = random_rules(generator, b"abd\xe4", generator.randint(0, 15))
        matrix = np.random.default_rng(seed).normal(size=(len(old) + generator.randint(0, 9), 3)).astype(np.float32)
        plan = plan_of_tokenizers(of_rules(old, rules), of_rules(new, others), asked(len(matrix)))
        path.write_bytes(weights({"e": matrix}))
        with path.open("rb") as handle:
            rows = PlannedRows(plan, StoredMatrix(handle.fileno(), WeightsFile.read(path).tensors["e"]), 0)
            found = np.frombuffer(b"".join(rows.blocks()), np.float32).reshape(-1, 3)
        expected = transferred(matrix.tolist(), old, rules, new)
        np.testing.assert_array_equal(found[: len(new)], np.array([expected[t] for t in range(len(new))], np.float32))


@pytest.mark.parametrize("case", VECTORS["fvt"], ids=lambda case: case["name"])
def test_vectors(case: dict[str, Any]) -> None:
    given = case["input"]["old"]
    words = {word.encode(): count for word, count in given["words"].items()}
    old, rules = bpe.train(words, given["vocab"])
    new = dict(old)
    for text in case["input"].get("new_tokens", []):
        new[len(new)] = text.encode()
    plan = plan_of_tokenizers(of_rules(old, rules), of_rules(new, rules), asked(len(old)))
    matrix = [[float(token), 1.0] for token in range(len(old))]
    token = max(new)
    ids = plan.of_row(token).tolist()
    mean = [sum(column) / len(ids) for column in zip(*(matrix[source] for source in ids), strict=True)]
    assert [mean] == list(case["expected"].values())


def test_new_ids_fall_on_padding_first_and_the_rest_of_it_stays() -> None:
    plan = plan_of_tokenizers(
        of_json(byte_level()), of_json(extended(("hello", "Ġ"), ("Ġw", "o"))), asked(PADDED, multiple_of=64)
    )
    assert steps(plan)[:263] == [("COPY", [token]) for token in range(263)]
    assert steps(plan)[263:265] == [("MEAN", [259, 32]), ("MEAN", [260, 111])]
    assert steps(plan)[265:272] == [("KEPT", [row]) for row in range(265, 272)]
    assert steps(plan)[272:] == [("AVERAGE", [])] * 48
    assert plan.tokens.sum() == 263


def test_more_ids_than_rows() -> None:
    plan = plan_of_tokenizers(of_json(byte_level()), of_json(extended(("hello", "Ġ"), ("Ġw", "o"))), asked(264))
    assert len(plan) == 265


def test_baselines() -> None:
    old, new = of_json(byte_level()), of_json(extended(("hello", "Ġ")))
    for method, operation in (("mean", "AVERAGE"), ("random", "RANDOM")):
        assert steps(plan_of_tokenizers(old, new, asked(263, method=method)))[263] == (operation, [])


def test_a_named_row() -> None:
    old, new = of_json(byte_level()), of_json(extended(("hello", "Ġ")))
    plan = plan_of_tokenizers(old, new, asked(263, named={263: 261, 5: 6}))
    assert steps(plan)[263] == ("ROW", [261])
    assert steps(plan)[5] == ("ROW", [6, 5])
    assert plan.ids.new.tolist() == [
        *range(263)
    ]  # a row that is lent is no token that has moved, nor is one that gets it
    assert plan.added == [263]
    with pytest.raises(InputError, match=r"id 264 .*\brow of 261\b"):
        plan_of_tokenizers(old, new, asked(263, named={264: 261}))


def test_a_new_special_token_is_the_mean_of_what_its_text_is() -> None:
    content = extended()
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    content["model"]["vocab"]["<|hello|>"] = 263
    content["added_tokens"].append({"id": 263, "content": "<|hello|>", "special": True, **flags})
    plan = plan_of_tokenizers(of_json(byte_level()), of_json(content), asked(PADDED))
    assert steps(plan)[263] == ("MEAN", [*b"<|", 259, *b"|>"])


def test_ids_that_move_are_found_by_string_and_kind() -> None:
    content = byte_level()
    old = of_json(content)
    vocab = content["model"]["vocab"]
    del vocab["ll"], vocab["llo"], vocab["hello"]
    content["model"]["merges"] = [merge for merge in content["model"]["merges"] if "l" not in merge]
    content["model"]["vocab"] = {token: number for number, token in enumerate(vocab)}
    for number, token in enumerate(content["added_tokens"]):
        token["id"] = len(vocab) + number
    new = of_json(content)
    plan = plan_of_tokenizers(old, new, asked(PADDED))
    assert new.id_limit == 260
    assert [old.vocabulary[plan.of_row(token)[0]] for token in range(260)] == [new.vocabulary[t] for t in range(260)]
    assert steps(plan)[258:260] == [("COPY", [261]), ("COPY", [262])]
    assert steps(plan)[260:] == [("KEPT", [row]) for row in range(263, 272)]  # as much padding as before


def test_gaps_keep_their_rows_and_are_no_tokens() -> None:
    vocabulary = {**dict(enumerate(bpe.BYTES)), 258: b"ab"}
    old = of_rules(vocabulary, [(97, 98, 258)])
    plan = plan_of_tokenizers(old, of_rules({**vocabulary, 260: b"abc"}, [(97, 98, 258), (258, 99, 260)]), asked(260))
    assert steps(plan)[256:] == [
        ("KEPT", [256]), ("KEPT", [257]), ("COPY", [258]), ("KEPT", [259]), ("MEAN", [258, 99]),
    ]  # fmt: skip
    assert plan.old.gaps == (256, 257)
    assert plan.tokens.sum() == 257


def sentencepiece(*more: str) -> BpeModel:
    data = sentencepiece_data(2, byte_fallback=True)
    for piece in more:
        value = np.float32(-99).tobytes()
        data += message(1, message(1, piece.encode()) + b"\x15" + value + bytes([0x18, 1]))
    return import_model(data)


def test_characters_bytes_and_spaces_of_sentencepiece() -> None:
    old = sentencepiece()
    ids = {old.vocabulary[t]: t for t in range(old.id_limit) if old.kind(t) is TokenKind.NORMAL}
    new = sentencepiece("▁hell", "é", "éo")
    plan = plan_of_tokenizers(old, new, asked(old.id_limit))
    assert steps(plan)[old.id_limit :] == [
        ("MEAN", [ids[b" "], ids[b"hell"]]),
        ("MEAN", [old.fallback[byte] for byte in "é".encode()]),  # a character that the old alphabet lacks
        ("MEAN", [*(old.fallback[byte] for byte in "é".encode()), ids[b"o"]]),
    ]


def test_tokenizers_of_different_sorts() -> None:
    """What a token adds to a text is written in the other's symbols."""
    characters, in_bytes = sentencepiece("▁hell"), of_json(byte_level())
    plan = plan_of_tokenizers(in_bytes, characters, asked(263))
    ids = {characters.vocabulary[t]: t for t in range(characters.id_limit)}
    assert steps(plan)[ids[b" hell"]] == ("MEAN", [32, 258 - 2, 257])
    assert steps(plan)[ids[b" w"]] == ("COPY", [260])
    assert characters.id_limit < 300
    in_bytes = of_json(extended(("Ġ", "h")))
    back = plan_of_tokenizers(characters, in_bytes, asked(characters.id_limit))
    assert steps(back)[263] == ("MEAN", [ids[b" "], ids[b"h"]])
    assert steps(back)[259] == ("MEAN", [ids[b"hell"], ids[b"o"]])
    assert steps(back)[0xE4] == ("MEAN", [characters.fallback[0xE4]])  # no text


def test_a_token_that_has_nothing_of_the_old_gets_the_average() -> None:
    old = import_model(sentencepiece_data(2, byte_fallback=False))
    assert old.unknown == 0
    plan = plan_of_tokenizers(old, of_rules(dict(enumerate(bpe.BYTES)), []), asked(old.id_limit))
    assert steps(plan)[0xE4] == ("MEAN", [0])  # the unknown token
    bare = of_rules({**dict(enumerate(bpe.BYTES)), 256: b""}, [])
    assert steps(plan_of_tokenizers(of_rules(dict(enumerate(bpe.BYTES)), []), bare, asked(256)))[256] == ("AVERAGE", [])


def test_gaps_between_ids_that_have_moved_get_the_average() -> None:
    old = of_rules({**dict(enumerate(bpe.BYTES)), 256: b"ab", 257: b"cd"}, [(97, 98, 256), (99, 100, 257)])
    plan = plan_of_tokenizers(old, of_rules({**dict(enumerate(bpe.BYTES)), 258: b"cd"}, [(99, 100, 258)]), asked(258))
    assert steps(plan)[256:] == [("AVERAGE", []), ("AVERAGE", []), ("COPY", [257])]


def test_an_added_token_is_known_by_its_content_whatever_its_flags() -> None:
    content = byte_level()
    old = of_json(content)
    for token in content["added_tokens"]:
        token["special"] = not token["special"]
    assert steps(plan_of_tokenizers(old, of_json(content), asked(263)))[261:] == [("COPY", [261]), ("COPY", [262])]


def test_a_row_that_is_copied_twice_is_where_it_was() -> None:
    alone = of_rules({**dict(enumerate(bpe.BYTES)), 257: b"ab"}, [(97, 98, 257)])
    twice = of_rules({**dict(enumerate(bpe.BYTES)), 256: b"ab", 257: b"ab"}, [(97, 98, 257)])
    plan = plan_of_tokenizers(alone, twice, asked(258))
    assert steps(plan)[256:] == [("COPY", [257]), ("COPY", [257])]
    assert plan.ids.new[255:].tolist() == [255, -1, 257]


def test_maps_of_ids() -> None:
    ids = IdMap(np.array([2, -1, 0, -1, 3]), 5)
    plan = plan_of_map(ids, asked(7, method="mean"))
    assert steps(plan) == [
        ("COPY", [2]), ("AVERAGE", []), ("COPY", [0]), ("COPY", [4]), ("AVERAGE", []), ("KEPT", [5]), ("KEPT", [6]),
    ]  # fmt: skip
    assert plan.ids.new.tolist() == [2, -1, 0, -1, 3, 5, 6]
    assert plan.added == [1, 4]


@pytest.mark.parametrize(
    ("new", "size", "options", "message"),
    [
        ([0, 0], 2, {}, r"two tokens .*new id 0\b"),
        ([0, 2], 2, {}, r"names 2,.*\b2 ids"),
        ([0, 2], 3, {}, "1 new ids? .*--method mean"),
        ([0, 1, 2, 3], 4, {}, r"\b3 rows, .*old tokenizer.*\b4 ids"),
        ([0, 1], 2, {"multiple_of": 0}, "--multiple-of 0 .* 1 to "),
    ],
)
def test_maps_that_cannot_be(new: list[int], size: int, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan_of_map(IdMap(np.array(new), size), asked(3, **options))


def test_of_equal_tokens_the_one_with_the_same_id_is_meant() -> None:
    vocabulary = {**dict(enumerate(bpe.BYTES)), 256: b"ab", 257: b"ab"}
    model = of_rules(vocabulary, [(97, 98, 256)])
    assert steps(plan_of_tokenizers(model, model, asked(258)))[256:] == [("COPY", [256]), ("COPY", [257])]


def test_the_number_of_rows_is_never_below_that_of_ids(tmp_path: Path) -> None:
    folder = nameless(tmp_path / "m", {"e": np.zeros((4, 2), np.float32)})
    digest = ModelFolder.read("m", folder).digest()
    plan = plan_of_map(IdMap(np.array([1, -1, 0, 2]), 3), PlanRequest(rows=4, checkpoint=digest, multiple_of=2))
    assert len(plan) == 4
    assert WeightsFile.read(applied(folder, plan, tmp_path / "o", "e") / "model.safetensors").tensors["e"].shape == (
        4,
        2,
    )


def test_scaffold_models_are_refused() -> None:
    from bpe_models import trained
    from pyharness.bpe import model_of_training

    model = model_of_training(trained("gpt2", scaffold=True), "gpt2")
    with pytest.raises(InputError, match=r"Scaffold-BPE .*map of ids"):
        plan_of_tokenizers(model, of_rules(dict(enumerate(bpe.BYTES)), []), asked(model.id_limit))
