"""``pyharness diff`` on small files: planted changes of eight kinds are named, with texts that the library confirms."""

from __future__ import annotations

import itertools
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audited import plants
from audited.checks import check_plant
from cases.command_line import call, refused
from layout.thoroughness import examples
from pyharness.features.audit.differences import comparison, sides
from pyharness.features.audit.differences.changes import MOST_LISTED, changes, id_map, keys_of, out_of_order
from pyharness.features.audit.differences.comparison import TokenizerComparison, compare
from pyharness.features.audit.differences.definitions import Definition, alternatives, definition, expressions
from pyharness.features.audit.differences.witnesses import Appearing, Cause, cause_of, general_texts, shrink
from pyharness.types import Unsupported
from pyharness.vocabularies.patterns.split_patterns import GPT2_RELEASE
from tokenizer_files import byte_level, rank_data, sentencepiece_data, write

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def small() -> dict[str, Any]:
    """A byte-level file with rules that compete, a written-out pattern, NFC, and added tokens of both sorts."""
    content = byte_level()
    vocab = dict(content["model"]["vocab"])
    merges = [("h", "e"), ("l", "l"), ("ll", "o"), ("he", "llo"), ("Ġ", "w"), ("t", "h"), ("e", "n"), ("a", "t"),
              ("th", "en"), ("at", "en"), ("o", "w"), ("i", "n"), ("in", "g"), ("1", "2"), ("12", "3")]  # fmt: skip
    for left, right in merges:
        vocab.setdefault(left + right, len(vocab))
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": True}
    added = [("<end>", True), ("<École>", False), ("<k>", False)]
    return {
        **content,
        "padding": None,
        "truncation": None,
        "post_processor": None,
        "normalizer": {"type": "NFC"},
        "added_tokens": [
            {"id": len(vocab) + place, "content": text, "special": special, **flags}
            for place, (text, special) in enumerate(added)
        ],
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                plants.split(GPT2_RELEASE),
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
            ],
        },
        "model": {"type": "BPE", "vocab": vocab, "merges": [" ".join(merge) for merge in merges]},
    }


def compared(tmp_path: Path, one: Any, other: Any, corpora: tuple[str, ...] = ()) -> TokenizerComparison:
    first, second = (write(tmp_path, name, content) for name, content in (("one.json", one), ("other.json", other)))
    return compare(*sides.pair(first, second), corpora)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", plants.KINDS)
def test_a_planted_change_is_named_and_shown(kind: str, seed: int, tmp_path: Path) -> None:
    content = small()
    if kind in ("token_added", "token_gone"):  # with added tokens after it, the vocabulary cannot grow or shrink
        content["added_tokens"] = [] if seed % 2 else content["added_tokens"]
    plant = plants.KINDS[kind](content, seed)
    assert plant is not None
    check_plant(compared(tmp_path, plant.before, plant.after), plant)


@pytest.mark.parametrize("kind", plants.KINDS)
def test_stages_that_cannot_differ_are_passed_over(kind: str, tmp_path: Path) -> None:
    plant = plants.KINDS[kind](small(), 0)
    assert plant is not None
    files = (write(tmp_path, name, content) for name, content in (("1.json", plant.before), ("2.json", plant.after)))
    one, other = sides.pair(*files)
    assert one.equal_stages
    cases = [(text, reading) for text in itertools.islice(general_texts(), 0, None, 60) for reading in one.readings]
    causes = [cause_of(one, other, *case) for case in cases]
    one.equal_stages = other.equal_stages = frozenset()
    assert [cause_of(one, other, *case) for case in cases] == causes


@given(st.lists(st.binary(max_size=4)), st.binary(min_size=1, max_size=3))
@settings(max_examples=examples(200))
def test_tokens_with_some_bytes_are_found(strings: list[bytes], part: bytes) -> None:
    keys = {(string, 0): number for number, string in enumerate(sorted(set(strings)))}
    side = sides.Side("", "", None, None, Definition("", "bytes", keys, keys))  # type: ignore[arg-type]
    assert [*Appearing(side, side).holding(part)] == [string for string, _ in keys if part in string]


