"""What comments, docstrings and Markdown cite of this project, and which of it is not there."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOMS = ("bench", "cmake", "csrc", "docs", "examples", "pyharness", "spec", "studies", "tests", r"\.ci", r"\.github")
PATH = re.compile(rf"(?<![\w/.:*-])(?:{'|'.join(ROOMS)})/[\w./*-]*[\w*]")
FEATURE = re.compile(r"(?:pyharness|tests)/features/(\w+)\b")
# Features that documents name.
OF_FEATURES = (
    "actions", "adaptation", "audit", "code", "costs", "curriculum", "deployment", "distribution", "engines", "gate",
    "glitch", "history", "language_models", "logs", "morphology", "paper_trainers", "parts", "pipes", "profiling",
    "remote", "robustness", "segmentation", "serving", "training",
)  # fmt: skip
# By the end of its path: text_encoder.hpp. The project llama.cpp is no file.
NATIVE = re.compile(r"(?<![\w/.*-])(?!llama\.cpp\b)[\w/]+\.(?:hpp|cpp|cu)\b")
SECTIONS = re.compile(r"((?:docs/)?[\w-]+\.md)`{0,2}((?:(?:,|\s+and)?\s+\"[^\"]+\")+)")
NUMBER = re.compile(r"[\w/-]+\.md`{0,2},?\s+(?:sections?\s+)?\d[\w.]*")  # sections have names
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*?) *#*$", re.MULTILINE)
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


@dataclass(slots=True)
class Tree:
    """Files of a checkout, by their path from its root."""

    root: Path
    files: Sequence[str]
    _headings: dict[str, list[str]] = field(default_factory=dict)

    def holds(self, path: str) -> bool:
        """Whether there is such a file or folder; ``*`` stands for a part of a name."""
        feature = FEATURE.match(path)
        if feature and feature[1] in OF_FEATURES and not (self.root / "pyharness/features" / feature[1]).is_dir():
            return True  # gone with the rest of it
        if "*" in path:
            return any(self.root.glob(path))
        return (self.root / path).exists()

    def headings(self, document: str) -> list[str]:
        """Headings of a Markdown file, without marks."""
        if document not in self._headings:
            text = FENCE.sub("", (self.root / document).read_text(encoding="utf-8"))
            self._headings[document] = [heading.replace("`", "") for heading in HEADING.findall(text)]
        return self._headings[document]

    def anchors(self, document: str) -> set[str]:
        """Anchors of its headings, as GitHub makes them."""
        return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in self.headings(document)}


def dead(tree: Tree) -> list[str]:
    """One line for each citation that leads nowhere: file, and what it cites."""
    lines = []
    for name in tree.files:
        text = (tree.root / name).read_text(encoding="utf-8")
        for block in prose(name, text):
            lines += [f"{name}: {citation}" for citation in dict.fromkeys(_dead_in(tree, block))]
        if name.endswith(".md"):
            lines += [f"{name}: {target}" for target in _dead_links(tree, name, text)]
    return lines


def prose(name: str, text: str) -> Iterator[str]:
    """Text of a file that is written for people, in blocks: a comment over several lines is one."""
    if name.endswith(".md"):
        yield text
    elif name.endswith((".py", ".pyi")):
        yield from _docstrings(text)
        yield from _joined(_python_comments(text))
    elif name.endswith((".hpp", ".cpp", ".cu")):
        yield from _joined(_line_comments(text, "//"))
    else:
        yield from _joined(_line_comments(text, "#"))


def _docstrings(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def _python_comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#: ")


def _line_comments(text: str, mark: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines()):
        before, separator, comment = line.partition(mark)
        if separator and not before.endswith(":"):  # of an address
            yield number, comment.strip()


def _joined(comments: Iterator[tuple[int, str]]) -> Iterator[str]:
    block: list[str] = []
    last = -1
    for number, comment in comments:
        if block and number != last + 1:
            yield "\n".join(block)
            block = []
        block.append(comment)
        last = number
    yield "\n".join(block)


def _dead_in(tree: Tree, text: str) -> Iterator[str]:
    for path in PATH.findall(text):
        if not tree.holds(path):
            yield path
    for path in NATIVE.findall(text):
        if not any(f"/{file}".endswith(f"/{path}") for file in tree.files):
            yield path
    for document, quoted in SECTIONS.findall(text):
        place = document if "/" in document else _document(tree, document)
        if place is not None and tree.holds(place):
            sections = [" ".join(section.split()) for section in re.findall(r'"([^"]+)"', quoted)]
            yield from (f'{place} "{section}"' for section in sections if section not in tree.headings(place))
    yield from NUMBER.findall(text)


def _document(tree: Tree, name: str) -> str | None:
    """Where a document lies that is cited by its name alone."""
    return next((place for place in (name, f"docs/{name}") if place in tree.files), None)


def _dead_links(tree: Tree, name: str, text: str) -> Iterator[str]:
    for target in LINK.findall(CODE.sub("", FENCE.sub("", text))):
        path, _, anchor = target.partition("#")
        if ":" in path:  # another site
            continue
        place = (tree.root / name).parent / path if path else tree.root / name
        if not place.exists() or (anchor and anchor not in tree.anchors(_from_root(tree, place))):
            yield target


def _from_root(tree: Tree, place: Path) -> str:
    return str(place.resolve().relative_to(tree.root.resolve()))
