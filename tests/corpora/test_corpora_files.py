"""Files of all kinds, and aligned ones."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pyharness.corpora import open_corpus
from pyharness.corpora.files.reading import decode, numbered_lines, parsed_lines
from pyharness.types import InputError, Tally
from texts import documents, parallel, read, write

pa: Any = pytest.importorskip("pyarrow")
pq: Any = pytest.importorskip("pyarrow.parquet")


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


LINE = st.binary(max_size=9) | st.sampled_from([b"", b"\n", b"\r\n", b"\xe2\x82\n", b"\xf0\x9f\n\x99", "é\n€".encode()])


@given(st.lists(LINE).map(b"".join), st.integers(1, 40))
def test_runs_of_lines_are_those_of_one_line_after_the_other(data: bytes, size: int) -> None:
    with TemporaryDirectory() as folder:
        file = write(Path(folder) / "a.jsonl", data)
        lines = [line.removesuffix(b"\n") for line in io.BytesIO(data)]
        assert list(numbered_lines(file, size)) == list(enumerate(map(decode, lines), 1))
        assert list(parsed_lines(file, lambda run: run.split(b"\n"), size)) == list(enumerate(lines, 1))


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


def test_json_lines_with_a_field_of_an_object(tmp_path: Path) -> None:
    rows = ['{"text": {"hi": "ka", "en": "a"}}', '{"text": {"hi": "kha"}, "text.hi": "by its very name"}']
    file = write(tmp_path / "a.jsonl", "\n".join(rows).encode())
    assert read(f"path:{file}?field=text.hi")[0] == ["ka", "by its very name"]
    with pytest.raises(InputError, match=r"line 2 .*'en'.*'hi'"):
        read(f"path:{file}?field=text.en")


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
import sys
from pyharness.system.process_tree import peak_memory
from pyharness.corpora import open_corpus
from pyharness.types import Tally
tally, total = Tally(), 0
for text in open_corpus(sys.argv[1]).documents(tally):
    total += len(text)
print(total, tally.cut_documents, peak_memory() >> 20)
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
    lacking = [{"en": "a", "de": "b", "fr": "c"}] * 99 + [{"en": "a", "de": "b"}]
    nearly = write(tmp_path / "b.jsonl", "".join(json.dumps({"text": row}) + "\n" for row in lacking))
    with pytest.raises(InputError, match=r"de \(100\).*fr \(99\)"):
        open_corpus(f"parallel:{nearly}")
    few = write(tmp_path / "c.jsonl", "".join(json.dumps({"text": row}) + "\n" for row in lacking[1:]))
    assert parallel(f"parallel:{few}").languages == ("de", "en")
    corpus = parallel(f"parallel:{file}?field=aligned&languages=de,en")
    tally = Tally()
    assert list(corpus.rows(tally)) == [{"de": "eins", "en": "one"}, {"de": "drei", "en": "three"}]
    assert tally.empty_documents == 1
    assert corpus.reference == "en"
    rows[1]["de"] = "zwei"
    write(file, "".join(json.dumps({"text": row}) + "\n" for row in rows))
    assert parallel(f"parallel:{file}").languages == ("de", "en")
