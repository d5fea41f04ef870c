"""Corpora: every family, and what all of them promise about invalid, empty and over-long text."""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import lzma
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pyharness.corpora import families, open_corpus, shard
from pyharness.corpora.reading import decode, decoded
from pyharness.corpora.specification import parse, size
from pyharness.corpora.splitting import SPLITS, pieces
from pyharness.corpora.streaming import admitted
from pyharness.types import Corpus, InputError, ParallelCorpus, Tally

pa: Any = pytest.importorskip("pyarrow")
pq: Any = pytest.importorskip("pyarrow.parquet")


def read(spec: str) -> tuple[list[str], Tally]:
    return documents(open_corpus(spec))


def documents(corpus: Corpus) -> tuple[list[str], Tally]:
    tally = Tally()
    texts = list(corpus.documents(tally))
    for text in texts:
        tally.add(text)
    return texts, tally


def parallel(spec: str) -> ParallelCorpus:
    corpus = open_corpus(spec)
    assert isinstance(corpus, ParallelCorpus)
    return corpus


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


# -------------------------------------------------------------------------------- specifications


@pytest.mark.parametrize(
    ("spec", "parsed"),
    [
        ("sample", ("sample", "", {})),
        ("sample:prose", ("sample", "prose", {})),
        ("path:/a:b/c?split=line&name=x", ("path", "/a:b/c", {"split": "line", "name": "x"})),
        ("path:a?.txt", ("path", "a?.txt", {})),
        ("path:a?.txt?split=line", ("path", "a?.txt", {"split": "line"})),
        ("path:a%3Fb=c", ("path", "a?b=c", {})),
        ("path:100%25.txt", ("path", "100%25.txt", {})),
        ("path:a?name=50%25%20%26%3D%3F", ("path", "a", {"name": "50% &=?"})),
        ("path:a?split", ("path", "a?split", {})),
        ("path:a?name=", ("path", "a", {"name": ""})),
        ("datasets:a/b?split=train[:10]", ("datasets", "a/b", {"split": "train[:10]"})),
    ],
)
def test_specifications(spec: str, parsed: tuple[str, str, dict[str, str]]) -> None:
    assert parse(spec) == parsed


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7", 7), ("2MB", 2_000_000), ("2 MB", 2_000_000), ("1.5KiB", 1536), ("3gib", 3 << 30), ("9kB", 9000)],
)
def test_sizes(text: str, expected: int) -> None:
    assert size("max_bytes", text) == expected


def test_families_are_complete() -> None:
    assert set(families()) == {"sample", "installed", "path", "parallel", "datasets", "repeat", "shard"}
    for family in families().values():
        assert family.summary
        assert family.example.startswith(family.name)
        assert set(parse(family.example)[2]) <= set(family.options)


