"""Over the loopback address: texts of S3 and of a web server are those of files here, whatever goes wrong between."""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cases.command_line import program
from divided import runs as divided
from pyharness import store
from pyharness.corpora import keyed, open_corpus
from pyharness.corpora.parts import part_name
from pyharness.features.remote import faults, providers
from pyharness.types import InputError, Tally
from stored.google import GoogleHandler
from stored.hub import HubHandler
from stored.server import Fault, Stored, serving

pytestmark = [
    pytest.mark.process,
    # A connection that a server has cut is closed by the collector, whenever that comes.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
SECRET = "dont-print-me-either"  # noqa: S105 -- it opens nothing
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDOFTESTS", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_EC2_METADATA_DISABLED": "true"}
SCHEMES = ("s3", "http")
LIBRARIES = {"s3": "s3fs", "http": "aiohttp"}


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stored]:
    """A server; ``s3://`` reads it, and so does ``http://`` at ``stored.address``."""
    stored = Stored({})
    with serving(stored) as address:
        stored.address = address
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": address, "NO_PROXY": "127.0.0.1"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(faults, "PAUSES", (0.01, 0.01))
        providers.connected.cache_clear()
        yield stored
    providers.connected.cache_clear()


def at(stored: Stored, scheme: str, path: str) -> str:
    pytest.importorskip(LIBRARIES[scheme], reason=f"{LIBRARIES[scheme]} is not installed")
    return f"s3://{path}" if scheme == "s3" else f"{stored.address}/{path}"


def put(stored: Stored, folder: Path) -> None:
    """Store the files below a folder in the bucket "b"."""
    for path in folder.rglob("*"):
        if path.is_file():
            stored.objects[f"b/{path.relative_to(folder)}"] = path.read_bytes()


def read(spec: str) -> list[str]:
    return [piece.text for piece in keyed(open_corpus(spec), Tally())]


