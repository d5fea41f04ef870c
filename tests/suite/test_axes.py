"""Axes of a suite: one entry that stands for a product, with names that follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyharness import suite
from pyharness.suite import axes
from pyharness.types import InputError

SUITE = """
tokenizers = [
  "raw_bytes",
  { name = "{base.short}", spec = "file:${DATA}/{base.file}" },
  "trained:continued-bpe?base={base.file}&tokens={size}&corpus=shard:1/5:{language.text}",
]
corpora = [{ name = "{language} held out", spec = "shard:0/5:{language.text}" }]
benchmarks = [
  { name = "compression", tokenizers = ["{base.short}", "{base} {language} {size}"], corpora = ["{language} held out"]},
  "load",
]
[axes]
base = [{ name = "gpt2", short = "G", file = "gpt2.json" }, { name = "k2", short = "K", file = "k2.json?pattern=gpt2" }]
language = [{ name = "et", text = "path:a?x=1&language=et" }, { name = "hi", text = "sample" }]
size = [1024, 2048]
[variables]
DATA = "50%"
"""


def read(tmp_path: Path, text: str = SUITE) -> suite.Suite:
    path = tmp_path / "suite.toml"
    path.write_text(text, encoding="utf-8")
    return suite.read(path)


def test_an_entry_is_the_product_of_the_axes_that_it_names(tmp_path: Path) -> None:
    found = read(tmp_path)
    product = [
        f"{base} {language} {size}" for base in ("gpt2", "k2") for language in ("et", "hi") for size in (1024, 2048)
    ]
    assert [entry.label for entry in found.tokenizers] == ["raw_bytes", "G", "K", *product]
    specs = {entry.label: entry.spec for entry in found.tokenizers}
    assert specs["K"] == "file:50%/k2.json?pattern=gpt2"
    assert specs["k2 et 2048"] == (
        "trained:continued-bpe?base=k2.json?pattern=gpt2&tokens=2048&corpus=shard:1/5:path:a?x=1%26language=et"
    )
    texts = {entry.label: entry.spec for entry in found.corpora}
    assert texts == {"et held out": "shard:0/5:path:a?x=1&language=et", "hi held out": "shard:0/5:sample"}


def test_places_of_one_entry_go_along_together(tmp_path: Path) -> None:
    chosen = read(tmp_path).selections
    assert [one.benchmark for one in chosen] == ["compression"] * 8 + ["load"]
    assert (chosen[0].tokenizers, chosen[0].corpora) == (("G", "gpt2 et 1024"), ("et held out",))
    assert (chosen[7].tokenizers, chosen[7].corpora) == (("K", "k2 hi 2048"), ("hi held out",))


def test_variables_and_classes_of_characters_are_no_axes(tmp_path: Path) -> None:
    text = SUITE.replace('"raw_bytes"', '"file:x?pattern=\\\\p{L}+|\\\\P{size}{1,3}|${DATA}"')
    assert read(tmp_path, text).tokenizers[0].spec == r"file:x?pattern=\p{L}+|\P{size}{1,3}|50%25"
    whole = 'tokenizers = ["file:{base}"]\nbenchmarks = ["load"]\n'
    assert read(tmp_path, whole).tokenizers[0].label == "file:{base}"


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("{base.file}&tokens", "{bse}&tokens", r"\{bse\} in tokenizers: unknown axis 'bse'; did you mean 'base'"),
        ("{base.file}&tokens", "{base.path}&tokens", "'gpt2' of axis 'base' has no 'path'; it has name, short, file"),
        ('"{base.short}", spec', '"G", spec', r"'G'.*'base': write \{base\}"),
        ('short = "K"', 'short = "G"', "the name 'G' is used twice"),
        ("[1024, 2048]", "[1024, 1024]", "axis 'size' has the value '1024' twice"),
        ("[1024, 2048]", "1024", "axis 'size' = 1024 .*not a list"),
        ("[1024, 2048]", "[]", r"axis 'size' = \[\] .*not a list"),
        ("[1024, 2048]", "[true]", "axis 'size': name = True"),
        ("[1024, 2048]", "[{ size = 1 }]", "axis 'size'.*key 'name'"),
        ("size = [", '"a b" = [', "axis 'a b'"),
        ("[1024, 2048]", str(list(range(2501))), r"more than 10,000 entries, along base \(2\) x language \(2\) x size"),
    ],
)
def test_what_is_wrong_names_the_axis(tmp_path: Path, before: str, after: str, says: str) -> None:
    assert before in SUITE
    with pytest.raises(InputError, match=says):
        read(tmp_path, SUITE.replace(before, after))


def test_as_many_as_may_be(tmp_path: Path) -> None:
    whole = f'tokenizers = ["x{{size}}"]\nbenchmarks = ["load"]\naxes = {{ size = {list(range(10_000))} }}'
    assert len(read(tmp_path, whole).tokenizers) == 10_000
    with pytest.raises(InputError, match=r"tokenizers\b.* 10,000\b"):
        read(tmp_path, whole.replace('"x{size}"', '"x{size}", "{size}"'))
    with pytest.raises(InputError, match="more than 33,554,432 characters"):
        axes.spread(["x" * 400_000 + "{size}"], axes.read({"size": list(range(100))}), "tokenizers")


def test_axes_are_a_table() -> None:
    with pytest.raises(InputError, match=r"axes = \[1\]"):
        axes.read([1])
