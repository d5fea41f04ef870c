"""Every argument that a token is dead: planted dead tokens are proven, and what looks like one and lives is not."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pyharness
from pyharness import suite, tokenizers
from pyharness.commands import session
from pyharness.metrics import reachability
from pyharness.metrics.reachability import UNREACHABLE, PipelineTest, Verdict
from pyharness.types import HasPipeline, HasVocabulary, InputError
from pyharness.vocabularies.patterns.split_patterns import O200K, SPLIT_PATTERNS
from pyharness.vocabularies.stages import HasStages

NONE = np.zeros(0, np.uint32)
CL100K_ONIGURUMA = SPLIT_PATTERNS["cl100k"].expressions[0].replace("{1,3}+", "{1,3}")


def symbols() -> dict[int, str]:
    """The character that stands for each byte in byte-level BPE, as GPT-2 writes them."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}


def spelled(text: str) -> str:
    return "".join(symbols()[byte] for byte in text.encode())


def merges_of(word: str) -> list[str]:
    """Rules that make a word from left to right."""
    return [f"{word[:place]} {word[place]}" for place in range(1, len(word))]


def regex_split(expression: str) -> dict[str, Any]:
    step = {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"type": "Sequence", "pretokenizers": [step, level]}


GPT2 = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def byte_level(words: list[str], **options: Any) -> dict[str, Any]:
    """A byte-level BPE whose rules make the given texts."""
    vocabulary = {symbol: byte for byte, symbol in symbols().items()}
    merges: list[str] = []
    for word in map(spelled, words):
        for place in range(2, len(word) + 1):
            vocabulary.setdefault(word[:place], len(vocabulary))
        merges += [rule for rule in merges_of(word) if rule not in merges]
    model = {"type": "BPE", "vocab": vocabulary, "merges": options.pop("merges", merges)}
    return {"version": "1.0", "pre_tokenizer": GPT2, "decoder": GPT2, "model": model} | options


def added(content: str, number: int, **flags: bool) -> dict[str, Any]:
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": number, "content": content} | plain | flags


def examined(folder: Path, file: dict[str, Any], options: str = "") -> tuple[PipelineTest, dict[str, int]]:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    tokenizer = tokenizers.load(f"{options and 'native+'}file:{path}{options}")
    assert isinstance(tokenizer, HasVocabulary)
    vocabulary = tokenizer.vocabulary()
    test = PipelineTest(tokenizer, vocabulary)
    test.run(reachability.examine_model(tokenizer, vocabulary), NONE)
    return test, dict(file["model"]["vocab"]) if isinstance(file["model"]["vocab"], dict) else {}


def verdict_of(folder: Path, file: dict[str, Any], token: str, options: str = "") -> tuple[Verdict, str]:
    """Verdict of a token by its model string, and its argument or the text that shows it."""
    test, vocabulary = examined(folder, file, options)
    number = vocabulary[token]
    argument = test.arguments.get(number)
    found = argument.kind if argument else test.witnesses.get(number, "")
    if found and not argument:
        assert number in test.tokenizer.encode_batch([found]).ids
    return Verdict(int(test.verdicts[number])), found


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
    assert ["a group of a kind that is not known" in reason for reason in test.unexaminable] == [True]


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


ACCENT = "e\u0301"
COMPOSING = "aeqK\u00e9\u1e69\u0307\u0323\u0301\uac00\u1100\u1161\u11a8\u212a\ufb01\u0344"


