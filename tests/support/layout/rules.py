"""What the layout of the project allows, as a function over a source tree: layers, circles, folders and file sizes.

``faults(ROOT, tables)`` is the set of all that is against the rules, one sentence each; ``docs/architecture.md`` has
the rules and their reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from layout.graphs import NATIVE_SUFFIXES, Graph, circles, includes, python_imports, python_modules

LAYERS = (
    "types",
    "plugins system",
    "vocabularies statistics",
    "bpe kernels",
    "corpora trainers",
    "tokenizers",
    "metrics",
    "benchmarks",
    "store",
    "suite",
    "running",
    "report",
    "commands",
    "cli",
    "features",
)
CORE_LAYERS = (
    "machine",
    "text",
    "splitting model",
    "merging",
    "encoding training reachability pairs entropy symbols curriculum",
)
NATIVE_ROOMS: Mapping[str, tuple[str, ...]] = {  # what each room of csrc may include beside itself
    "shared": (),
    "core": ("shared",),
    "kernels": ("shared",),
    "bindings": ("shared", "core", "kernels"),
}
EXTENSIONS = ("pyharness._core", "pyharness._cuda", "pyharness._emulated")
FEATURES = "features"
TOUCH_EXTENSIONS = ("kernels", "bpe", FEATURES)
USES: Mapping[str, tuple[str, ...]] = {  # features that a feature builds on: docs/architecture.md
    "actions": ("pipes", "training"),
    "adaptation": ("language_models", "training"),
    "curriculum": ("segmentation", "training"),
    "distribution": ("code", "robustness"),  # its suite names them
    "glitch": ("language_models",),
    "history": ("gate",),
    "paper_trainers": ("morphology", "training"),
    "segmentation": ("language_models", "training"),
    "serving": ("engines",),
}
SOURCE_FOLDERS = ("pyharness", "csrc", "tests", "bench", "studies", "docs", ".ci")
SOURCE_SUFFIXES = (".py", ".pyi", *NATIVE_SUFFIXES)
MOST_FILES = 15
MOST_LINES = 400


@dataclass(frozen=True, slots=True)
class Tables:
    """The exceptions of a tree, each with its reason."""

    crowded: Mapping[str, str] = field(default_factory=dict)  # folders of more than MOST_FILES source files
    generated: Mapping[str, str] = field(default_factory=dict)  # files that a program writes


def faults(root: Path, tables: Tables) -> set[str]:
    """Return all that is against the layout of the tree below ``root``; empty for a tree in order."""
    return {*python_faults(root), *native_faults(root), *size_faults(root, tables)}


def python_faults(root: Path) -> Iterator[str]:
    """Return upward imports, circles and users of the extensions among the modules of ``root/pyharness``."""
    graph = python_imports(root)
    rooms = {module: module.split(".")[1] for module in graph if module not in ("pyharness", "pyharness.__main__")}
    level = _levels(LAYERS)
    for room in sorted(set(rooms.values()) - set(level)):
        yield f"pyharness/{room} has no layer"
    for module, room in rooms.items():
        for target in graph[module]:
            if target in EXTENSIONS and room not in TOUCH_EXTENSIONS:
                yield f"{module} touches the extension {target}"
            elif target == "pyharness":
                yield f"{module} imports the public names of the package"
            elif target in rooms and level.get(rooms[target], 0) > level.get(room, len(level)):
                yield f"{module} imports {target}, which is in a higher layer"
    inner = {module: targets & rooms.keys() for module, targets in graph.items() if module in rooms}
    folders = {module: _folder(path.relative_to(root)) for module, path in python_modules(root).items()}
    yield from _circles("modules", inner)
    yield from _circles("rooms", _grouped(inner, {name: f"pyharness/{room}" for name, room in rooms.items()}))
    yield from _between_features(inner)
    for room in sorted(set(rooms.values())):
        inside = {module: targets for module, targets in inner.items() if rooms[module] == room}
        yield from _circles("folders", _grouped(inside, {module: folders[module] for module in inside}))


def _folder(path: Path) -> str:
    """The folder of a module; in that of a feature, which holds both its nouns and its face, each module is its own."""
    in_a_feature = path.parent.parent.as_posix() == f"pyharness/{FEATURES}"
    return (path if in_a_feature else path.parent).as_posix()


def _between_features(graph: Graph) -> Iterator[str]:
    """Return imports of one feature by another on which it does not build."""
    for module, targets in graph.items():
        room, feature = [*module.split("."), "", ""][1:3]
        for target in targets if room == FEATURES else ():
            other = [*target.split("."), "", ""][1:3]
            if other[0] == FEATURES and other[1] not in ("", feature, *USES.get(feature, ())):
                yield f"{module} imports {target}, of another feature"


def native_faults(root: Path) -> Iterator[str]:
    """Return includes that point upwards or aside, and circles, among the files of ``root/csrc``."""
    graph = includes(root)
    for file, targets in graph.items():
        yield from _foreign_includes(file, targets)
        yield from _core_includes(file, targets)
    inner = {file: {target for target in targets if target in graph} for file, targets in graph.items()}
    yield from _circles("files", inner)
    yield from _circles("folders", _grouped(inner, {file: file.rpartition("/")[0] for file in inner}))


def _foreign_includes(file: str, targets: Iterable[str]) -> Iterator[str]:
    room = file.split("/")[1]
    if room not in NATIVE_ROOMS:
        yield f"{file} is in no room of csrc"
        return
    for target in targets:
        of_python = target.startswith(("<pybind11", "<Python", "<numpy"))
        of_cuda = target.startswith(("<cuda", "<cub", "<thrust"))
        elsewhere = target.startswith("csrc/") and target.split("/")[1] not in (room, *NATIVE_ROOMS[room])
        if elsewhere or (of_python and room != "bindings") or (of_cuda and room in ("core", "shared")):
            yield f"{file} includes {target}"


def _core_includes(file: str, targets: Iterable[str]) -> Iterator[str]:
    if not file.startswith("csrc/core/"):
        return
    level = _levels(CORE_LAYERS)
    room = file.split("/")[2]
    if room not in level:
        yield f"{file} is in no room of csrc/core"
        return
    for target in targets:
        other = target.split("/")[2] if target.startswith("csrc/core/") else room
        if level.get(other, 0) > level[room]:
            yield f"{file} includes {target}, which is in a higher layer"


def size_faults(root: Path, tables: Tables) -> Iterator[str]:
    """Return folders with too many source files and files with too many lines, and exceptions that are none."""
    files = [file for folder in SOURCE_FOLDERS for file in _source_files(root / folder)]
    sizes = Counter(file.parent.relative_to(root).as_posix() for file in files)
    crowded = {folder for folder, count in sizes.items() if count > MOST_FILES}
    lengths = {file.relative_to(root).as_posix(): len(file.read_bytes().splitlines()) for file in files}
    long = {name for name, count in lengths.items() if count > MOST_LINES}
    for folder in crowded - tables.crowded.keys():
        yield f"{folder} holds more than {MOST_FILES} source files"
    for name in long - tables.generated.keys():
        yield f"{name} has more than {MOST_LINES} lines"
    for name in (tables.crowded.keys() - crowded) | (tables.generated.keys() - long):
        yield f"{name} needs no exception any more"


def _source_files(folder: Path) -> Iterator[Path]:
    for file in folder.rglob("*"):
        if file.suffix in SOURCE_SUFFIXES and not any(part == "__pycache__" for part in file.parts):
            yield file


def _levels(layers: Iterable[str]) -> dict[str, int]:
    return {name: level for level, names in enumerate(layers) for name in names.split()}


def _grouped(graph: Graph, group: Mapping[str, str]) -> Graph:
    grouped: dict[str, set[str]] = {name: set() for name in group.values()}
    for node, targets in graph.items():
        grouped[group[node]] |= {group[target] for target in targets if target in group} - {group[node]}
    return grouped


def _circles(kind: str, graph: Graph) -> Iterator[str]:
    for circle in circles(graph):
        yield f"{kind} in a circle: {' '.join(sorted(circle))}"