def test_a_changed_alternative_is_named(tmp_path: Path) -> None:
    one, other = small(), small()
    (numbers,) = (part for part in alternatives(GPT2_RELEASE) if r"\p{N}" in part and r"\p{L}" not in part)
    other["pre_tokenizer"]["pretokenizers"][0] = plants.split(GPT2_RELEASE.replace(numbers, r"\p{N}{1,2}"))
    result = compared(tmp_path, one, other)
    (change,) = result.changes
    assert (change.kind, change.before, change.after) == ("split pattern", [numbers], [r"\p{N}{1,2}"])
    assert [(witness.cause.stage, witness.text) for witness in result.witnesses] == [("split pattern", "123")]


def test_a_space_that_only_one_split_pattern_adds_is_its_cause(tmp_path: Path) -> None:
    one, other = small(), small()
    other["pre_tokenizer"]["pretokenizers"][1]["add_prefix_space"] = True
    result = compared(tmp_path, one, other)
    assert {witness.cause.stage for witness in result.witnesses} == {"split pattern"}


def test_what_follows_an_added_token_is_cut_by_itself(tmp_path: Path) -> None:
    one, other = small(), small()
    for content in (one, other):
        content["added_tokens"][2]["content"] = "  "
        del content["pre_tokenizer"]["pretokenizers"][0]
    other["pre_tokenizer"]["pretokenizers"][0]["add_prefix_space"] = True
    first, second = sides.pair(write(tmp_path, "one.json", one), write(tmp_path, "other.json", other))
    assert cause_of(first, second, "  w", "plain") == Cause("split pattern", "plain")


def test_cuts_are_those_of_the_normalised_text(tmp_path: Path) -> None:
    one, other = small(), small()
    other["pre_tokenizer"]["pretokenizers"][0] = plants.split(GPT2_RELEASE.replace(r"\p{L}+", "[\\p{L}\u0301]+"))
    vocab = other["model"]["vocab"]
    vocab["Ã"], vocab["Ġ"] = vocab["Ġ"], vocab["Ã"]  # the first byte of é
    first, second = sides.pair(write(tmp_path, "one.json", one), write(tmp_path, "other.json", other))
    assert cause_of(first, second, "e\u0301", "plain") == Cause("id moved", "plain")  # NFC: no mark is left


def test_a_pattern_that_cuts_otherwise_only_before_some_words_is_shown(tmp_path: Path) -> None:
    one, other = small(), small()
    pattern = GPT2_RELEASE.replace(r" ?\p{L}+", r"'?\p{L}+")
    one["pre_tokenizer"]["pretokenizers"][0] = plants.split(pattern)
    other["pre_tokenizer"]["pretokenizers"][0] = plants.split(pattern.replace("'ll|", ""))
    result = compared(tmp_path, one, other)
    assert [(one.cause.stage, one.text) for one in result.witnesses] == [("split pattern", "'llo")]


@pytest.mark.parametrize("letter", ["\u1e9e", "\ua66e"])
def test_a_letter_that_a_changed_stage_names_is_tried(letter: str, tmp_path: Path) -> None:
    one, other = small(), small()
    other["normalizer"] = {"type": "Replace", "pattern": {"String": letter}, "content": "x"}
    one["normalizer"] = None
    (witness,) = compared(tmp_path, one, other).witnesses
    assert (witness.cause.stage, witness.text) == ("normaliser", letter)


def test_a_score_shows_where_another_token_wants_a_part_of_its_own(tmp_path: Path) -> None:
    scores = {"<unk>": 0.0, "p": -5.0, "q": -5.0, "r": -5.0, "pq": -2.0, "qr": -1.0}
    contents: list[dict[str, Any]] = [
        {"added_tokens": [], "normalizer": None, "pre_tokenizer": None,
         "model": {"type": "Unigram", "unk_id": 0, "vocab": [[*piece] for piece in {**scores, "pq": score}.items()]}}
        for score in (-2.0, -0.5)
    ]  # fmt: skip
    (witness,) = compared(tmp_path, contents[0], contents[1]).witnesses
    assert (witness.cause.stage, witness.text) == ("rules", "pqr")


