"""A model's configuration after its ids have moved: the size of the vocabulary, and ids that it names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pyharness.language_models.surgery.plan import EmbeddingPlan
from pyharness.types import InputError
from pyharness.vocabularies.files.moved_ids import AMBIGUOUS, NAMES_IDS

_TEXT = "text_config"


def with_rows(config: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """Return a configuration whose vocabulary has so many ids: that of the model, or of the text model within it."""
    changed = dict(config)
    text = config.get(_TEXT)
    if isinstance(text, dict):
        changed[_TEXT] = {**text, "vocab_size": rows}
    if not isinstance(text, dict) or "vocab_size" in config:
        changed["vocab_size"] = rows
    return changed


def with_ids(content: Mapping[str, Any], plan: EmbeddingPlan, file: str) -> dict[str, Any]:
    """Return a configuration whose ids are the new ones, in the text model within it, too.

    Ids beyond the old tokenizer and its padding are no rows, and stay: they are defaults that nothing uses.

    Raises:
        InputError: it names an id that has no row any more.
    """
    where = plan.moved_to
    if (where == range(plan.rows)).all():
        return dict(content)

    def moved(number: Any, key: str) -> Any:
        if isinstance(number, list):
            return [moved(part, key) for part in number]
        if isinstance(number, dict):
            return {name: moved(part, key) for name, part in number.items()}
        if type(number) is not int or not 0 <= number < plan.rows:
            return number
        if where[number] < 0:
            raise InputError(f"{file} names id {number} as {key}, which has no row any more; keep that token")
        return int(where[number])

    return _mapped(content, moved, file)


def _mapped(content: Mapping[str, Any], moved: Callable[[Any, str], Any], file: str) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for key, value in content.items():
        if key in AMBIGUOUS and value:
            raise InputError(f"{file} has {key}, whose ids cannot be told from its other numbers; take it out first")
        if isinstance(value, dict) and key == _TEXT:  # models of images and sounds have vocabularies of their own
            changed[key] = _mapped(value, moved, file)
        else:
            changed[key] = moved(value, key) if NAMES_IDS.fullmatch(key) else value
    return changed


def written(content: Mapping[str, Any]) -> bytes:
    """Return JSON as transformers writes it."""
    return (json.dumps(content, indent=2) + "\n").encode()
