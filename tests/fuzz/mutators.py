"""Mutations that know what a file is made of: bytes changed blindly seldom get past the parser."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import atheris

from pyharness.types import InputError
from pyharness.vocabularies.own_file import digest
from pyharness.vocabularies.sentencepiece_file import fields
from tokenizer_files import message

Mutator = Callable[[bytes, int, int], bytes]  # data, most bytes, seed -> data
Mutation = Callable[[bytes, int, random.Random], bytes]

BLIND = 0.1  # share of the mutations that change bytes of the file, whatever they mean
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 255, 256, 2**31, 2**32 - 1, 2**64, 10**400, 0.5, 1e308, "", "a", "<0x41>", "\ud800",
    "\x00", "Ġ", "▁", "a" * 99, [], {}, [[]], {"type": "Sequence"}, {"String": ""}, {"Regex": "(a|a)*b"},
)  # fmt: skip


def mutator(mutation: Mutation) -> Mutator:
    """What atheris calls; a mutation that does not fit the data or the size gives way to a blind one."""

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        generator = random.Random(seed)
        if generator.random() > BLIND:
            try:
                found = mutation(data, max_size, generator)
            except (ValueError, IndexError, RecursionError):
                found = b""
            if 0 < len(found) <= max_size:
                return found
        return bytes(atheris.Mutate(data, max_size))

    return mutate


def change_text(text: str, generator: random.Random) -> str:
    if generator.random() < 0.3:
        return generator.choice([value for value in VALUES if isinstance(value, str)])
    changed = atheris.Mutate(text.encode(errors="surrogatepass"), len(text) * 2 + 8)
    return str(bytes(changed).decode(errors="replace"))


# ------------------------------------------------------------------------------------------ JSON


def json_mutation(data: bytes, max_size: int, generator: random.Random) -> bytes:
    content = json.loads(data)
    for _ in range(generator.choice((1, 1, 1, 2, 4))):
        content = _change(content, content, generator)
    return json.dumps(content, ensure_ascii=generator.random() < 0.5).encode(errors="surrogatepass")


def _change(value: Any, whole: Any, generator: random.Random) -> Any:
    """Change something inside, every level as likely as the next."""
    if not isinstance(value, (dict, list)) or not value or generator.random() < 0.15:
        return _another(value, whole, generator)
    if isinstance(value, list):
        return _change_list(value, whole, generator)
    key = generator.choice(list(value))
    action = generator.random()
    changed = dict(value)
    if action < 0.1:
        del changed[key]
    elif action < 0.2:
        changed[change_text(key, generator)] = changed.pop(key)
    else:
        changed[key] = _change(value[key], whole, generator)
    return changed


def _change_list(values: list[Any], whole: Any, generator: random.Random) -> list[Any]:
    changed, at = list(values), generator.randrange(len(values))
    action = generator.random()
    if action < 0.1:
        del changed[at]
    elif action < 0.2:
        changed.insert(generator.randrange(len(changed) + 1), changed[at])
    elif action < 0.3:
        generator.shuffle(changed)
    else:
        changed[at] = _change(values[at], whole, generator)
    return changed


def _another(value: Any, whole: Any, generator: random.Random) -> Any:
    if generator.random() < 0.3:
        return generator.choice(list(_parts(whole)))
    if isinstance(value, str) and generator.random() < 0.7:
        return change_text(value, generator)
    if type(value) is int and generator.random() < 0.7:
        return value + generator.choice((-256, -1, 1, 256))
    return generator.choice(VALUES)


def _parts(value: Any) -> Iterator[Any]:
    """Parts of a document, but not all of its vocabulary."""
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in list(inner)[-8:]:
        yield from _parts(part)


# ------------------------------------------------------------------------------------------ lines, protobuf


def change_items(items: list[bytes], most: int, generator: random.Random) -> list[bytes]:
    """Drop, repeat, swap or change items of a flat list."""
    changed = list(items)
    for _ in range(generator.choice((1, 1, 2, 3))):
        at, other = generator.randrange(len(changed)), generator.randrange(len(changed))
        action = generator.randrange(5)
        if action == 0:
            del changed[at]
        elif action == 1:
            changed.insert(at, changed[other])
        elif action == 2:
            changed[at], changed[other] = changed[other], changed[at]
        else:
            changed[at] = bytes(atheris.Mutate(changed[at], min(most, len(changed[at]) + 16)))
    return changed


def line_mutation(data: bytes, max_size: int, generator: random.Random) -> bytes:
    return b"\n".join(change_items(data.split(b"\n"), max_size, generator))


def message_mutation(data: bytes, max_size: int, generator: random.Random) -> bytes:
    """Change the payloads of a protobuf message's fields, and put the lengths right."""
    try:
        parts = [bytes([number]) + value for number, value in fields(data, "seed") if isinstance(value, bytes)]
    except InputError:
        return b""
    changed = change_items(parts, max_size, generator)
    return b"".join(message(part[0] & 15 or 1, part[1:]) for part in changed if part)


def model_file_mutation(data: bytes, max_size: int, generator: random.Random) -> bytes:
    """Change a file of our own, and put its digest right."""
    content = json.loads(json_mutation(data, max_size, generator))
    if isinstance(content, dict) and "digest" in content:
        del content["digest"]
        content["digest"] = digest(content)
    return json.dumps(content, ensure_ascii=False).encode(errors="surrogatepass")
