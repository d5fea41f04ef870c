"""Are our kinds of tokens those of tokka-bench's own code, on the texts that it publishes?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m boards.token_kinds CHECKOUT

CHECKOUT is github.com/bgub/tokka-bench. Its ``unicode_utils.py``, which needs no other package, is loaded from there
and looks at each token of the published ids in 120 languages. Ours looks at the entry's bytes. Two sorts of tokens are
counted apart. A part of a character is a symbol there, and has no kind here. Letters of Thai whose names hold HAN, such
as THO THAHAN and PHO PHAN, are Chinese there. The exit status is 1 where other tokens differ.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import unicodedata
from collections import Counter
from pathlib import Path
from types import ModuleType

import click

from boards import published, table
from boards.sample_ids import FILES
from pyharness import tokenizers
from pyharness.features.distribution.token_kinds import COLUMNS, KINDS, SEVERAL, flags_of, kind_of
from pyharness.types import HasVocabulary

PARTS, HAN = APART = ("parts of characters", "letters of Thai with HAN")


def originals(checkout: Path) -> ModuleType:
    """Load the module of the original that looks at text."""
    path = checkout / "src/tokka_bench/unicode_utils.py"
    spec = importlib.util.spec_from_file_location("tokka_unicode_utils", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SystemExit(f"{path} is not there: name a checkout of tokka-bench")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def theirs(module: ModuleType, data: bytes) -> dict[str, bool]:
    """Look at a token as the original does: decoded by itself."""
    text = data.decode(errors="replace")
    scripts = {script.lower() for script in module.get_unicode_scripts(text)}
    return {
        "leading space": module.starts_with_space(text), "inner space": module.has_whitespace_in_middle(text),
        SEVERAL: len(scripts) > 1, **{kind: kind.lower() in scripts for kind in KINDS},
    }  # fmt: skip


def why_apart(data: bytes) -> str:
    """Say why both differ for a token, whatever the rest of it is; "" if they should not."""
    if data.decode(errors="ignore").encode() != data:
        return PARTS
    thai = (character for character in data.decode() if kind_of(character) == "Thai")
    return HAN if any("HAN" in unicodedata.name(character) for character in thai) else ""


def differences(module: ModuleType, data: bytes) -> list[str]:
    """Name the columns in which both differ for a token."""
    ours = dict(zip(COLUMNS, flags_of(data), strict=True))
    return [name for name, flag in theirs(module, data).items() if ours[name] != flag]


def main(checkout: Path) -> int:
    """Print a row for each tokenizer."""
    board, folder, module = published("tokka_ids"), os.environ["PYHARNESS_DATA"], originals(checkout)
    rows, wrong = [], 0
    for row, path in FILES.items():
        tokenizer = tokenizers.load(f"file:{folder}/tokenizers/{path}")
        assert isinstance(tokenizer, HasVocabulary)
        strings = tokenizer.vocabulary().strings()
        uses = Counter(token for ids in board["ids"][row].values() for token in ids)
        entries = {token: strings[token] for token in uses}
        apart = {token: reason for token, data in entries.items() if (reason := why_apart(data))}
        counts = Counter(apart.values())
        others = [token for token, data in entries.items() if token not in apart and differences(module, data)]
        wrong += len(others)
        rows.append([row, f"{uses.total():,}", f"{len(uses):,}", *(str(counts[one]) for one in APART),
                     str(len(entries) - len(apart)), str(len(others))])  # fmt: skip
    head = ["row", "tokens", "different ids", *APART, "others", "of these differ"]
    click.echo(table(head, rows))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
