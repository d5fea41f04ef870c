"""What a model's configuration says of ids: how many there are, and where that stands in a model of several parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

SIZE = "vocab_size"
Place: TypeAlias = tuple[str, ...]  # keys of the objects around a vocab_size, from outside; none: the outermost
_DEPTH = 3  # of models within models


def places(config: Mapping[str, Any], place: Place = ()) -> Iterator[Place]:
    """Objects that have a size of a vocabulary, the outer ones first."""
    if type(config.get(SIZE)) is int:
        yield place
    if len(place) < _DEPTH:
        for key, value in config.items():
            if isinstance(value, dict):
                yield from places(value, (*place, key))


def within(config: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
    """Object at a place; an empty one where there is none."""
    for key in place:
        inner = config.get(key)
        config = inner if isinstance(inner, dict) else {}
    return config


def with_rows(config: Mapping[str, Any], where: Iterable[Place], rows: int) -> dict[str, Any]:
    """Return a configuration whose vocabularies at some places have so many ids."""
    changed = dict(config)
    for place in where:
        if not place:
            changed[SIZE] = rows
        else:
            inner = within(changed, place[:1])
            changed[place[0]] = with_rows(inner, (place[1:],), rows)
    return changed


def others(config: Mapping[str, Any], where: Iterable[Place]) -> set[str]:
    """Keys of objects that have none of these places in them: of images, of sounds, of another vocabulary."""
    around = {place[:end] for place in where for end in range(len(place) + 1)} | {()}
    inner = {
        (*place, key) for place in around for key, value in within(config, place).items() if isinstance(value, dict)
    }
    return {place[-1] for place in inner - around}


def written(content: Mapping[str, Any]) -> bytes:
    """Return JSON as transformers writes it."""
    return (json.dumps(content, indent=2) + "\n").encode()
