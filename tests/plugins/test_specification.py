"""One grammar names tokenizers, corpora and benchmarks; what is written is read as it was meant."""

from __future__ import annotations

import contextlib
import doctest
from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyharness.plugins import specification
from pyharness.plugins.specification import BENCHMARK, CORPUS, TOKENIZER, Grammar
from pyharness.types import InputError

NAMES = st.from_regex(r"[a-z_][a-z0-9_.-]{0,8}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["a&b=c", "?a=b", "50%", "%26", "a?b=c&d=e", "x+y:z", "=", "&", "\n"]
)
ARGUMENTS = TEXTS.filter(lambda text: "%3f" not in text.lower())
OPTIONS = st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True), TEXTS, max_size=3)


@pytest.mark.parametrize("grammar", [TOKENIZER, CORPUS, BENCHMARK], ids=lambda grammar: grammar.kind)
@given(name=NAMES, argument=st.none() | ARGUMENTS, options=OPTIONS, engine=st.none() | NAMES)
@example(name="path", argument="a?b=c", options={"split": "line?x=y"}, engine=None)
def test_what_is_written_is_read_as_it_was_meant(
    grammar: Grammar, name: str, argument: str | None, options: Mapping[str, str], engine: str | None
) -> None:
    argument = argument or ("" if grammar.globs and argument is not None else None)
    engine = engine if grammar.engines else None
    text = grammar.write(name, argument, options, engine)
    read = grammar.parse(text)
    assert (read.engine, read.name, read.argument, read.options) == (engine, name, argument, options)
    assert grammar.write(read.name, read.argument, read.options, read.engine) == text
    assert read.head == grammar.write(name, argument, {}, engine)
    home = grammar.parse(read.home)
    assert (home.engine, home.name, home.argument, home.options) == (None, name, argument, options)


@given(text=st.text(st.sampled_from("ab:?=&+%3F26/ \0"), max_size=16))
def test_any_text_is_read_or_refused(text: str) -> None:
    for grammar in (TOKENIZER, CORPUS, BENCHMARK):
        with contextlib.suppress(InputError):
            assert text.startswith(grammar.parse(text).head)


@pytest.mark.parametrize(
    ("grammar", "text", "message"),
    [
        (TOKENIZER, " ", r"tokenizer .*' '.*\[engine\+\]name"),
        (TOKENIZER, "a\0b", "tokenizer .*'a"),
        (TOKENIZER, "file:", "tokenizer .*'file:'"),
        (TOKENIZER, "+raw_bytes", r"tokenizer .*'\+raw_bytes'"),
        (TOKENIZER, "a+b+c:d", r"'a\+b\+c:d'.*two engines"),
        (TOKENIZER, "raw_bytes?a", r"option 'a'.*key=value.*%26"),
        (TOKENIZER, "raw_bytes?a=1&a=2", "a= twice"),
        (CORPUS, "sample?name=1&name=2", r"corpus 'sample\?name=1&name=2'.* name="),
        (CORPUS, "sample\0", "corpus .*'sample"),
        (BENCHMARK, "", "benchmark .*''"),
        (BENCHMARK, "load?", r"benchmark 'load\?'.*option ''.*key=value"),
        (BENCHMARK, "throughput?bytes=1&bytes=2", "bytes= twice"),
    ],
)
def test_what_the_grammar_does_not_have_is_refused(grammar: Grammar, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        grammar.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "a://u:secret@host/k", "a://host/k?Signature=secret", "a:b://host/?x=1&sig=secret", "a://h/k%3Ftoken=secret",
        "a://h/k%253Ftoken=secret", "a://h/k?%74oken=secret", "a%3A//h/k?access-token=secret", "a://h/k?__sign=secret",
        "a://h/k?private_token=secret", "a://h/k?key=secret", "https://u:secret%40h/k", "https://u%2Fsecret@h/k",
        "https://u:secret/more@h/k", "https://h/k?X-Amz-Security-Token=secret", "a://h/k?x=1;jwt=secret",
    ],
)  # fmt: skip
def test_an_address_with_a_secret_is_refused_and_not_repeated(text: str) -> None:
    for grammar in (TOKENIZER, CORPUS, BENCHMARK):
        with pytest.raises(InputError) as refusal:
            grammar.parse(text)
        assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "text",
    [
        "s3://b/a@b/key=1.txt",
        "https://h:80/a:b",
        "http://[::1]:80/k",
        "s3://arn:aws:s3:x/k",
        "hf://datasets/org/name@main/x?field=text",
        "a:u@v?token=1",
    ],
)
def test_what_only_looks_like_a_secret_is_read(text: str) -> None:
    assert CORPUS.parse(text).text == text


def test_an_engine_belongs_to_a_tokenizer_alone() -> None:
    assert TOKENIZER.parse("a+b:c+d").engine == "a"
    assert (CORPUS.parse("a+b:c").name, BENCHMARK.parse("a+b").name) == ("a+b", "a+b")


def test_the_examples_hold() -> None:
    assert doctest.testmod(specification).failed == 0
    for grammar in (TOKENIZER, CORPUS, BENCHMARK):
        assert grammar.parse(grammar.example).text == grammar.example
