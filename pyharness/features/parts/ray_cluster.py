"""Parts on a cluster of Ray: ``run --parts N --on ray[:HOST:PORT]``. A task is ``pyharness work DIR --part I``.

Ray's own driver runs in a child of this process: when the head of a cluster dies, Ray waits and then ends the process
that called it. The driver writes lines of JSON: what became of a part, a remark, a refusal, or a beat that says that
the cluster answers. Ray tries no task again. Parts are tried three times here, and each try is said.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyharness.features.parts.executors import LocalExecutor
from pyharness.features.parts.folder import in_ranges
from pyharness.plugins.libraries import load, require
from pyharness.system import lifeline
from pyharness.system.child_process import Child, ChildDied
from pyharness.system.environment import cores
from pyharness.system.network import unreachable
from pyharness.types import InputError

if TYPE_CHECKING:
    from pyharness.features.parts.folder import PartDone
    from pyharness.features.parts.planning import PartsRun
    from pyharness.features.parts.working import RowWorkers

PURPOSE = "--on ray"
TRIES = 3
BEAT_SECONDS = 1.0
START_SECONDS = 180.0  # Ray's own processes take 3 s on an idle machine
SILENCE_SECONDS = 28.0
STORE_BYTES = 80 << 20  # the smallest that Ray takes: parts are files, and nothing else is passed on
# No statistics are sent; a head that does not answer is given up after 20 s, not 60.
VARIABLES = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_gcs_rpc_server_reconnect_timeout_s": "20"}
_VERSIONS = re.compile(r"Ray:\s*(\S+)\s+Python:\s*(\S+)")

Tell = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class RayExecutor(LocalExecutor):
    """Has the parts done by a cluster of Ray: one on this machine for the run, or one that is there."""

    name: str = "ray"
    address: str = ""

    def at(self, address: str) -> RayExecutor:
        """Return the executor at the address of a cluster's head."""
        if address and not re.fullmatch(r"auto|[\w.-]+:\d{1,5}", address):
            raise InputError(f"{address!r} is no address of a cluster of Ray: write --on ray:HOST:PORT, or --on ray")
        require(PURPOSE, "ray", "ray")
        if ":" in address and (where := unreachable(f"http://{address}")):
            raise InputError(f"cannot reach the cluster of Ray at {where}: check the address, and that it runs")
        return replace(self, address=address)

    @contextlib.contextmanager
    def doing(
        self, run: PartsRun, batches: Iterable[Sequence[int]], hear: Callable[[PartDone | str, bool], None]
    ) -> Iterator[Sequence[RowWorkers]]:
        """Have the parts done that are missing, each batch by a driver of its own; no process here did any.

        Raises:
            InputError: the cluster cannot be used, or refuses a part.
            ChildDied: the cluster ended, or a part ended its process three times.
        """
        for batch in batches:
            self._do(run, batch, hear)
        yield ()

    def _do(self, run: PartsRun, parts: Sequence[int], hear: Callable[[PartDone | str, bool], None]) -> None:
        done = {part: one for part in parts if (one := run.folder.done(part)) is not None}
        for one in done.values():
            hear(one, True)
        missing = [part for part in parts if part not in done]
        given_up: list[int] = []
        for answer in self._answers(run.folder.path, missing, run.plan.suite.device) if missing else ():
            if "refused" in answer:
                raise InputError(str(answer["refused"]))
            if "lost" in answer:
                raise ChildDied(f"lost {answer['lost']}")
            if "remark" in answer:
                hear(str(answer["remark"]), False)
            if "given up" in answer:
                given_up.append(int(answer["given up"]))
            if "part" in answer and (now := run.folder.done(int(answer["part"]))) is not None:
                hear(now, False)
        if given_up:
            raise ChildDied(f"lost part {in_ranges(sorted(given_up))} of {run.folder.plan.parts} {TRIES} times")

    def _answers(self, folder: Path, parts: list[int], device: str) -> Iterator[dict[str, Any]]:
        """Start a driver and yield what it writes; end it and all that it has started."""
        short = tempfile.gettempdir() if len(tempfile.gettempdir()) < 20 else "/tmp"  # noqa: S108 -- of sockets' paths
        with tempfile.TemporaryDirectory(prefix="r-", dir=short, ignore_cleanup_errors=True) as temporary:
            request = {"folder": str(folder.absolute()), "parts": parts, "address": self.address, "device": device,
                       "temporary": temporary, "working": str(Path.cwd())}  # fmt: skip
            child = Child([__name__], environment=VARIABLES, memory_limit=sys.maxsize, asked=True)
            try:
                child.tell(json.dumps(request).encode())
                deadline = time.monotonic() + START_SECONDS
                while (line := child.listen(deadline)) is not None:
                    yield json.loads(line)
                    deadline = time.monotonic() + SILENCE_SECONDS
            except ChildDied as death:
                what = "lost the head of the cluster of Ray, which ended" if "GCS" in str(death) else str(death)
                raise ChildDied(what) from None
            finally:
                child.close()
                end_session(child.process.pid)


