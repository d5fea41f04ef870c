"""Corpora of addresses: ``s3://BUCKET/KEY``, ``gs://``, ``hf://``; a folder (``s3://BUCKET/``) or a glob of them; ``https://HOST/FILE``.

Kinds of files, order, documents and options are those of ``path:``.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pyharness.corpora.files import reading
from pyharness.corpora.files.reading import Extent
from pyharness.corpora.path import FILE_OPTIONS, check_libraries, of_files
from pyharness.features.remote.faults import fault_of, tried
from pyharness.features.remote.objects import StoredFile, guarded, looked_up, state_in
from pyharness.features.remote.providers import PROVIDERS, Provider, store_of
from pyharness.types import Corpus, CorpusFamily, InputError

Files = Callable[[], list[StoredFile]]


def _open(spec: str, argument: str, options: Mapping[str, str]) -> Corpus:
    provider = PROVIDERS[spec.partition(":")[0]]
    bucket, whole, key = argument.removeprefix("//").partition("/")
    if not argument.startswith("//") or not bucket or not (key or (whole and provider.lists)):
        raise InputError(f"corpus {spec!r} names no file; write {_EXAMPLES[provider.scheme]}")
    single, files = _found(provider, f"{provider.scheme}:{argument}")
    if not (every := files()):
        raise InputError(f"{spec} has no files that match, or of a known kind ({' '.join(reading.KINDS)}): name one")
    for file in every:
        check_libraries(file)
    corpus = of_files(spec, files, options, only=every[0] if single else None)
    fragments = guarded(corpus.fragments)
    return replace(corpus, fragments=fragments, read=lambda: fragments(map(Extent, files())))


def _found(provider: Provider, address: str) -> tuple[bool, Files]:
    """Return whether an address names one file, and how to list its files, again and again."""
    store = store_of(address)

    def listed(what: Callable[[], Any]) -> Any:
        store.invalidate_cache()
        return tried(address, provider.settings, what)

    def file_of(about: Mapping[str, Any]) -> StoredFile:
        return StoredFile(store, provider.scheme, str(about["name"]), state_in(about))

    def one() -> list[StoredFile]:
        return [listed(lambda: file_of(looked_up(store, address)))]

    def inside() -> list[StoredFile]:
        root, every = str(about["name"]).rstrip("/"), listed(lambda: store.find(address, detail=True))
        return [file_of(every[path]) for path in _walked(root, every)]

    def matching() -> list[StoredFile]:
        every = listed(lambda: store.glob(address, detail=True))
        shown = [path for path in every if "/." not in path or "/." in address]
        return [file_of(every[path]) for path in sorted(shown) if every[path]["type"] == "file"]

    about = listed(lambda: _about(store, address, provider))
    if about is None and glob.has_magic(address) and provider.lists:
        return False, matching
    if about is None:
        raise InputError(f"{address} does not exist: check the spelling")
    if about["type"] == "directory" or (address.endswith("/") and provider.lists):  # a file may have a folder's name
        return False, inside
    return True, one


def _about(store: Any, address: str, provider: Provider) -> Mapping[str, Any] | None:
    """Return what a store says of an address, or None if there is nothing of that name."""
    try:
        return looked_up(store, address)
    except Exception as error:
        if fault_of(error, provider.settings).absent:
            return None
        raise


def _walked(root: str, every: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths of known kinds below a folder without hidden ones, in the order of ``path:``."""
    inner = {path: path.removeprefix(root).strip("/").split("/") for path in every}
    for path in sorted(every, key=inner.__getitem__):
        shown = not any(part.startswith(".") for part in inner[path])
        if every[path]["type"] == "file" and shown and reading.kind(inner[path][-1]):
            yield path


_EXAMPLES = {
    "s3": "s3://bucket/folder/*.jsonl",
    "gs": "gs://bucket/folder/*.parquet",
    "hf": "hf://datasets/org/name/data/*.parquet",
    "https": "https://host/file.jsonl.gz",
    "http": "http://host/file.jsonl.gz",
}
_SUMMARIES = {
    "s3": "files of S3, or of a store that speaks like it: one, a folder or a glob",
    "gs": "files of Google Cloud Storage: one, a folder or a glob",
    "hf": "files of repositories of the Hugging Face Hub: one, a folder or a glob",
    "https": "a file of a web server that sends ranges of bytes",
    "http": "like https, unencrypted",
}
CORPORA = tuple(
    CorpusFamily(
        name=scheme,
        place=7,
        open=_open,
        summary=_SUMMARIES[scheme],
        example=_EXAMPLES[scheme],
        options=FILE_OPTIONS,
        extra=provider.extra,
        remote=lambda _: True,
    )
    for scheme, provider in PROVIDERS.items()
)