def test_importing_and_listing_is_light() -> None:
    code = (
        "import sys, pyharness.corpora as c; c.families(); c.open_corpus('sample');"
        "print([m for m in ('pandas', 'pyarrow', 'zstandard', 'datasets') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


# -------------------------------------------------------------------------------- what all promise

# Bytes that are often almost UTF-8: cut sequences, surrogates, overlong forms, BOMs, separators.
PARTS = [
    b"a",
    b" ",
    b"\n",
    b"\r\n",
    b"\r",
    b"\t",
    b"\0",
    "é".encode(),
    "漢".encode(),
    "🙂".encode(),
    "\ufffd".encode(),
]
PARTS += [
    "\u2028".encode(),
    b"\xef\xbb\xbf",
    b"\xf0\x9f\x99",
    b"\xf0\x9f",
    b"\xe6",
    b"\x80",
    b"\xff",
    b"\xed\xa0\x80",
]
PARTS += [b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\n\n", b"\n \t\r\n"]
mostly_text = st.lists(st.one_of(st.sampled_from(PARTS), st.binary(max_size=4)), max_size=60).map(b"".join)


def cut_up(data: bytes, block: int) -> Iterator[bytes]:
    return (data[start : start + block] for start in range(0, len(data), block))


def whole_decode(data: bytes) -> tuple[str, int]:
    count = 0

    def replace(error: UnicodeError) -> tuple[str, int]:
        nonlocal count
        count += 1
        assert isinstance(error, UnicodeDecodeError)
        return "\ufffd", error.end

    codecs.register_error("test.counting", replace)
    text = data.decode("utf-8", "test.counting")
    assert text == data.decode("utf-8", "replace")
    return text, count


def streamed(data: bytes, split: str, block: int, limit: int) -> tuple[list[str], Tally]:
    tally = Tally()
    return list(admitted(pieces(SPLITS[split](decoded(cut_up(data, block))), limit), None, tally)), tally


@given(mostly_text, st.integers(1, 40), st.integers(4, 60))
def test_blocks_and_cuts_do_not_change_a_file(data: bytes, block: int, limit: int) -> None:
    text, replaced = whole_decode(data)
    texts, tally = streamed(data, "file", block, limit)
    assert "".join(texts) == text
    assert tally.replaced_sequences == replaced
    assert tally.cut_documents == (len(text.encode()) > limit)
    assert tally.empty_documents == (not text)
    assert all(0 < len(piece.encode()) <= limit for piece in texts)
    assert streamed(data, "file", 1 << 20, limit) == (texts, tally)


@given(mostly_text, st.integers(1, 40), st.integers(4, 60))
def test_lines_are_those_of_the_whole_text(data: bytes, block: int, limit: int) -> None:
    text, replaced = whole_decode(data)
    expected = text.removesuffix("\n").split("\n") if text else []
    texts, tally = streamed(data, "line", block, 1 << 20)
    assert texts == list(filter(None, expected))
    assert tally.empty_documents == expected.count("")
    assert tally.replaced_sequences == replaced
    cut, cut_tally = streamed(data, "line", block, limit)
    assert "".join(cut) == "".join(texts)
    assert cut_tally.cut_documents == sum(len(line.encode()) > limit for line in expected)
    assert cut_tally.replaced_sequences == replaced


@given(mostly_text, st.integers(1, 40))
def test_paragraphs_are_those_of_the_whole_text(data: bytes, block: int) -> None:
    expected: list[list[str]] = [[]]
    for line in whole_decode(data)[0].split("\n"):
        if line.strip(" \t\r"):
            expected[-1].append(line)
        elif expected[-1]:
            expected.append([])
    texts, tally = streamed(data, "paragraph", block, 1 << 20)
    assert texts == ["\n".join(lines) for lines in expected if lines]
    assert tally.empty_documents == 0


@given(mostly_text)
def test_decoding_at_once_and_in_blocks_agree(data: bytes) -> None:
    assert decode(data) == "".join(decoded(cut_up(data, 1)))


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("ab\ncd ef", 7, ["ab\n", "cd ef"]),
        ("ab cd ef", 7, ["ab cd ", "ef"]),
        ("abcdefgh", 7, ["abcdefg", "h"]),
        ("ééééé", 7, ["ééé", "éé"]),
        ("🙂🙂", 7, ["🙂", "🙂"]),
        ("abcdefg", 7, ["abcdefg"]),
        ("\n" * 9, 7, ["\n" * 7, "\n" * 2]),
    ],
)
def test_cuts_fall_after_a_newline_else_a_space_else_a_code_point(
    text: str, limit: int, expected: list[str], tmp_path: Path
) -> None:
    texts, tally = read(f"path:{write(tmp_path / 'a.txt', text)}?max_document_bytes={limit}")
    assert texts == expected
    assert tally.cut_documents == (len(expected) > 1)


def test_a_long_run_of_spaces_is_text_and_a_short_one_a_blank_line() -> None:
    for spaces, expected in ((1000, ["a", "b"]), (1001, ["a\n" + " " * 1001 + "\nb"])):
        data = b"a\n" + b" " * spaces + b"\nb"
        for block in (1, 7, 1 << 20):
            assert streamed(data, "paragraph", block, 1 << 20)[0] == expected