def rows(count: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    return [draw.randbytes(draw.randint(1, 450)).hex() for _ in range(count)]


def as_lines(texts: list[str]) -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


@pytest.mark.parametrize("parts", [0, 5])
def test_a_record_is_that_of_local_files(stored: Stored, tmp_path: Path, parts: int) -> None:
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    divided.write_texts(tmp_path, 40)
    expected = divided.in_one_process(
        divided.write_suite(tmp_path, ["raw_bytes", "patches:space"]), tmp_path / "local.json"
    )
    (tmp_path / "local.json").unlink()
    put(stored, tmp_path)
    text = (tmp_path / "suite.toml").read_text(encoding="utf-8").replace(f"path:{tmp_path}/", "s3://b/")
    (tmp_path / "remote.toml").write_text(text, encoding="utf-8")
    more = ("--parts", str(parts)) if parts else ()
    output = tmp_path / "remote.json"
    done = program("run", str(tmp_path / "remote.toml"), *more, "-o", str(output))
    assert done.returncode == 0, done.stderr
    divided.assert_equal(store.read(output), expected)
    assert SECRET not in done.stdout + done.stderr
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", ["jsonl", "parquet", "txt", "jsonl.xz"])
def test_parts_read_hardly_more_than_the_whole(stored: Stored, tmp_path: Path, scheme: str, kind: str) -> None:
    texts, path = rows(20_000), tmp_path / f"rows.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({"text": texts}), path, row_group_size=2000, compression="none")
    else:
        data = as_lines(texts) if "jsonl" in kind else "\n".join(texts).encode()
        path.write_bytes(lzma.compress(data, preset=0) if kind.endswith("xz") else data)
    put(stored, tmp_path)
    spec, whole = at(stored, scheme, f"b/{path.name}"), read(f"path:{path}")
    stored.sent = 0
    assert [text for index in range(20) for text in read(part_name(spec, index, 20))] == whole
    # A footer of Parquet is read with 64 KiB by each part: little of a file that is worth dividing.
    footers = 20 * (64 << 10) if kind == "parquet" else 0
    assert stored.sent - footers <= 1.02 * path.stat().st_size


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("fault", ["503", "cut", "short"])
def test_what_fails_now_and_then_changes_nothing(stored: Stored, scheme: str, fault: Fault) -> None:
    texts = rows(4000)
    stored.objects["b/rows.jsonl"] = as_lines(texts)
    stored.fault = lambda number, method, path: fault if number % 7 == 0 and method == "GET" else None
    assert [one for index in range(5) for one in read(part_name(at(stored, scheme, "b/rows.jsonl"), index, 5))] == texts


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_connection_that_stalls_is_given_up(stored: Stored, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setattr(providers, "SECONDS", 0.5)
    stored.stall_seconds = 3
    texts = rows(2000)
    stored.objects["b/rows.jsonl"] = as_lines(texts)
    gets = iter(range(10**6))
    stored.fault = lambda number, method, path: "stall" if method == "GET" and next(gets) == 1 else None
    assert read(at(stored, scheme, "b/rows.jsonl")) == texts
    stored.fault = lambda number, method, path: "stall" if method == "GET" else None
    with pytest.raises(InputError, match="within 5 s"):
        read(at(stored, scheme, "b/rows.jsonl"))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("fault", "word"),
    [("403", "403"), ("404", "does not exist"), ("region", "region"), ("short", "bytes at"),
     ("503", "try later"), ("whole", "path:")],
)  # fmt: skip
def test_what_cannot_be_read_is_said(stored: Stored, scheme: str, fault: Fault, word: str) -> None:
    if (scheme, fault) in (("http", "region"), ("s3", "whole")):
        pytest.skip("of one kind of server alone")
    stored.objects["b/rows.jsonl"] = as_lines(rows(3000))
    spec = at(stored, scheme, "b/rows.jsonl")
    corpus = None if fault in ("403", "404", "region", "503") else open_corpus(spec)
    stored.fault = lambda number, method, path: fault
    with pytest.raises(InputError, match=word) as refusal:
        [text for one in [corpus or open_corpus(spec)] for text in one.documents(Tally())]
    assert str(refusal.value).startswith(spec)
    assert "secret-in-a-message" not in str(refusal.value)
    assert "eu-west-9" in str(refusal.value) or fault != "region"


def test_a_region_that_is_wrong_for_some_reason_says_what_to_set(stored: Stored) -> None:
    stored.fault, stored.mute = (lambda number, method, path: "region"), True
    with pytest.raises(InputError, match="AWS_REGION"):
        open_corpus(at(stored, "s3", "b/rows.jsonl"))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_file_that_changes_under_a_part_fails_it_by_name(stored: Stored, scheme: str) -> None:
    stored.objects["b/rows.jsonl"] = as_lines(["a" * 900] * 3000)
    spec = at(stored, scheme, "b/rows.jsonl")
    reading = keyed(open_corpus(part_name(spec, 0, 2)), Tally())
    next(reading)
    stored.objects["b/rows.jsonl"] = as_lines(["b" * 900] * 3000)  # of the same size: only the etag tells
    with pytest.raises(InputError, match="changed") as refusal:
        list(reading)
    assert spec in str(refusal.value)


def test_a_length_that_is_out_of_date_is_an_error_and_not_a_shorter_text(stored: Stored) -> None:
    stored.objects["b/a.jsonl"] = as_lines(rows(40))
    stored.fault = lambda number, method, path: "stale" if method == "HEAD" else None
    with pytest.raises(InputError, match=r"a\.jsonl has [\d,]+ bytes .* and [\d,]+ in another"):
        read(at(stored, "http", "b/a.jsonl"))


def test_a_name_that_does_not_resolve_says_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": "http://nowhere.invalid"}.items():
        monkeypatch.setenv(name, value)
    words = ("run", "-t", "raw_bytes", "-c", "s3://b/rows.jsonl", "-b", "compression")
    done = program(*words, "-o", str(tmp_path / "r.json"))
    assert done.returncode == 2
    assert "AWS_ENDPOINT_URL" in done.stderr
    assert SECRET not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_files_that_changed_after_the_plan_are_refused(stored: Stored, tmp_path: Path) -> None:
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    stored.objects["b/rows.jsonl"] = as_lines(rows(300))
    suite = divided.write_suite(tmp_path, ["raw_bytes"], ["rows.jsonl"], ["compression"])
    suite.write_text(suite.read_text(encoding="utf-8").replace(f"path:{tmp_path}/", "s3://b/"), encoding="utf-8")
    assert program("plan", str(suite), "--parts", "2", "-o", str(tmp_path / "run")).returncode == 0
    stored.objects["b/rows.jsonl"] = as_lines(rows(300, seed=1))
    done = program("work", str(tmp_path / "run"), "--part", "0")
    assert done.returncode == 2
    assert "rows.jsonl" in done.stderr


def test_a_folder_is_one_though_a_file_has_its_name(stored: Stored) -> None:
    stored.objects.update({"b/m": b"file", "b/m/x.txt": b"inside"})
    assert read(at(stored, "s3", "b/m")) == ["file"]
    assert read(at(stored, "s3", "b/m/")) == ["inside"]
    assert read(at(stored, "s3", "b/")) == ["inside"]  # a whole bucket; what has no suffix is of no known kind


ODD = ["a b", "a#b", "q?x", "p%20q", "p%2Fq", "ü/日", "d//e", "t\tb", "n\nl", "+x", "&=", "[1]", "b/x://y", "\\"]


def test_names_are_taken_as_they_are(stored: Stored) -> None:
    stored.objects.update({f"b/t/{name}.txt": name.encode() for name in ODD})
    assert sorted(read(at(stored, "s3", "b/t/"))) == sorted(ODD)
    for name in ODD:
        assert read(at(stored, "s3", f"b/t/{name}.txt")) == [name]


def test_files_of_the_hub_are_those_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    (tmp_path / "data").mkdir()
    for number in range(2):
        (tmp_path / "data" / f"{number}.jsonl").write_bytes(as_lines(rows(200, seed=number)))
    suite = divided.write_suite(tmp_path, ["raw_bytes"], ["data"], ["compression"])
    expected = divided.in_one_process(suite, tmp_path / "local.json")
    stored = Stored({})
    for path in (tmp_path / "data").iterdir():
        stored.objects[f"datasets/org/name/data/{path.name}"] = path.read_bytes()
    suite.write_text(suite.read_text(encoding="utf-8").replace(f"path:{tmp_path}/", "hf://datasets/org/name/"))
    output = tmp_path / "hub.json"
    with serving(stored, HubHandler) as address:
        for name, value in {"HF_ENDPOINT": address, "HF_TOKEN": SECRET, "NO_PROXY": "127.0.0.1"}.items():
            monkeypatch.setenv(name, value)
        done = program("run", str(suite), "--parts", "3", "-o", str(output))
    assert done.returncode == 0, done.stderr
    divided.assert_equal(store.read(output), expected)
    assert SECRET not in done.stderr + output.read_text(encoding="utf-8")
    assert any(asked.startswith("bytes=") for _, _, asked in stored.asked)


def test_files_of_google_are_those_that_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gcsfs", reason="gcsfs is not installed")
    texts = rows(2000)
    stored = Stored({"b/data/0.jsonl": as_lines(texts[:1200]), "b/data/1.jsonl": as_lines(texts[1200:])})
    monkeypatch.setattr(faults, "PAUSES", (0.01, 0.01))
    with serving(stored, GoogleHandler) as address:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        providers.connected.cache_clear()
        for spec in ("gs://b/data/", "gs://b/data/*.jsonl"):
            assert read(spec) == texts
            assert [one for index in range(3) for one in read(part_name(spec, index, 3))] == texts
        numbers = iter(range(1, 10**6))
        stored.fault = lambda number, method, path: "short" if next(numbers) % 3 == 0 else None
        assert read("gs://b/data/") == texts
        stored.fault = lambda number, method, path: "short"
        with pytest.raises(InputError, match="bytes at"):
            read("gs://b/data/0.jsonl")
    providers.connected.cache_clear()