def end_session(session: int) -> None:
    """Kill what is left of a session: processes of Ray write over their environment, so no mark is found there."""
    for entry in os.scandir("/proc") if Path("/proc/self/stat").exists() else ():
        with contextlib.suppress(OSError, ValueError, IndexError):
            about = Path(entry, "stat").read_bytes().rpartition(b")")[2].split()
            if int(about[3]) == session and about[0] != b"Z":
                os.kill(int(entry.name), signal.SIGKILL)


EXECUTORS = (RayExecutor(),)


# ---------------------------------------------------------------------------------------------- in the driver


def do_part(folder: str, part: int, working: str) -> tuple[int, list[str]]:
    """Do a part, on any machine of the cluster; return the status of ``work``, and what it wrote."""
    from pyharness.features.parts.cli import work

    with contextlib.suppress(OSError):
        os.chdir(working)  # relative paths of a suite begin where it was planned
    errors, status = io.StringIO(), 0
    with contextlib.redirect_stderr(errors):
        try:
            work.main([folder, "--part", str(part)], prog_name="pyharness work", standalone_mode=False)
        except SystemExit as end:
            status = int(end.code or 0)
    return status, errors.getvalue().splitlines()


def drive(request: dict[str, Any], tell: Tell) -> None:
    """Have parts done by a cluster, and tell what becomes of them; raise ``InputError`` if it cannot be used."""
    ray = load(PURPOSE, "ray", "ray")
    connect(ray, request)
    on_gpu = request["device"] == "cuda"
    at_once = 2 * _check_resources(ray, "GPU" if on_gpu else "CPU", tell)
    task = ray.remote(num_cpus=1, num_gpus=int(on_gpu), max_retries=0)(do_part)
    waiting, tries, pending = deque(request["parts"]), Counter[int](), dict[Any, int]()
    while waiting or pending:
        while waiting and len(pending) < at_once:
            part = waiting.popleft()
            pending[task.remote(request["folder"], part, request["working"])] = part
        for ref in ray.wait(list(pending), timeout=BEAT_SECONDS)[0]:
            part = pending.pop(ref)
            if _is_lost(ray, ref, part, tries, tell):
                waiting.append(part)
        if not any(node["Alive"] for node in ray.nodes()):
            tell({"lost": "the last node of the cluster of Ray: its raylet ended"})
            return
        tell({"beat": len(waiting)})


def _is_lost(ray: Any, ref: Any, part: int, tries: Counter[int], tell: Tell) -> bool:
    """Tell what became of a task; return whether its part is to be tried again."""
    try:
        status, words = ray.get(ref)
    except ray.exceptions.RayTaskError as error:
        raise InputError(f"part {part} cannot be done on the cluster: {_last_line(error)}") from None
    except ray.exceptions.RayError as error:
        tries[part] += 1
        tell({"remark": f"part {part}: its process ended ({type(error).__name__}), try {tries[part]} of {TRIES}"})
        if tries[part] == TRIES:
            tell({"given up": part})
        return tries[part] < TRIES
    if status not in (0, 1):
        raise InputError("\n".join([f"part {part} was refused on the cluster:", *words]))
    tell({"part": part})
    return False


def connect(ray: Any, request: dict[str, Any]) -> None:
    """Start a cluster on this machine, or connect to one; raise ``InputError`` if that is not possible."""
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address := request["address"]:
        options = {"address": address, **quiet}
    else:
        options = {"address": "local", "num_cpus": cores(), "include_dashboard": False,
                   "_temp_dir": request["temporary"], "object_store_memory": STORE_BYTES, **quiet}  # fmt: skip
    try:
        ray.init(**options)
    except Exception as error:  # of its dozen kinds, none of which is a defect of ours
        versions = _VERSIONS.findall(str(error))
        if len(versions) > 1:
            (theirs, mine) = (" and Python ".join(one).replace(",", "") for one in versions[:2])
            raise InputError(f"the cluster has Ray {theirs}, and here is {mine}: install the same on both") from None
        what = f"the cluster of Ray at {address}" if address else "Ray"
        raise InputError(f"{what} cannot be used: {_last_line(error)}") from None


def _check_resources(ray: Any, kind: str, tell: Tell) -> int:
    """Return how many tasks run at a time; raise ``InputError`` for none, and tell if none is free now."""
    every, free = (int(one().get(kind, 0)) for one in (ray.cluster_resources, ray.available_resources))
    if every < 1:
        raise InputError(f"the cluster of Ray has no {kind}: add a node that has one")
    if free < 1:
        tell({"remark": f"no {kind} of the cluster is free: parts wait for one of {every}"})
    return every


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines or [type(error).__name__])[-1][:300]


def main() -> None:
    """Serve one request; standard output is for answers alone."""
    lifeline.begin()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    try:
        drive(json.loads(sys.stdin.readline()), tell)
    except InputError as error:
        tell({"refused": str(error)})
    os._exit(0)  # the parent ends what Ray has started


if __name__ == "__main__":
    main()
