"""Does ``pyharness audit`` name every fault planted in copies of published tokenizers, and none in the originals?

    python studies/ranks/damaged_copies.py FOLDER [TOKENIZER ...]

FOLDER has the published files, as ``PUBLISHED`` names them. Three more are adapted here, from tokens of the shipped
text. Each of the eight lies in a model folder whose files agree. For each kind of fault that its kind of file can have,
one copy is damaged, and the check that must name the fault is run on it, as ``pyharness audit --only CHECK`` does. A
loaded tokenizer serves for all copies in which only other files of the folder are damaged. The originals get every
check that a damage can reach.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / "tests" / "support")]

from audited.damage import Damage  # noqa: E402
from audited.damaged_folders import SEEN, GoodFolder  # noqa: E402

PUBLISHED = {
    "gpt2": "gpt2/tokenizer.json",
    "o200k_base": "tiktoken/o200k_base.tiktoken",
    "deepseek": "deepseek_v3/tokenizer.json",
    "mistral v3": "mistral/mistral_instruct_tokenizer_240323.model.v3",
    "bert": "bert_base_cased/tokenizer.json",
}
ADAPTED = {  # name: base, and the arguments that adapt it
    "gpt2 + 256": ("gpt2", ("extend", "--tokens", "256")),
    "mistral v3 + 256": ("mistral v3", ("extend", "--tokens", "256")),
    "deepseek - 10 %": ("deepseek", ("prune", "--share", "0.1")),
}
LEAST = 30  # faults of each


@dataclass
class CopyTrials:
    """What was planted in copies of one tokenizer, and which faults no check named."""

    name: str
    planted: int = 0
    missed: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)  # faults of the original
    seconds: float = 0.0


def trials(name: str, good: GoodFolder, room: Path) -> CopyTrials:
    """Audit the original, and a copy with each fault."""
    begun, done = time.process_time(), CopyTrials(name)
    for line in good.audit(good.files, room / "original", SEEN).lines:
        done.false += [f"{line.check.name}: {one.name}" for one in line.result.faults if one.status == "fail"]
    for number, (kind, planted) in enumerate(good.faults()):
        done.planted += 1
        if not is_named(good, planted, room / f"copy{number}"):
            done.missed.append(kind)
    done.seconds = time.process_time() - begun
    return done


def is_named(good: GoodFolder, planted: Damage, folder: Path) -> bool:
    """Whether the check of a fault says "fail", by the fault's name and with a witness."""
    audited = good.audit(planted.files, folder, [planted.check])
    return audited.exit_status == 1 and any(
        fault.name == planted.fault and fault.status == "fail" and fault.witness
        for line in audited.lines
        for fault in line.result.faults
    )


def sources(published: Path, room: Path, names: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield names and files: the published ones, then those that are adapted from them; some of them, or all."""
    for name, file in PUBLISHED.items():
        if not names or name in names:
            yield name, published / file
    for name, (base, arguments) in ADAPTED.items():
        if names and name not in names:
            continue
        out = room / name.replace(" ", "_")
        command = (sys.executable, "-m", "pyharness", "adapt", arguments[0], "--base", str(published / PUBLISHED[base]),
                   "-c", "sample:prose", "-c", "sample:code", *arguments[1:], "--out", str(out))  # fmt: skip
        subprocess.run(command, check=True, capture_output=True)
        yield name, next(one for one in sorted(out.iterdir()) if one.name in ("tokenizer.json", "tokenizer.model"))


def rows(published: Path, names: Sequence[str] = ()) -> Iterator[CopyTrials]:
    """Yield the trials of each tokenizer, or of some of them."""
    with tempfile.TemporaryDirectory() as folder:
        for name, file in sources(published, Path(folder), names):
            room = Path(folder, f"of_{name.replace(' ', '_')}")
            room.mkdir()
            yield trials(name, GoodFolder.of(file, room / "good"), room)


def main(published: Path, names: Sequence[str]) -> int:
    """Print the table; exit with 1 if a fault was missed, or an original has one."""
    known = (*PUBLISHED, *ADAPTED)
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"no tokenizer here is called {', '.join(unknown)}; known: {', '.join(known)}")
    print(f"{'tokenizer':18} planted  named  false  processor s")  # noqa: T201
    bad = 0
    for one in rows(published, names):
        named = one.planted - len(one.missed)
        print(f"{one.name:18} {one.planted:7} {named:6} {len(one.false):6} {one.seconds:12.0f}", flush=True)  # noqa: T201
        for what, kinds in (("not named", one.missed), ("of the original", one.false)):
            if kinds:
                print(f"  {what}: {'; '.join(kinds)}")  # noqa: T201
        bad += len(one.missed) + len(one.false) + (one.planted < LEAST)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
