"""Whether 20 parts of a gigabyte of each kind of file read at most 1.02 times that, over the loopback address."""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import random
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyharness.corpora import keyed, open_corpus
from pyharness.corpora.parts import part_name
from pyharness.features.remote import providers
from pyharness.types import Tally
from stored.server import Stored, serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
PARTS, BYTES, DOCUMENT = 20, 10**9, 4000
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDOFTESTS", "AWS_SECRET_ACCESS_KEY": "none", "AWS_EC2_METADATA_DISABLED": "true"}


def documents(seed: int) -> list[str]:
    """A twentieth of the text: hexadecimal digits, of which a packer leaves half."""
    draw = random.Random(seed)
    return [draw.randbytes(DOCUMENT // 2).hex() for _ in range(BYTES // PARTS // DOCUMENT)]


def as_lines(texts: Iterable[str]) -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


def made(kind: str) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files of a kind."""
    if kind == "parquet":
        file = io.BytesIO()
        with pq.ParquetWriter(file, pa.schema([("text", pa.string())]), compression="none") as writer:
            for seed in range(PARTS):
                writer.write_table(pa.table({"text": documents(seed)}), row_group_size=4000)
        yield "rows.parquet", file.getvalue()
    elif kind == "jsonl":
        yield "rows.jsonl", b"".join(as_lines(documents(seed)) for seed in range(PARTS))
    for seed in range(PARTS) if kind in ("jsonl.xz", "txt") else ():
        texts = documents(seed)
        data = "\n".join(texts).encode() if kind == "txt" else lzma.compress(as_lines(texts), preset=0)
        yield f"{seed:02}.{kind}", data


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "jsonl.xz", "txt"])
def test_parts_of_a_gigabyte(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    stored = Stored({f"b/{name}": data for name, data in made(kind)})
    size, expected, found = sum(map(len, stored.objects.values())), hashlib.sha256(), hashlib.sha256()
    for seed in range(PARTS):
        expected.update("".join(documents(seed)).encode())
    with serving(stored) as address:
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": address, "NO_PROXY": "127.0.0.1"}.items():
            monkeypatch.setenv(name, value)
        providers.connected.cache_clear()
        for index in range(PARTS):
            for piece in keyed(open_corpus(part_name("s3://b/", index, PARTS)), Tally()):
                found.update(piece.text.replace("\n", "").encode())
    providers.connected.cache_clear()
    print(f"{kind}: {stored.sent:,} of {size:,} bytes, {stored.sent / size:.4f}")
    assert found.hexdigest() == expected.hexdigest()
    assert stored.sent <= 1.02 * size
