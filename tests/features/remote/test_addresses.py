"""Specifications of stores: what is refused, in words that hold no secret, and which files an address names."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cases.command_line import refused
from pyharness.corpora import is_remote, keyed, open_corpus
from pyharness.corpora.parts import part_name
from pyharness.corpora.path import walk
from pyharness.features.remote import corpora, faults, providers
from pyharness.features.remote.faults import fault_of
from pyharness.features.remote.providers import PROVIDERS
from pyharness.plugins import libraries
from pyharness.types import InputError, Tally

SECRET = "dont-print-me"  # noqa: S105 -- it opens nothing


@pytest.mark.parametrize(
    "spec",
    [
        f"s3://KEY:{SECRET}@bucket/rows.jsonl",
        f"part:0/2:s3://{SECRET}@bucket/rows.jsonl",
        f"https://host/rows.jsonl?X-Amz-Date=1&X-Amz-Signature={SECRET}",
        f"https://host/rows.jsonl?token={SECRET}",
        f"https://host/rows.jsonl%3Faccess_token={SECRET}",
        f"shard:0/2:https://host/rows.jsonl?max_bytes=2kB&sig={SECRET}",
        f"nothing://user:{SECRET}@host/",
    ],
)
def test_a_secret_is_refused_and_not_repeated(spec: str) -> None:
    said = refused("run", "-t", "raw_bytes", "-c", spec, "-b", "compression")
    assert "environment" in said
    assert SECRET not in said


@pytest.mark.parametrize(
    "spec", ["s3:bucket/key", "s3://", "s3://bucket", "gs:///key", "https://h", "https://h/", "hf:"]
)
def test_what_names_no_file_is_refused_with_an_example(spec: str) -> None:
    with pytest.raises(InputError, match="no file") as refusal:
        open_corpus(spec)
    assert str(refusal.value).endswith(next(one.example for one in corpora.CORPORA if spec.startswith(f"{one.name}:")))


@pytest.mark.parametrize(("spec", "extra"), [("s3://b/k", "s3"), ("gs://b/k", "gcs"), ("https://h/k", "http")])
def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, spec: str, extra: str) -> None:
    monkeypatch.setattr(libraries, "is_installed", lambda _: False)
    providers.connected.cache_clear()
    with pytest.raises(InputError) as refusal:
        open_corpus(spec)
    assert f"pyharness[{extra}]" in str(refusal.value)


def test_a_server_that_cannot_be_reached_is_said_with_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    class Store:
        def invalidate_cache(self) -> None:
            pass

    monkeypatch.setattr(providers, "load", lambda *_: None)
    monkeypatch.setattr(providers, "unreachable", lambda url: f"{url} (no such name)")
    monkeypatch.setitem(providers.PROVIDERS, "gs", _stood_in("gs", Store()))
    providers.connected.cache_clear()
    with pytest.raises(InputError, match="STORAGE_EMULATOR_HOST"):
        open_corpus("gs://bucket/rows.jsonl")


def test_libraries_log_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    log = logging.getLogger("botocore.credentials")
    monkeypatch.setattr(logging.getLogger("botocore"), "level", logging.NOTSET)
    monkeypatch.setattr(providers, "load", lambda *_: None)
    monkeypatch.setattr(providers, "unreachable", lambda _: "nobody")
    monkeypatch.setitem(providers.PROVIDERS, "http", _stood_in("http", None))
    log.manager._clear_cache()  # type: ignore[attr-defined]
    assert log.isEnabledFor(logging.WARNING)
    with pytest.raises(InputError):
        providers.connected("http", "host-of-this-test")
    assert not log.isEnabledFor(logging.WARNING)


@pytest.mark.parametrize("host", ["127.0.0.1:99999", "[::1", "x..y"])
def test_a_host_that_is_none_is_said(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setattr(providers, "load", lambda *_: None)
    monkeypatch.setitem(providers.PROVIDERS, "http", _stood_in("http", None))
    providers.connected.cache_clear()
    with pytest.raises(InputError, match="cannot reach"):
        open_corpus(f"http://{host}/rows.jsonl")


def _answered(status: int, asked: str, size: int | None, **headers: str) -> Any:
    return SimpleNamespace(
        status=status,
        request_info=SimpleNamespace(headers={"Range": asked} if asked else {}),
        content_length=size,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        close=lambda: None,
    )


@pytest.mark.parametrize(
    ("right", "answer"),
    [
        (True, _answered(206, "bytes=10-19", 10, Content_Range="bytes 10-19/30")),
        (True, _answered(206, "bytes=10-19", 10)),
        (True, _answered(416, "bytes=10-19", None)),
        (True, _answered(200, "bytes=0-19", 30)),
        (True, _answered(200, "", 30)),
        (False, _answered(206, "bytes=10-19", 10, Content_Range="bytes 0-9/30")),
        (False, _answered(206, "bytes=1-9", 9, Content_Range="bytes 10-18/30")),
        (False, _answered(206, "bytes=10-19", None)),
        (False, _answered(200, "bytes=0-9", None, Content_Range="bytes 0-9/30")),
        (False, _answered(206, "bytes=10-19", 11, Content_Range="bytes 10-19/30")),
        (False, _answered(206, "bytes=10-19", 10, Content_Range="bytes 10-19/31")),
    ],
)
def test_an_answer_of_another_range_is_not_read(right: bool, answer: Any) -> None:
    if right:
        asyncio.run(providers.check_range(30, answer))
        return
    with pytest.raises((faults.ShortAnswer, faults.NoRanges)):
        asyncio.run(providers.check_range(30, answer))


def test_an_address_is_no_path() -> None:
    with pytest.raises(InputError, match="address"):
        open_corpus("path:s3://bucket/rows.jsonl")


def test_stores_are_remote() -> None:
    assert is_remote("s3://bucket/key")
    assert is_remote("part:0/2:https://host/file.txt")


class Answered(Exception):
    """As botocore and aiohttp raise: with an answer, or a status."""

    def __init__(self, status: int, code: str = "", region: str = "", header: str = "") -> None:
        super().__init__(f"https://host/?X-Amz-Signature={SECRET}")
        self.status = status
        about = {"HTTPStatusCode": status, "HTTPHeaders": {"x-amz-bucket-region": header} if header else {}}
        self.response = {"Error": {"Code": code, "Region": region}, "ResponseMetadata": about}


class TooManyRedirects(Answered):
    pass


class ServerTimeoutError(Exception):
    pass


def caused(error: Exception, cause: Exception | None) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "words", "passing"),
    [
        (Answered(403, "InvalidAccessKeyId"), ("InvalidAccessKeyId", "AWS_ACCESS_KEY_ID"), False),
        (caused(PermissionError("Forbidden"), Answered(403)), ("403", "AWS_PROFILE"), False),
        (Answered(400, "AuthorizationHeaderMalformed", "eu-west-9"), ("region, eu-west-9", "AWS_REGION=eu-"), False),
        (Answered(301, "PermanentRedirect"), ("another region:", "AWS_REGION"), False),
        (Answered(400, "400", header="us-west-2"), ("us-west-2",), False),
        (Answered(400, "AuthorizationHeaderMalformed", SECRET), ("another region:",), False),
        (FileNotFoundError("k"), ("does not exist",), False),
        (Answered(404, "NoSuchBucket"), ("does not exist",), False),
        (caused(FileNotFoundError("k"), Answered(503)), ("503",), True),
        (caused(FileNotFoundError("k"), ServerTimeoutError()), ("within 5 s",), True),
        (Answered(503, "SlowDown"), ("SlowDown",), True),
        (Answered(412, "PreconditionFailed"), ("changed",), False),
        (faults.NoRanges(), ("path:",), False),
        (caused(FileNotFoundError("k"), TooManyRedirects(301)), ("redirected",), False),
        (caused(OSError("k"), ssl.SSLCertVerificationError(SECRET)), ("SSL_CERT_FILE",), False),
        (ValueError(f"Invalid endpoint: {SECRET}"), ("AWS_ENDPOINT_URL",), False),
        (NotImplementedError(SECRET), ("no address",), False),
        (json.JSONDecodeError(SECRET, "", 0), ("later",), True),
        (faults.ShortAnswer("came with 1 of 2 bytes"), ("1 of 2",), True),
        (ConnectionResetError(SECRET), ("ConnectionResetError",), True),
    ],
)
def test_errors_are_told_apart(error: Exception, words: tuple[str, ...], passing: bool) -> None:
    fault = fault_of(error, PROVIDERS["s3"].settings)
    text = f"{fault.what}: {fault.advice}"
    assert fault.passing is passing
    assert SECRET not in text
    for word in words:
        assert word in text


def test_only_what_may_pass_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "PAUSES", (0, 0))
    settings, calls = PROVIDERS["s3"].settings, list[int]()

    def ask(error: Exception, until: int) -> str:
        calls.append(1)
        if len(calls) < until:
            raise error
        return "answer"

    assert faults.tried("s3://b/k", settings, lambda: ask(Answered(503), 3)) == "answer"
    calls.clear()
    with pytest.raises(InputError) as refusal:
        faults.tried("s3://b/k", settings, lambda: ask(Answered(503), 9))
    assert len(calls) == faults.TRIES
    assert refusal.value.__cause__ is None
    calls.clear()
    with pytest.raises(InputError):
        faults.tried("s3://b/k", settings, lambda: ask(Answered(403), 9))
    assert len(calls) == 1


class Disk:
    """A file system of fsspec over a folder, as far as it is used here."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, address: str) -> Path:
        return self.folder / address.partition("://")[2]

    def _about(self, path: Path) -> Mapping[str, Any]:
        kind = "directory" if path.is_dir() else "file"
        return {"name": str(path.relative_to(self.folder)), "type": kind, "size": path.stat().st_size}

    def invalidate_cache(self) -> None:
        pass

    def info(self, address: str) -> Mapping[str, Any]:
        path = self._path(address) if "://" in address else self.folder / address
        if not path.exists():
            raise FileNotFoundError(address)
        return self._about(path)

    def find(self, address: str, detail: bool) -> Mapping[str, Any]:
        assert detail
        every = [self._about(path) for path in self._path(address).rglob("*") if path.is_file()]
        return {one["name"]: one for one in every}

    def glob(self, address: str, detail: bool) -> Mapping[str, Any]:
        assert detail
        every = [self._about(path) for path in self.folder.glob(address.partition("://")[2])]
        return {one["name"]: one for one in every}

    def open(self, path: str, mode: str, **_: Any) -> Any:
        content = open(self.folder / path, mode)  # noqa: PTH123, SIM115 -- a test double
        size = (self.folder / path).stat().st_size

        class Handle:
            def __init__(self) -> None:
                self.size, self.seek, self.read = size, content.seek, content.read

            def __del__(self) -> None:
                content.close()

        return Handle()