def test_several_causes_have_a_witness_each(tmp_path: Path) -> None:
    one, other = small(), small()
    other["normalizer"] = None
    other["added_tokens"][2]["lstrip"] = True
    vocab = other["model"]["vocab"]
    vocab["th"], vocab["ing"] = vocab["ing"], vocab["th"]
    result = compared(tmp_path, one, other, ("sample:unicode",))
    causes = {(witness.cause.stage, witness.cause.name): witness.text for witness in result.witnesses}
    assert causes.keys() >= {("normaliser", ""), ("added token", "<k>"), ("id moved", "")}
    assert causes["id moved", ""] in ("th", "ing")
    assert len(causes["normaliser", ""]) == 2
    assert not result.equal


@pytest.mark.parametrize("number", range(4))
def test_the_same_file_written_otherwise_is_equal(number: int, tmp_path: Path) -> None:
    content = small()
    path = tmp_path / "other.json"
    path.write_text([*plants.serialisations(content)][number], encoding="utf-8")
    done = call(
        "diff", write(tmp_path, "one.json", content), f"file:{path}", "-c", "sample:unicode", "--format", "json"
    )
    assert done.returncode == 0
    said = json.loads(done.stdout)
    assert said["same_definition"]
    assert (said["changes"], said["witnesses"], said["equal"]) == ([], [], True)


def test_left_out_defaults_and_nested_sequences_are_no_change(tmp_path: Path) -> None:
    one, other = small(), small()
    other["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}]}
    other["model"] |= {"dropout": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    other["added_tokens"] = [dict(reversed(token.items())) for token in other["added_tokens"]]
    assert compared(tmp_path, one, other).same_definition


def test_a_template_is_a_reading_of_its_own(tmp_path: Path) -> None:
    one, other = small(), small()
    token = {"id": one["added_tokens"][0]["id"], "content": "<end>"}
    other["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<end>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<end>": {"id": "<end>", "ids": [token["id"]], "tokens": ["<end>"]}},
    }
    result = compared(tmp_path, one, other)
    (witness,) = result.witnesses
    assert (witness.cause, witness.text) == (Cause("post-processor", "template"), "")
    assert witness.second == ((token["id"], "<end>"),)


# ---------------------------------------------------------------------------------------------- other kinds of files


def test_rank_files_with_moved_ranks_and_another_pattern(tmp_path: Path) -> None:
    one = write(tmp_path, "a.tiktoken", rank_data((b"he", b"en", b"12", b"123", b"1234"))) + "?pattern=gpt2"
    ranks = rank_data((b"en", b"he", b"12", b"123", b"1234"))
    other = write(tmp_path, "b.tiktoken", ranks) + "?pattern=cl100k_base&special=<e>:300"
    result = compare(*sides.pair(one, other))
    kinds = {change.kind for change in result.changes}
    assert kinds == {"id moved", "split pattern", "added token", "token added"}
    stages = {witness.cause.stage for witness in result.witnesses}
    assert stages >= {"id moved", "split pattern", "added token"}
    assert result.readings == ("plain", "control")


def test_patterns_that_another_engine_reads_otherwise_are_explained_as_far_as_it_can(tmp_path: Path) -> None:
    ranks = rank_data((b"ab", b"abc", "中".encode()[:2], "中".encode(), "a中".encode()))
    specs = [write(tmp_path, "a.tiktoken", ranks) + f"?pattern={name}" for name in ("kimi_k2", "o200k_base")]
    result = compare(*sides.pair(*specs))
    assert {change.kind for change in result.changes} == {"split pattern"}
    assert {(witness.cause.stage, witness.text) for witness in result.witnesses} == {("split pattern", "a中")}
    assert sides._matches("(", "a") is None
    with suppress(TimeoutError):
        assert [*(sides._matches("(a+)+$", "a" * 40 + "b") or ())] == []


def test_a_longer_run_of_digits_is_a_witness(tmp_path: Path) -> None:
    content = {**small(), "added_tokens": []}
    model = content["model"]
    model["vocab"]["11"] = len(model["vocab"])
    model["merges"].append("1 1")
    level = content["pre_tokenizer"]["pretokenizers"][1]
    one, other = (
        {**content, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [plants.split(pattern), level]}}
        for pattern in (r"\p{N}{1,3}", r"\p{N}{1,4}")
    )
    result = compared(tmp_path, one, other)
    assert [(shown.cause.stage, shown.text) for shown in result.witnesses] == [("split pattern", "1111")]