@pytest.mark.parametrize(
    ("normalizer", "word", "kind"),
    [
        ([{"type": "NFC"}], ACCENT, "normal_form"),
        ([{"type": "NFD"}], "\u00e9", "normal_form"),
        ([{"type": "NFD"}], ACCENT, None),
        ([{"type": "NFC"}, {"type": "Lowercase"}], ACCENT, None),  # lower case might make it anew
        ([{"type": "Lowercase"}], "aB", "character_never_made"),
        ([{"type": "Lowercase"}], "\u00df", None),
        ([{"type": "Lowercase"}, {"type": "NFC"}], "aB", None),
        ([{"type": "Lowercase"}, {"type": "Prepend", "prepend": "B"}], "aB", None),
        ([{"type": "Replace", "pattern": {"String": "q"}, "content": "k"}], "aq", "string_replaced"),
        ([{"type": "Replace", "pattern": {"String": "qr"}, "content": "k"}], "qr", "string_replaced"),
        ([{"type": "Replace", "pattern": {"String": "qr"}, "content": "q"}], "qr", None),  # qrr becomes qr
        ([{"type": "Replace", "pattern": {"String": "qr"}, "content": ""}], "qr", None),  # qqrr becomes qr
        ([{"type": "Replace", "pattern": {"String": "q"}, "content": "k"},
          {"type": "Replace", "pattern": {"String": "k"}, "content": "q"}], "aq", None),
        ([{"type": "StripAccents"}], ACCENT, "character_never_made"),
    ],
)  # fmt: skip
def test_the_normaliser_alone(tmp_path: Path, normalizer: list[dict[str, Any]], word: str, kind: str | None) -> None:
    stage = {"type": "Sequence", "normalizers": normalizer}
    pattern = regex_split(r"[\s\S]+")  # marks may follow letters
    file = byte_level([word], normalizer=stage, pre_tokenizer=pattern)
    verdict, found = verdict_of(tmp_path, file, spelled(word))
    if kind is None:
        assert verdict not in UNREACHABLE
    else:
        assert (verdict, found) == (Verdict.NORMALIZATION_UNREACHABLE, kind)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]), st.text(COMPOSING, max_size=12))
def test_normal_forms_are_closed_under_taking_parts(form: str, text: str) -> None:
    """What the argument from a normal form rests on: marks, Hangul, singletons, ligatures."""
    import tokenizers as library

    normalize = getattr(library.normalizers, form)().normalize_str
    normal = normalize(text)
    for start in range(len(normal)):
        for end in range(start, len(normal) + 1):
            assert normalize(normal[start:end]) == normal[start:end]


@pytest.mark.parametrize(("text", "content"), [("qrr", "q"), ("qqrr", "")])
def test_what_is_replaced_may_come_back(tmp_path: Path, text: str, content: str) -> None:
    step = {"type": "Replace", "pattern": {"String": "qr"}, "content": content}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(byte_level(["qr"], normalizer=step)), encoding="utf-8")
    assert 256 in tokenizers.load(f"file:{path}").encode_batch([text]).ids


def word_piece(words: list[str], **options: Any) -> dict[str, Any]:
    vocabulary = {word: number for number, word in enumerate(["[UNK]", *words])}
    flags = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": False}
    return {
        "version": "1.0",
        "normalizer": {"type": "BertNormalizer"} | flags | options.pop("normalizer", {}),
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 5, "vocab": vocabulary} | options,
    }  # fmt: skip


def test_word_pieces(tmp_path: Path) -> None:
    words = ["x", "ж", "##中", "##!", "##ing", "中中", "longer", "fives", "don't", "é"]
    test, vocabulary = examined(tmp_path, word_piece(words))
    kinds = {word: test.arguments[vocabulary[word]].kind for word in words if vocabulary[word] in test.arguments}
    assert kinds == {
        "##中": "ideograph_alone",
        "##!": "always_cut",
        "中中": "ideograph_alone",
        "longer": "longer_than_words",
        "don't": "always_cut",
    }
    assert Verdict(int(test.verdicts[vocabulary["##ing"]])) == Verdict.CONTEXT_ONLY


def test_the_normaliser_can_be_asked_alone(tmp_path: Path) -> None:
    """Through pre-tokenizer and decoder, text that the normaliser leaves alone comes back with spaces."""
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(word_piece(["x"])), encoding="utf-8")
    tokenizer = tokenizers.load(f"file:{path}")
    assert isinstance(tokenizer, HasStages)
    assert isinstance(tokenizer, HasPipeline)
    assert tokenizer.stages().normalize("don't\u4e2d") == "don't \u4e2d "
    assert tokenizer.normalize("a-b") != tokenizer.stages().normalize("a-b") == "a-b"


def test_engines_say_the_same_of_the_stages(tmp_path: Path) -> None:
    """Ours and the library's: steps, forms and arguments."""
    words = ["zz", "qzz", ACCENT, "1a", "ab"]
    added_tokens = [added("zz", 256)]
    file = byte_level(words, added_tokens=added_tokens, normalizer={"type": "NFC"})
    home, _ = examined(tmp_path, file)
    ours, _ = examined(tmp_path, file, "?method=merge")
    assert {token: argument.kind for token, argument in ours.arguments.items()} == {
        token: argument.kind for token, argument in home.arguments.items()
    }
    assert len(home.arguments) >= 3


