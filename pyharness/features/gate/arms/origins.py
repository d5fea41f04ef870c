"""Where a library's modules come from: two editable installs of one tree are one version, whatever they are called."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyharness.features.gate.arms import interpreters
from pyharness.features.gate.types import SIDES, Side
from pyharness.types import InputError

# An editable install lists none of its modules: then they are those of top_level.txt, or of the distribution's name;
# and where nothing is found of these, the folder that the installer has noted (PEP 610). Folders of a namespace belong
# to several distributions: of these, the files that this one lists.
_SAY = """
import importlib.metadata, importlib.util, json, os, sys

found = importlib.metadata.distribution(sys.argv[1])
listed = {file.parts[0].partition(".")[0] for file in found.files or () if file.suffix in (".py", ".so")}
names = {name for name in listed if not name.startswith(("__", "_editable"))}
names |= {*(found.read_text("top_level.txt") or "").split()}
names = names or {found.name.replace("-", "_"), found.name.replace("-", "_").lower()}
places = set()
for name in names - {*getattr(sys, 'stdlib_module_names', ())}:
    try:
        spec = importlib.util.find_spec(name) if name.isidentifier() else None
    except (ImportError, ValueError):
        continue
    if spec is not None and spec.has_location:
        places.add(spec.origin)
    elif spec is not None:
        own = [file for file in found.files or () if file.parts[0] == name and file.suffix in (".py", ".so")]
        places |= {*map(found.locate_file, own)} or {*(spec.submodule_search_locations or ())}
noted = json.loads(found.read_text("direct_url.json") or "{}")
places = {*map(os.path.realpath, places)}
if not places and noted.get("dir_info", {}).get("editable"):
    places = {noted["url"]}
print(json.dumps(sorted(places)))
"""


def check_different(pythons: Mapping[Side, Path], asked: Mapping[Side, str], library: str) -> None:
    """Raise ``InputError`` where one interpreter would import only files that the other would, too."""
    base, head = (_places(side, pythons[side], asked[side], library) for side in SIDES)
    shared = base & head
    if shared and shared in (base, head):  # a module that both have from one place is not all there is
        raise InputError(
            f"--base {asked['base']!r} and --head {asked['head']!r} have the same files on both sides: {library} is "
            f"{min(shared)} in both; install a wheel of each version, or give one name twice to compare it with itself"
        )


def _places(side: Side, python: Path, asked: str, library: str) -> frozenset[str]:
    def read(answer: Any) -> frozenset[str]:
        return frozenset(map(str, answer))

    return interpreters.said(side, asked, (python, _SAY, library), read, f"it does not say where {library} is")
