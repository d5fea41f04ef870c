"""Arguments that no text gives a token: splitting, added tokens, merges, and no short text refutes one."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cases.reachability_files import GPT2, added, byte_level, examined, regex_split, spelled, verdict_of
from pyharness import tokenizers
from pyharness.metrics.reachability import UNREACHABLE, Verdict
from pyharness.vocabularies.patterns.split_patterns import O200K, SPLIT_PATTERNS

CL100K_ONIGURUMA = SPLIT_PATTERNS["cl100k"].expressions[0].replace("{1,3}+", "{1,3}")


@pytest.mark.parametrize("word", ["\n//", "\n/*"])
def test_living_tokens_that_every_tried_context_cuts_are_not_called_dead(tmp_path: Path, word: str) -> None:
    """What o200k has: only behind a sign does a line feed stand in one piece with slashes."""
    file = byte_level([word], pre_tokenizer=regex_split(O200K))
    verdict, found = verdict_of(tmp_path, file, spelled(word))
    if word == "\n/*":  # a star ends what comes behind signs
        assert (verdict, found) == (Verdict.PRETOKENIZER_UNREACHABLE, "always_cut")
    else:
        assert verdict == Verdict.CONTEXT_ONLY


@pytest.mark.parametrize(
    ("expression", "word", "dead"),
    [
        (None, "1a", True),
        (None, "the.", True),  # and there is no normaliser to blame
        (None, "a'", True),
        (None, "'l", False),  # in 'll
        (None, "'lx", True),
        (CL100K_ONIGURUMA, "'st", True),  # some alternative matches it, and never comes first
        (CL100K_ONIGURUMA, "'qt", False),
        (CL100K_ONIGURUMA, "1234", True),
        (CL100K_ONIGURUMA, "\n//", True),
        (O200K, "n't", False),
        (O200K, "aB", True),
        (r"\p{N}{1,3}+|\P{N}", "1234", False),  # to Oniguruma this is any number of digits
        (r"\p{L}+(?<=a)|.", "1a", None),  # looks back: nothing is known
    ],
)
def test_always_cut(tmp_path: Path, expression: str | None, word: str, dead: bool | None) -> None:
    stage = GPT2 if expression is None else regex_split(expression)
    verdict, kind = verdict_of(tmp_path, byte_level([word], pre_tokenizer=stage), spelled(word))
    if dead:
        assert (verdict, kind) == (Verdict.PRETOKENIZER_UNREACHABLE, "always_cut")
    else:
        expected = (Verdict.NO_WITNESS_FOUND,) if dead is None else (Verdict.REACHABLE, Verdict.CONTEXT_ONLY)
        assert verdict in expected


def test_what_cannot_be_examined_is_named(tmp_path: Path) -> None:
    test, _ = examined(tmp_path, byte_level(["1a"], pre_tokenizer=regex_split(r"\p{L}+(?<=a)|.")))
    assert test.arguments == {}
    assert test.unexaminable == [r"the split pattern '\\p{L}+(?<=a)|.': the group (?<="]


ZZ = ["z z", "q zz"]


def test_an_added_token_inside(tmp_path: Path) -> None:
    file = byte_level(["zz", "qzz"], merges=ZZ, added_tokens=[added("zz", 256)])
    assert verdict_of(tmp_path, file, "qzz") == (Verdict.SHADOWED_BY_ADDED, "added_token_inside")


@pytest.mark.parametrize("flag", ["single_word", "special"])
def test_an_added_token_that_is_not_always_taken_proves_nothing(tmp_path: Path, flag: str) -> None:
    file = byte_level(["zz", "qzz"], merges=ZZ, added_tokens=[added("zz", 256, **{flag: True})])
    assert verdict_of(tmp_path, file, "qzz") == (Verdict.REACHABLE, "")


def test_a_special_token_over_the_edge_hides_the_added_token(tmp_path: Path) -> None:
    """``xa`` is found first and then taken for text: ``ab`` is not found in ``xabq``, so ``abq`` lives."""
    file = byte_level(["ab", "abq"], added_tokens=[added("ab", 256), added("xa", 258, special=True)])
    verdict, witness = verdict_of(tmp_path, file, "abq")
    assert (verdict, witness) in ((Verdict.CONTEXT_ONLY, "xabq"), (Verdict.NO_WITNESS_FOUND, ""))
    tokenizer = tokenizers.load(f"file:{tmp_path / 'tokenizer.json'}")
    assert file["model"]["vocab"]["abq"] in tokenizer.encode_batch(["xabq"]).ids


@pytest.mark.parametrize(("form", "dead"), [("NFC", True), ("NFKC", False), (None, True)])
def test_a_normaliser_may_spell_an_added_token_after_the_search(tmp_path: Path, form: str | None, dead: bool) -> None:
    options = {} if form is None else {"normalizer": {"type": form}}
    file = byte_level(["zz", "qzz"], merges=ZZ, added_tokens=[added("zz", 256)], **options)
    verdict, _ = verdict_of(tmp_path, file, "qzz")
    assert (verdict == Verdict.SHADOWED_BY_ADDED) is dead
    tokenizer = tokenizers.load(f"file:{tmp_path / 'tokenizer.json'}")
    full_width = tokenizer.encode_batch(["q\uff5a\uff5a"]).ids
    assert (file["model"]["vocab"]["qzz"] in full_width) is (form == "NFKC")


ABC = ["a b", "b c", "a bc"]


def test_merges_of_its_own_symbols_prove_a_token_dead_in_every_context(tmp_path: Path) -> None:
    file = byte_level(["ab", "bc", "abc"], merges=ABC)
    assert verdict_of(tmp_path, file, "abc") == (Verdict.MERGE_UNREACHABLE, "merges_alone")


def test_a_whole_piece_needs_no_merges(tmp_path: Path) -> None:
    file = byte_level(["ab", "bc", "abc"], merges=ABC)
    file["model"]["ignore_merges"] = True
    assert verdict_of(tmp_path, file, "abc") == (Verdict.REACHABLE, "")
    never_whole = byte_level(["1b", "ba", "1ba"], merges=["1 b", "b a", "1 ba"])
    never_whole["model"]["ignore_merges"] = True
    assert verdict_of(tmp_path, never_whole, "1ba") == (Verdict.MERGE_UNREACHABLE, "merges_alone")


def test_merges_that_may_be_dropped_prove_nothing(tmp_path: Path) -> None:
    test, vocabulary = examined(tmp_path, byte_level(["ab", "bc", "abc"], merges=ABC), "?dropout=0.5")
    assert Verdict(int(test.verdicts[vocabulary["abc"]])) not in UNREACHABLE


@pytest.mark.parametrize(("score", "dead"), [(-3.0, True), (-2.0, False), (-1.5, False)])
def test_a_better_path(tmp_path: Path, score: float, dead: bool) -> None:
    vocabulary = [["<unk>", 0.0], ["▁", -9.0], ["a", -1.0], ["b", -1.0], ["ab", score]]
    mark = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocabulary}
    test, _ = examined(tmp_path, {"version": "1.0", "pre_tokenizer": mark, "decoder": mark, "model": model})
    assert bool(test.verdicts[4] == Verdict.MERGE_UNREACHABLE) is dead
    if dead:
        assert test.arguments[4].kind == "better_path"


def test_a_mark_inside_a_token_is_always_cut_where_words_start_with_it(tmp_path: Path) -> None:
    vocabulary = [["<unk>", 0.0], ["▁", -1.0], ["a", -1.0], ["▁a", -1.0], ["a▁a", -1.0], ["▁▁", -1.0]]
    mark = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocabulary}
    test, _ = examined(tmp_path, {"version": "1.0", "pre_tokenizer": mark, "decoder": mark, "model": model})
    assert {token: argument.kind for token, argument in test.arguments.items()} == {4: "always_cut", 5: "always_cut"}
    assert test.verdicts[3] == Verdict.REACHABLE


STAGES: list[dict[str, Any]] = [
    {},
    {"pre_tokenizer": regex_split(CL100K_ONIGURUMA)},
    {"pre_tokenizer": regex_split(O200K)},
    {"pre_tokenizer": regex_split(r"a+b?|[^a]{2}")},
    {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, GPT2]}},
    {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Punctuation", "behavior": "Isolated"}, GPT2]}},
    {"pre_tokenizer": GPT2 | {"add_prefix_space": True}},
    {"normalizer": {"type": "Lowercase"}},
    {"normalizer": {"type": "Replace", "pattern": {"String": "ab"}, "content": "a"}},
    {"added_tokens": [added("ab", 0), added("a'", 0, special=True), added("1'", 0, single_word=True)]},
    {"added_tokens": [added("b'", 0, normalized=True)], "normalizer": {"type": "Lowercase"}},
]


LETTERS = "abA1' "


WORDS = st.lists(st.text(LETTERS, min_size=2, max_size=4), min_size=1, max_size=6)


SHORT = ["".join(text) for length in range(1, 5) for text in product(LETTERS, repeat=length)]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(STAGES), st.lists(st.text(LETTERS, min_size=2, max_size=4), min_size=1, max_size=6), st.booleans()
)
def test_no_short_text_refutes_an_argument(
    tmp_path: Path, options: dict[str, Any], words: list[str], whole: bool
) -> None:
    """All texts of up to four characters of every kind, with random vocabularies and merges in the wrong order."""
    contents = [token["content"] for token in options.get("added_tokens", ())]
    file = byte_level([*contents, *words], **options)
    for token in options.get("added_tokens", ()):
        token["id"] = file["model"]["vocab"][spelled(token["content"])]
    file["model"]["merges"] = list(reversed(file["model"]["merges"]))
    file["model"]["ignore_merges"] = whole
    test, _ = examined(tmp_path, file)
    hypothesis.event(", ".join(sorted({argument.kind for argument in test.arguments.values()})))
    emitted = set(np.unique(test.tokenizer.encode_batch(SHORT).ids).tolist())
    assert not emitted & test.arguments.keys()