def _stood_in(scheme: str, store: Any) -> Any:
    return replace(PROVIDERS[scheme], connect=lambda _: store)


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that ``s3://bucket/`` reads."""
    monkeypatch.setattr(corpora, "store_of", lambda _: Disk(tmp_path))
    names = ["a/b.txt", "a.txt", "a/b/c.jsonl", "z.md", ".hidden/a.txt", "a/.b.txt", "image.png", "B.txt", "a-b/c.txt"]
    for name in names:
        path = tmp_path / "bucket" / "texts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"text": "row"}\n' if name.endswith("jsonl") else f"text of {name}", encoding="utf-8")
    return tmp_path / "bucket"


def read(spec: str) -> list[str]:
    return [piece.text for piece in keyed(open_corpus(spec), Tally())]


def test_a_folder_and_a_glob_have_the_files_of_path_in_its_order(bucket: Path) -> None:
    assert len(list(walk(bucket / "texts"))) == 6
    for where in ("texts", "texts/", "texts/*.txt", "texts/a/*"):
        assert read(f"s3://bucket/{where}") == read(f"path:{bucket / where}")
    assert read("s3://bucket/") == read(f"path:{bucket}")
    assert read("s3://bucket/texts/image.png") == ["text of image.png"]


def test_parts_are_those_of_path(bucket: Path) -> None:
    for index in range(4):
        assert read(part_name("s3://bucket/texts?split=line", index, 4)) == read(
            part_name(f"path:{bucket / 'texts'}?split=line", index, 4)
        )


@pytest.mark.parametrize("where", ["no.txt", "no/*.txt", "texts/*.png?field=x"])
def test_what_is_not_there_is_said(bucket: Path, where: str) -> None:
    assert bucket.is_dir()
    if where.startswith("texts"):
        (bucket / "texts" / "image.png").unlink()
    with pytest.raises(InputError):
        open_corpus(f"s3://bucket/{where}")


def test_options_are_those_of_path(bucket: Path) -> None:
    assert bucket.is_dir()
    for spec in ("s3://bucket/texts/z.md?field=x", "s3://bucket/texts?split=words", "s3://bucket/texts?bogus=1"):
        with pytest.raises(InputError):
            open_corpus(spec)
