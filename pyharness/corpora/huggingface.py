"""Hugging Face datasets, streamed: ``datasets:ORG/NAME?config=&split=&field=&revision=``; or a local copy.

Code of a dataset never runs. Without a network the error comes within seconds: the library's own retries take
minutes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyharness.corpora.files.reading import named_errors
from pyharness.corpora.files.splitting import Fragment
from pyharness.corpora.options import TEXT_OPTIONS, described, document_limit
from pyharness.corpora.streaming import TextCorpus
from pyharness.plugins.libraries import load, require
from pyharness.plugins.registry import pick
from pyharness.system import folders, hub
from pyharness.system.network import unreachable
from pyharness.types import Corpus, CorpusFamily, InputError

PURPOSE = "reading Hugging Face datasets"
_BUILDERS = {
    ".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv", ".txt": "text", ".arrow": "arrow",
}  # fmt: skip
_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Source:
    """Location of the rows; ``local`` is set if it is on this machine."""

    name: str
    local: Path | None
    config: str | None
    split: str
    field: str
    revision: str | None

    def fragments(self) -> Iterator[Fragment]:
        """Stream the text of every row; a null is an empty document."""
        if self.local is None:
            check_network(self.name)
        library = load(PURPOSE, "datasets", "hub")
        number = 0
        try:
            for number, row in enumerate(self._rows(library), 1):
                yield Fragment(self._text(row, number) or "")
        except InputError:
            raise
        # The library raises errors of a dozen other libraries; none of them is a defect of ours.
        except Exception as error:
            detail = " ".join(str(error).split())[:300]
            options = f"config={self.config or 'default'}, split={self.split}, revision={self.revision or 'latest'}"
            raise InputError(
                f"dataset {self.name!r} ({options}) cannot be read after row {number}: "
                f"{type(error).__name__}: {detail}; check name and options, or read a local copy with path:"
            ) from error

    def _rows(self, library: Any) -> Any:
        if self.local is not None and (saved := _describe_saved(self.local)):
            data = library.load_from_disk(str(self.local))
            return pick("split", self.split, data) if saved == "dict" else data
        # False, not omitted: datasets 3 asks on the terminal when it is omitted, 4 and later ignore it.
        options: dict[str, Any] = {"split": self.split, "streaming": True, "trust_remote_code": False}
        if self.local is not None and self.local.is_file():
            return library.load_dataset(_BUILDERS[self.local.suffix], data_files=str(self.local), **options)
        name = str(self.local or self.name)
        return library.load_dataset(name, self.config, revision=self.revision, **options)

    def _text(self, row: Mapping[str, Any], number: int) -> str | None:
        if self.field not in row:
            raise InputError(
                f"dataset {self.name!r} has no column {self.field!r}; "
                f"it has {', '.join(map(repr, row))}: choose one with ?field="
            )
        text = row[self.field]
        if not isinstance(text, str | None):
            raise InputError(
                f"dataset {self.name!r} row {number}: column {self.field!r} holds {type(text).__name__}, "
                "not text; choose another with ?field="
            )
        return text


def _describe_saved(directory: Path) -> str:
    """Describe the content of a ``save_to_disk`` folder: one split, several, or nothing."""
    if (directory / "dataset_dict.json").exists():
        return "dict"
    return "split" if (directory / "state.json").exists() else ""


def check_network(name: str) -> None:
    """Raise ``InputError`` soon if the Hub cannot be reached, with alternatives that work offline."""
    advice = (
        "save a copy where there is a network (hf download --repo-type dataset "
        f"{name}) and read it with path:DIRECTORY or datasets:DIRECTORY"
    )
    if variable := hub.switched_off("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        raise InputError(f"dataset {name!r} is on the hub, but {variable} is set; unset it, or {advice}")
    if host := unreachable(hub.endpoint()):
        raise InputError(f"dataset {name!r}: cannot reach {host}; {advice}")


def _open(spec: str, argument: str, options: Mapping[str, str]) -> Corpus:
    local = _local(spec, argument)
    require(PURPOSE, "datasets", "hub")
    if local is None:
        check_network(argument)
    source = Source(
        name=argument, local=local, config=options.get("config") or None, split=options.get("split") or "train",
        field=options.get("field") or "text", revision=options.get("revision") or None,
    )  # fmt: skip
    return TextCorpus(
        name=spec, read=source.fragments, max_document_bytes=document_limit(options), **described(spec, options),
    )  # fmt: skip


def _local(spec: str, argument: str) -> Path | None:
    path = folders.expanded(argument)
    with named_errors(path, lambda: "looking for it"):
        exists = bool(argument) and path.exists()
    if exists:
        if path.is_file() and path.suffix not in _BUILDERS:
            raise InputError(f"{path} is of no known kind ({' '.join(_BUILDERS)}); read it with path:")
        return path
    if argument.startswith(("/", ".", "~")):
        raise InputError(f"corpus {spec!r}: there is no file or directory {str(path)!r}; check the spelling")
    if not _NAME.fullmatch(argument):
        raise InputError(f"corpus {spec!r} names no dataset; write datasets:ORG/NAME, or datasets:DIRECTORY for a copy")
    return None


CORPORA = (
    CorpusFamily(
        name="datasets",
        place=4,
        open=_open,
        summary="Hugging Face datasets, streamed; or a local copy of one",
        example="datasets:HuggingFaceFW/fineweb?config=sample-10BT&max_bytes=100MB",
        options={
            **TEXT_OPTIONS,
            "config": "the dataset's configuration (default: its default)",
            "split": "the split (default train)",
            "field": "the column with the text (default text)",
            "revision": "a commit, tag or branch, so that the text stays the same",
        },
        extra="hub",
        remote=lambda argument: _local(argument, argument) is None,
    ),
)