@given(
    st.lists(st.sampled_from(["", "one", "two words", "\ud800", "x" * 40, "é" * 9]), min_size=1),
    st.integers(1, 5),
)
def test_shards_add_up_to_the_whole(texts: list[str], count: int) -> None:
    class Given:
        name, language, domain, licence, smoke_test = "given", "und", "", "", False

        def documents(self, tally: Tally) -> Iterator[str]:
            return admitted(pieces(((text, True) for text in texts), 16), None, tally)

    whole, tally = documents(Given())
    merged, shards = Tally(), []
    for index in range(count):
        found, part = documents(shard(Given(), index, count))
        shards.append(found)
        merged.merge(part)
    assert merged == tally
    assert [shards[at % count][at // count] for at in range(len(whole))] == whole


def test_a_shard_can_be_opened_by_its_name() -> None:
    by_hand = shard(open_corpus("sample:code?max_bytes=9kB"), 1, 3)
    assert by_hand.name == "shard:1/3:sample:code?max_bytes=9kB"
    assert read(by_hand.name) == documents(by_hand)


def test_the_cap_stops_before_the_document_that_would_exceed_it(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", b"12345\n\n12\xff\n1\n")
    for cap, expected, empty, replaced in (
        (5, 1, 1, 0),
        (9, 1, 1, 0),
        (10, 2, 1, 1),
        (11, 3, 1, 1),
        (99, 3, 1, 1),
    ):
        texts, tally = read(f"path:{file}?split=line&max_bytes={cap}")
        assert (len(texts), tally.empty_documents, tally.replaced_sequences) == (expected, empty, replaced)


def test_a_corpus_can_be_read_again_and_left_early(tmp_path: Path) -> None:
    corpus = open_corpus(
        f"path:{write(tmp_path / 'a.txt.gz', gzip.compress(b'one' + bytes([10]) + b'two'))}?split=line"
    )
    assert next(corpus.documents(Tally())) == "one"
    assert documents(corpus) == documents(corpus)


# -------------------------------------------------------------------------------- sample

SAMPLE_PARTS = ("prose", "dialogue", "numbers", "code", "unicode")


@pytest.mark.parametrize("part", SAMPLE_PARTS)
def test_every_sample_part_has_64_sound_documents(part: str) -> None:
    corpus = open_corpus(f"sample:{part}")
    texts, tally = documents(corpus)
    assert len(texts) >= 64
    assert (tally.empty_documents, tally.cut_documents, tally.replaced_sequences) == (0, 0, 0)
    assert corpus.smoke_test
    assert corpus.licence == "CC0-1.0"
    assert not isinstance(corpus, ParallelCorpus)


@pytest.mark.parametrize("spec", ["sample", "sample:parallel"])
def test_the_aligned_sample_covers_languages_and_scripts(spec: str) -> None:
    corpus = parallel(spec)
    rows = list(corpus.rows(Tally()))
    assert len(rows) == 64
    assert len(corpus.languages) >= 30
    assert len({language.split("_")[1] for language in corpus.languages}) >= 12
    assert corpus.reference == "eng_Latn"
    assert all(tuple(row) == corpus.languages and all(row.values()) for row in rows)


def test_the_whole_sample_is_all_its_parts() -> None:
    parts = [text for part in (*SAMPLE_PARTS, "parallel") for text in read(f"sample:{part}")[0]]
    assert read("sample")[0] == parts
    assert 0 < read("sample?max_bytes=20kB")[1].bytes <= 20_000


# -------------------------------------------------------------------------------- installed


def test_installed_code_is_capped_shuffled_and_stable() -> None:
    texts, tally = read("installed:python-code?max_bytes=1MB")
    assert 500_000 < tally.bytes <= 1_000_000
    assert read("installed:python-code?max_bytes=1MB")[1] == tally
    assert sum("def " in text for text in texts) > 10
    corpus = open_corpus("installed:python-code")
    assert (corpus.language, corpus.licence, corpus.smoke_test) == ("code", "PSF-2.0", False)


def test_installed_docs_are_topics_and_docstrings() -> None:
    texts, tally = read("installed:python-docs?max_bytes=1MB")
    assert len(texts) > 100
    assert tally.empty_documents == 0
    assert open_corpus("installed:python-docs").language == "en"


def test_docstrings_are_found_without_importing() -> None:
    from pyharness.corpora.installed import docstrings

    source = b'"""Module."""\nraise SystemExit\nclass A:\n  """Class."""\n  async def f(self):\n    """Doc."""\n'
    assert list(docstrings(source)) == ["Module.", "Class.", "Doc."]
    assert list(docstrings(b"print 'python 2'")) == []
    assert list(docstrings(b"# coding: latin-1\n'''\xe9'''")) == ["é"]


# -------------------------------------------------------------------------------- path

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_plain_text_is_kept_to_the_last_byte(suffix: str, tmp_path: Path) -> None:
    data = ("\ufeffone\r\ntwo\rthree\u2028four\n\n\n" * 9).encode()
    texts, tally = read(f"path:{write(tmp_path / f'a.md{suffix}', PACKERS[suffix](data))}")
    assert texts == [data.decode()]
    assert tally.bytes == len(data)


@pytest.mark.parametrize("suffix", PACKERS)
def test_several_streams_in_one_file_are_one_text(suffix: str, tmp_path: Path) -> None:
    block = os.urandom(300_000).hex().encode()
    file = write(tmp_path / f"a.txt{suffix}", PACKERS[suffix](block) + PACKERS[suffix](b" ") + PACKERS[suffix](block))
    assert "".join(read(f"path:{file}")[0]).encode() == block + b" " + block


def test_lines_keep_all_but_the_newline(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", b"\xef\xbb\xbfa\r\n\nb\xe2\x80\xa8c\rd\n  \n\xff\xf0\x9f\n\nlast")
    texts, tally = read(f"path:{file}?split=line")
    assert texts == ["\ufeffa\r", "b\u2028c\rd", "  ", "\ufffd\ufffd", "last"]
    assert (tally.empty_documents, tally.replaced_sequences) == (2, 2)


def test_json_lines_with_another_field_and_lone_surrogates(tmp_path: Path) -> None:
    rows = [
        '{"body": "a\\ud800b\\ud83d\\ude42"}',
        "",
        '{"body": ""}\r',
        '{"body": "\\udc00"}',
        '{"body": "fin"}',
    ]
    file = write(tmp_path / "a.jsonl.xz", lzma.compress("\n".join(["\ufeff" + rows[0], *rows[1:]]).encode()))
    texts, tally = read(f"path:{file}?field=body")
    assert texts == ["a\ufffdb🙂", "\ufffd", "fin"]
    assert (tally.replaced_sequences, tally.empty_documents) == (2, 1)


def test_invalid_utf8_in_json_counts_where_it_is_used(tmp_path: Path) -> None:
    file = write(tmp_path / "a.ndjson", b'{"text": "a\xffb", "other": "\xff\xff"}\n{"text": "' + b"x" * 30 + b'"}')
    texts, tally = read(f"path:{file}?max_document_bytes=20")
    assert texts == ["a\ufffdb", "x" * 20, "x" * 10]
    assert (tally.replaced_sequences, tally.cut_documents) == (1, 1)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_parquet_text_columns(kind: Any, tmp_path: Path) -> None:
    words = ["one", None, "", "zwei"] * 300
    pq.write_table(
        pa.table({"n": range(1200), "body": pa.array(words, pa.string()).cast(kind)}), tmp_path / "a.parquet"
    )
    texts, tally = read(f"path:{tmp_path}/a.parquet?field=body")
    assert texts == ["one", "zwei"] * 300
    assert tally.empty_documents == 600


def test_parquet_with_invalid_utf8_is_replaced_and_counted(tmp_path: Path) -> None:
    column = pa.array([b"a\xff\xf0\x9f", b"ok"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": column}), tmp_path / "a.parquet")
    texts, tally = read(f"path:{tmp_path}/a.parquet")
    assert texts == ["a\ufffd\ufffd", "ok"]
    assert tally.replaced_sequences == 2


def make_tree(root: Path) -> Path:
    write(root / "b.txt", "b")
    write(root / "a" / "z.md", "az")
    write(root / "a" / "c.py", "ac")
    write(root / "a.rs", "a.rs")
    write(root / "rows.jsonl", '{"text": "row"}\n')
    write(root / "picture.txt", b"PNG\0\0")
    write(root / "late.txt", b"x" * 9000 + b"\0")
    write(root / "data.bin", b"bin")
    write(root / "app.log", "log")
    write(root / ".git" / "config.txt", "hidden")
    pq.write_table(pa.table({"text": ["cell"]}), root / "table.parquet")
    (root / "loop").symlink_to(root, target_is_directory=True)
    return root


def test_directories_are_walked_in_order_and_left_out_what_is_not_text(tmp_path: Path) -> None:
    texts, _ = read(f"path:{make_tree(tmp_path)}")
    assert texts == ["ac", "az", "a.rs", "b", "x" * 9000 + "\0", "row", "cell"]


def test_globs_name_their_files(tmp_path: Path) -> None:
    make_tree(tmp_path)
    assert read(f"path:{tmp_path}/*.log")[0] == ["log"]
    assert read(f"path:{tmp_path}/?.txt")[0] == ["b"]
    assert read(f"path:{tmp_path}/[pt]*")[0] == ["cell"]  # picture.txt is binary
    assert read(f"path:{tmp_path}/a/**?split=line")[0] == ["ac", "az"]


def test_a_file_named_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    write(tmp_path / "a[1].txt", "bracket")
    write(tmp_path / "q?a=b.txt", "question")
    assert read(f"path:{tmp_path}/a[1].txt")[0] == ["bracket"]
    assert read(f"path:{tmp_path}/q%3Fa=b.txt")[0] == ["question"]


def test_options_describe_the_corpus(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", "a")
    corpus: Any = open_corpus(f"path:{file}?language=est_Latn&domain=law&licence=CC0-1.0&name=Riigi%20Teataja")
    assert (corpus.language, corpus.domain, corpus.licence) == ("est_Latn", "law", "CC0-1.0")
    assert corpus.label == "Riigi Teataja"
    assert corpus.name.startswith("path:")
    assert open_corpus(f"path:{file}").language == "und"
    assert open_corpus(f"path:{write(tmp_path / 'a.cpp', 'a')}").language == "code"


MEMORY_PROBE = """
import resource, sys
from pyharness.corpora import open_corpus
from pyharness.types import Tally
tally, total = Tally(), 0
for text in open_corpus(sys.argv[1]).documents(tally):
    total += len(text)
print(total, tally.cut_documents, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


@pytest.mark.parametrize("split", ["file", "line", "paragraph"])
@pytest.mark.parametrize("suffix", ["", ".zst"])
def test_a_document_of_100_mb_without_newline_takes_bounded_memory(split: str, suffix: str, tmp_path: Path) -> None:
    if suffix:
        data = zstandard.ZstdCompressor().compress(b"x" * 100_000_000)
        assert len(data) < 10_000
        file = write(tmp_path / "a.txt.zst", data)
    else:
        file = tmp_path / "a.txt"
        with file.open("wb") as out:
            for _ in range(100):
                out.write(b"x" * 1_000_000)
    command = [sys.executable, "-P", "-c", MEMORY_PROBE, f"path:{file}?split={split}"]
    total, cut, peak = map(int, subprocess.run(command, capture_output=True, check=True).stdout.split())
    assert (total, cut) == (100_000_000, 1)
    assert peak < 300


# -------------------------------------------------------------------------------- parallel


def make_parallel(root: Path) -> Path:
    write(root / "eng_Latn.txt", "one\ntwo\n\nfour\n")
    write(root / "deu_Latn.txt.xz", lzma.compress(b"eins\nzw\xffei\ndrei\nvier"))
    write(root / "est_Latn.txt.gz", gzip.compress("üks\nkaks\nkolm\nneli\n".encode()))
    write(root / "_meta.tsv", "ignored")
    write(root / "README.txt", "ignored")
    return root


def test_parallel_directories_are_read_in_step(tmp_path: Path) -> None:
    corpus = parallel(f"parallel:{make_parallel(tmp_path)}")
    tally = Tally()
    rows = list(corpus.rows(tally))
    assert corpus.languages == ("deu_Latn", "eng_Latn", "est_Latn")
    assert corpus.reference == "eng_Latn"
    assert rows[1] == {"deu_Latn": "zw\ufffdei", "eng_Latn": "two", "est_Latn": "kaks"}
    assert [row["eng_Latn"] for row in rows] == ["one", "two", "four"]
    assert (tally.empty_documents, tally.replaced_sequences) == (1, 1)
    assert documents(corpus)[0] == [text for row in rows for text in row.values()]


def test_parallel_languages_reference_and_cap(tmp_path: Path) -> None:
    spec = f"parallel:{make_parallel(tmp_path)}?languages=est_Latn,deu_Latn"
    corpus = parallel(spec)
    assert (corpus.languages, corpus.reference) == (("est_Latn", "deu_Latn"), "est_Latn")
    assert len(list(corpus.rows(Tally()))) == 4
    assert parallel(f"{spec}&reference=deu_Latn").reference == "deu_Latn"
    assert list(parallel(f"{spec}&max_bytes=9").rows(Tally())) == [{"est_Latn": "üks", "deu_Latn": "eins"}]


def test_parallel_json_lines(tmp_path: Path) -> None:
    rows: list[dict[str, str | None]] = [
        {"en": "one", "de": "eins", "fr": "un"},
        {"en": "two", "de": "", "fr": None},
        {"de": "drei", "en": "three"},
    ]
    file = write(tmp_path / "a.jsonl", "".join(json.dumps({"aligned": row}) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"en \(3\).*de \(2\)"):
        open_corpus(f"parallel:{file}?field=aligned")
    corpus = parallel(f"parallel:{file}?field=aligned&languages=de,en")
    tally = Tally()
    assert list(corpus.rows(tally)) == [{"de": "eins", "en": "one"}, {"de": "drei", "en": "three"}]
    assert tally.empty_documents == 1
    assert corpus.reference == "en"
    rows[1]["de"] = "zwei"
    write(file, "".join(json.dumps({"text": row}) + "\n" for row in rows))
    assert parallel(f"parallel:{file}").languages == ("de", "en")


# -------------------------------------------------------------------------------- datasets


class FakeDatasets(ModuleType):
    """Stands for the library: records how it was called."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        super().__init__("datasets")
        self.rows, self.calls = rows, list[Any]()

    def load_dataset(self, *names: Any, **options: Any) -> Iterable[dict[str, Any]]:
        self.calls.append((names, options))
        return self.rows


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = f"http://127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        monkeypatch.setenv("no_proxy", "*")
        for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
            monkeypatch.delenv(name, raising=False)
        yield endpoint


def test_datasets_are_streamed_without_their_code(hub: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeDatasets([{"body": "one"}, {"body": None}, {"body": "\ud800"}])
    monkeypatch.setitem(sys.modules, "datasets", fake)
    texts, tally = read("datasets:org/name?config=en&split=test&field=body&revision=abc")
    assert texts == ["one", "\ufffd"]
    assert (tally.empty_documents, tally.replaced_sequences) == (1, 1)
    options = {"split": "test", "streaming": True, "trust_remote_code": False, "revision": "abc"}
    assert fake.calls == [(("org/name", "en"), options)]


def test_local_datasets_need_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = FakeDatasets([{"text": "one"}])
    monkeypatch.setitem(sys.modules, "datasets", fake)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    write(tmp_path / "rows.jsonl", "")
    assert read(f"datasets:{tmp_path}")[0] == ["one"]
    assert read(f"datasets:{tmp_path}/rows.jsonl")[0] == ["one"]
    common = {"split": "train", "streaming": True, "trust_remote_code": False}
    assert fake.calls == [
        ((str(tmp_path), None), {**common, "revision": None}),
        (("json",), {**common, "data_files": f"{tmp_path}/rows.jsonl"}),
    ]


@pytest.mark.parametrize("several", [False, True])
def test_datasets_saved_to_disk(several: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = FakeDatasets([])
    rows = [{"text": "saved"}]
    monkeypatch.setattr(fake, "load_from_disk", lambda _: {"train": rows} if several else rows, raising=False)
    monkeypatch.setitem(sys.modules, "datasets", fake)
    write(tmp_path / ("dataset_dict.json" if several else "state.json"), "{}")
    assert read(f"datasets:{tmp_path}")[0] == ["saved"]


# -------------------------------------------------------------------------------- repeat


def test_repeat_streams_the_same_again(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", b"one\n\ntw\xffo")
    texts, tally = read(f"repeat:3:path:{file}?split=line")
    assert texts == ["one", "tw\ufffdo"] * 3
    assert (tally.empty_documents, tally.replaced_sequences) == (3, 3)
    assert read(f"repeat:2:repeat:2:path:{file}")[0] == [file.read_bytes().decode(errors="replace")] * 4


def test_repeat_of_a_billion_starts_at_once_and_is_not_aligned() -> None:
    corpus = open_corpus("repeat:1000000000:sample")
    assert next(corpus.documents(Tally()))
    assert corpus.smoke_test
    assert not isinstance(corpus, ParallelCorpus)


# -------------------------------------------------------------------------------- real corpora

DATA = Path(os.environ.get("PYHARNESS_DATA", ".")) / "corpora"


def real(test: Callable[[], None]) -> Callable[[], None]:
    reason = "PYHARNESS_DATA does not name the real corpora"
    marks = (pytest.mark.data, pytest.mark.skipif("PYHARNESS_DATA" not in os.environ, reason=reason))
    for mark in marks:
        test = mark(test)
    return test


@real
def test_real_json_lines() -> None:
    texts, tally = read(f"path:{DATA}/code/python.jsonl.xz")
    assert (len(texts), tally.replaced_sequences, tally.empty_documents) == (154, 0, 0)
    with lzma.open(DATA / "code/python.jsonl.xz", "rt", encoding="utf-8") as file:
        assert texts == [json.loads(line)["text"] for line in file]


@real
def test_real_paragraphs() -> None:
    texts, _ = read(f"path:{DATA}/english/tinyshakespeare.txt.xz?split=paragraph")
    with lzma.open(DATA / "english/tinyshakespeare.txt.xz", "rt", encoding="utf-8", newline="") as file:
        assert texts == re.split("\n{2,}", file.read().strip("\n"))
    assert len(texts) == 5777


@real
def test_real_flores() -> None:
    corpus = parallel(f"parallel:{DATA}/parallel/flores200")
    assert len(corpus.languages) == 178
    tally = Tally()
    assert sum(1 for _ in corpus.rows(tally)) == 1548
    assert tally == Tally()


@real
def test_real_parallel_json_lines() -> None:
    corpus = parallel(f"parallel:{DATA}/parallel/xquad.jsonl.xz")
    assert corpus.languages == ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
    assert sum(1 for _ in corpus.rows(Tally())) == 195
