"""Files that lie beside a tokenizer and say how it is used: templates, special tokens, settings."""

from __future__ import annotations

import numpy as np

from pyharness.features.adaptation.editing.settings import known_by_digest, read_settings
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.features.adaptation.trainers.base_file import BaseFile
from pyharness.types import Ids


def settings_files(base: BaseFile, ids: IdMap, added: Ids) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the files to copy, by name, with the ids that tokens have now; and notes on what will not know them.

    Args:
        base: the original.
        ids: where its ids have gone.
        added: ids of new tokens; a token that had one of these has it no more.

    Raises:
        InputError: a file is damaged, or needs a token that is gone.
    """
    where = np.where(np.isin(ids.new, added), -1, ids.new)
    gone = {token.content for token in base.model.added if token.id < len(where) and where[token.id] < 0}
    settings = read_settings(base.path, IdMap(where, ids.size), added.tolist(), gone)
    notes = [known_by_digest(base.kind, base.digest)]
    if settings.left_out:
        said = f"left behind, since nothing in it was adapted with {base.path.name}: {', '.join(settings.left_out)}"
        notes.append(said)
    return dict(settings.files), tuple(note for note in notes if note is not None)