def test_texts_that_differ_are_sought_all_over_until_enough_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = rank_data((b"11", b"111", b"1111", b"\n\n", b" a"))
    specs = [write(tmp_path, "a.tiktoken", ranks) + f"?pattern={name}" for name in ("cl100k_base", "r50k_base")]
    every = compare(*sides.pair(*specs))
    monkeypatch.setattr(comparison, "_ENOUGH", 5)
    some = compare(*sides.pair(*specs))
    assert [witness.cause for witness in some.witnesses] == [witness.cause for witness in every.witnesses]
    assert 5 <= some.tried < every.tried


def test_a_sentencepiece_model_against_another(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    one = write(tmp_path, "a.model", sentencepiece_data(2, byte_fallback=True))
    other = write(tmp_path, "b.model", sentencepiece_data(2, byte_fallback=False))
    result = compare(*sides.pair(one, other))
    assert {change.kind for change in result.changes} >= {"token gone", "model option"}
    assert {witness.cause.stage for witness in result.witnesses} >= {"token gone"}


def test_a_rank_file_and_a_json_of_the_same_tokens_share_them(tmp_path: Path) -> None:
    content = small()
    content["added_tokens"] = []
    one, two = write(tmp_path, "a.json", content), write(tmp_path, "b.tiktoken", rank_data()) + "?pattern=gpt2"
    first, second = sides.pair(one, two)
    mine, theirs = keys_of(first.definition, second.definition)
    assert id_map(first.definition, second.definition).overlap.both == len(mine.keys() & theirs.keys()) > 256


def test_another_library_on_the_same_file_is_compared_by_ids_alone(tmp_path: Path) -> None:
    spec = write(tmp_path, "a.tiktoken", rank_data()) + "?pattern=gpt2"
    result = compare(*sides.pair(spec, f"native+{spec}"), ("sample:prose",))
    assert (result.equal, result.same_definition, list(result.changes)) == (True, False, [])


# ---------------------------------------------------------------------------------------------- parts


@given(st.permutations(range(9)))
@settings(max_examples=examples(200))
def test_the_fewest_items_are_out_of_order(order: list[int]) -> None:
    places = {item: place for place, item in enumerate(order)}
    moved = out_of_order(sorted(order), places)
    kept = [item for item in sorted(order) if item not in moved]
    assert [places[item] for item in kept] == sorted(places[item] for item in kept)
    longest = [1] * len(order)  # the oracle: of an increasing subsequence that ends here
    for at in range(len(order)):
        longest[at] += max((longest[before] for before in range(at) if places[before] < places[at]), default=0)
    assert len(kept) == max(longest)


@given(st.text(alphabet="abx \n", max_size=60), st.sampled_from(["x", "ab", "a\nb", "xx"]))
@settings(max_examples=examples(200))
def test_a_shrunk_text_loses_no_more_characters(text: str, needed: str) -> None:
    def holds(texts: Any) -> list[bool]:
        return [all(letter in one for letter in needed) for one in texts]

    if holds([text])[0]:
        assert sorted(shrink(text, holds)) == sorted(set(needed))


def test_maps_give_each_old_id_its_new_one(tmp_path: Path) -> None:
    one, other = small(), small()
    other["added_tokens"].pop()
    vocab = other["model"]["vocab"]
    vocab["th"], vocab["ing"] = vocab["ing"], vocab["th"]
    first, second = write(tmp_path, "a.json", one), write(tmp_path, "b.json", other)
    out = tmp_path / "map.json"
    assert call("diff", first, second, "--map", str(out), "-c", "sample:prose").returncode == 1
    new = json.loads(out.read_text(encoding="utf-8"))
    ids = one["model"]["vocab"]
    expected = list(range(len(ids) + 3))
    expected[ids["th"]], expected[ids["ing"]], expected[-1] = ids["ing"], ids["th"], -1
    assert new == expected
    for taken in (out, tmp_path):
        said = refused("diff", first, second, "--map", str(taken))
        assert "--map" in said
        assert "--output" not in said
    mapped = id_map(*(definition(sides.load(spec).home) for spec in (first, second)))
    assert (mapped.moved, mapped.gone, mapped.size) == (2, 1, len(ids) + 2)


@pytest.mark.parametrize(
    ("expression", "parts"),
    [("a|b", ["a", "b"]), (r"(a|b)|[|\]|]|\|", ["(a|b)", r"[|\]|]", r"\|"]), ("", [""]), ("a||b", ["a", "", "b"])],
)
def test_alternatives_are_cut_at_outer_bars(expression: str, parts: list[str]) -> None:
    assert alternatives(expression) == parts
    assert "|".join(alternatives(expression)) == expression
    assert expressions([{"type": "Split", "pattern": {"Regex": expression}}]) == [expression]


def test_changes_of_a_file_with_itself_are_none(tmp_path: Path) -> None:
    one = definition(sides.load(write(tmp_path, "a.json", small())).home)
    assert changes(one, one).listed == []
    assert np.array_equal(id_map(one, one).new, np.arange(len(one.tokens)))


def test_all_changes_of_a_vocabulary_are_counted_and_some_are_listed(tmp_path: Path) -> None:
    strings = tuple(f"word{number}".encode() for number in range(MOST_LISTED + 100))
    one, other = (definition(sides.load(write(tmp_path, name, rank_data(some)) + "?pattern=gpt2").home)
                  for name, some in (("a.tiktoken", strings), ("b.tiktoken", strings[::-1])))  # fmt: skip
    found = changes(one, other)
    assert found.counts == {"id moved": len(strings)}
    assert tuple(change.token for change in found.listed) == strings[:MOST_LISTED]
    assert (found.listed[0].before, found.listed[0].after) == (256, 256 + len(strings) - 1)


# ---------------------------------------------------------------------------------------------- the command


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_what_is_written_names_change_and_witness(form: str, tmp_path: Path) -> None:
    one, other = small(), small()
    other["normalizer"] = None
    other["added_tokens"][1]["content"] = "<|@team|>"
    first, second = write(tmp_path, "a.json", one), write(tmp_path, "b.json", other)
    done = call("diff", first, second, "--format", form, "-c", "sample:unicode", "-c", "sample:parallel")
    assert done.returncode == 1
    assert "normaliser" in done.stdout
    assert "eng_Latn" in done.stdout
    if form == "markdown":
        assert "`" in next(line for line in done.stdout.splitlines() if "@team" in line)  # it notifies nobody
    if form == "json":
        said = json.loads(done.stdout)
        assert said["counts"]["normaliser"] == 1
        assert sum(text["differing"] for text in said["texts"]) > 0


@pytest.mark.parametrize(
    "pair", [("units:word", "raw_bytes"), ("raw_bytes", "nonsense"), ("./absent.json", "deepseek")]
)
def test_what_cannot_be_compared_is_one_line(pair: tuple[str, str]) -> None:
    assert refused("diff", *pair).count("\n") == 1


def test_a_row_without_a_vocabulary_is_refused() -> None:
    with pytest.raises(Unsupported):
        sides.load("patches:space")