def test_ideographs_that_are_left_alone_go_on_words(tmp_path: Path) -> None:
    file = word_piece(["x", "##中"], normalizer={"handle_chinese_chars": False})
    assert verdict_of(tmp_path, file, "##中")[0] == Verdict.CONTEXT_ONLY


def test_lower_case_word_pieces(tmp_path: Path) -> None:
    file = word_piece(["x", "é", "X", "e"], normalizer={"lowercase": True})
    for word, kind in (("é", "character_never_made"), ("X", "character_never_made"), ("e", "")):
        assert verdict_of(tmp_path, file, word)[1] == kind


def test_a_word_piece_whose_mark_is_in_the_text_lives(tmp_path: Path) -> None:
    """Without a cut at signs the text may spell the two number signs, and the piece then starts a word."""
    file = word_piece(["x", "##!"]) | {"pre_tokenizer": {"type": "WhitespaceSplit"}}
    assert verdict_of(tmp_path, file, "##!")[0] in (Verdict.REACHABLE, Verdict.CONTEXT_ONLY)
    tokenizer = tokenizers.load(f"file:{tmp_path / 'tokenizer.json'}")
    assert tokenizer.encode_batch(["##!"]).ids.tolist() == [2]


def test_digits_that_end_every_piece_need_the_suffix(tmp_path: Path) -> None:
    words = ["1", "1</w>", "a", "a</w>", "ab</w>"]
    vocabulary = {word: number for number, word in enumerate(["b", "b</w>", *words])}
    split = {"type": "Split", "pattern": {"Regex": r"\p{L}+|\p{N}"}, "behavior": "Removed", "invert": True}
    model = {"type": "BPE", "unk_token": "b", "end_of_word_suffix": "</w>", "vocab": vocabulary, "merges": ["a b</w>"]}
    file = {"version": "1.0", "pre_tokenizer": split, "model": model}
    test, _ = examined(tmp_path, file)
    assert {word for word in words if vocabulary[word] in test.arguments} == {"1"}
    assert test.arguments[vocabulary["1"]].kind == "always_cut"


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


def test_a_corpus_that_is_named_beside_the_benchmark_gives_witnesses() -> None:
    """It was ignored wherever the benchmark was named, too."""
    chosen = session.declare(["raw_bytes"], ["sample:prose"], ["reachability", "load"])
    assert {(case.benchmark, case.corpus) for case in suite.plan(chosen).cases} == {
        ("reachability", "sample:prose"),
        ("load", None),
    }
    found = pyharness.run(tokenizers=["raw_bytes"], corpora=["sample:prose"], benchmarks=["reachability"])
    (result,) = found.record.results
    assert result.details["tally"]["bytes"] > 0
    assert next(one.value for one in result.measurements if one.metric == "unused_on_corpus") is not None


def test_a_suite_decides_which_corpora_give_witnesses() -> None:
    base = session.declare(["raw_bytes"], ["sample:prose"], ["compression"])
    chosen = session.declare(benchmarks=["reachability"], base=base)
    assert [case.corpus for case in suite.plan(chosen).cases] == [None]


def test_witnesses_on_request(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(byte_level(["\n//"], pre_tokenizer=regex_split(O200K))), encoding="utf-8")
    asked: list[str | dict[str, Any]] = [{"name": "reachability", "witnesses": True}, "reachability"]
    results = pyharness.run(tokenizers=[f"file:{path}"], benchmarks=asked).record.results
    without, with_them = sorted(results, key=lambda result: len(result.case.parameters))
    entry = with_them.details["witnesses"][-1]
    assert (entry["id"], [entry["token"]]) == (257, ["\n//"])
    assert 257 in tokenizers.load(f"file:{path}").encode_batch([entry["witness"]]).ids
    assert "witnesses" not in without.details
    assert without.case.parameters == {}


def test_witnesses_is_yes_or_no() -> None:
    with pytest.raises(InputError, match="witnesses = 3 is not true or false"):
        suite.plan(session.declare(["raw_bytes"], benchmarks=[{"name": "reachability", "witnesses": 3}]))
