"""Parts on a cluster of Ray, which a double stands for here: what is tried again, refused and said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cases.command_line import call, refused
from divided import runs as divided
from pyharness import store
from pyharness.features.parts import ray_cluster
from pyharness.features.parts.ray_cluster import RayExecutor, do_part, drive
from pyharness.plugins import libraries
from pyharness.types import InputError


class RayError(Exception):
    pass


class WorkerCrashedError(RayError):
    pass


class RayTaskError(RayError):
    pass


class Cluster:
    """The few functions of Ray that are used; ``outcome`` of a part and a try is what its task returns or raises."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, outcome: Callable[[int, int], Any] = lambda part, number: (0, [])) -> None:
        self.outcome = outcome
        self.started: dict[str, Any] = {}
        self.asked: dict[str, Any] = {}
        self.tasks: list[int] = []
        self.resources = {"CPU": 2.0}
        self.free = {"CPU": 2.0}
        self.alive = True
        self.refusal: Exception | None = None

    def init(self, **options: Any) -> None:
        self.started = options
        if self.refusal is not None:
            raise self.refusal

    def remote(self, **options: Any) -> Callable[[Any], Any]:
        self.asked = options

        def start(folder: str, part: int, working: str) -> tuple[int, int]:
            assert (folder, working) == ("run", "/")
            self.tasks.append(part)
            return part, self.tasks.count(part)

        return lambda function: SimpleNamespace(remote=start, function=function)

    def wait(self, pending: list[Any], timeout: float) -> tuple[list[Any], list[Any]]:
        assert timeout > 0
        return pending[:1], pending[1:]

    def get(self, ref: tuple[int, int]) -> Any:
        outcome = self.outcome(*ref)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": self.alive}]

    def cluster_resources(self) -> dict[str, float]:
        return self.resources

    def available_resources(self) -> dict[str, float]:
        return self.free


def driven(monkeypatch: pytest.MonkeyPatch, cluster: Cluster, parts: int = 5, **more: str) -> list[dict[str, Any]]:
    monkeypatch.setattr(ray_cluster, "load", lambda *_: cluster)
    said: list[dict[str, Any]] = []
    request = {"folder": "run", "parts": list(range(parts)), "address": "", "device": "cpu", "temporary": "short"}
    drive({**request, "working": "/", **more}, said.append)
    return [one for one in said if "beat" not in one]


def test_every_part_is_one_task_that_ray_does_not_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    assert driven(monkeypatch, cluster) == [{"part": part} for part in range(5)]
    assert cluster.asked == {"num_cpus": 1, "num_gpus": 0, "max_retries": 0}
    assert cluster.started["include_dashboard"] is False
    assert cluster.started["_temp_dir"] == "short"
    assert sorted(cluster.tasks) == list(range(5))


def test_a_part_whose_process_ends_is_tried_three_times_and_each_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = {(1, 1), (3, 1), (3, 2), (3, 3)}
    cluster = Cluster(lambda part, number: WorkerCrashedError("x") if (part, number) in ends else (0, []))
    said = driven(monkeypatch, cluster)
    assert {one["part"] for one in said if "part" in one} == {0, 1, 2, 4}
    assert [one["given up"] for one in said if "given up" in one] == [3]
    assert cluster.tasks.count(3) == 3
    assert sum("WorkerCrashedError" in str(one.get("remark")) for one in said) == 4


def test_a_failed_case_is_a_done_part(monkeypatch: pytest.MonkeyPatch) -> None:
    assert driven(monkeypatch, Cluster(lambda part, number: (1, ["error: x"])), 1) == [{"part": 0}]


@pytest.mark.parametrize(
    ("outcome", "word"),
    [((2, ["error: planned with pyharness 9"]), "pyharness 9"), (RayTaskError("x\nNo module named y"), "named y")],
)
def test_what_the_cluster_cannot_do_is_refused(monkeypatch: pytest.MonkeyPatch, outcome: Any, word: str) -> None:
    with pytest.raises(InputError, match=word):
        driven(monkeypatch, Cluster(lambda part, number: outcome))


def test_a_gpu_is_asked_for_where_the_suite_runs_on_one(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    with pytest.raises(InputError, match="no GPU"):
        driven(monkeypatch, cluster, device="cuda")
    cluster.resources = cluster.free = {"CPU": 2.0, "GPU": 1.0}
    driven(monkeypatch, cluster, device="cuda")
    assert cluster.asked["num_gpus"] == 1


def test_no_free_cpu_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    cluster.free = {}
    assert any("no CPU" in str(one.get("remark")) for one in driven(monkeypatch, cluster))
    cluster.resources = {}
    with pytest.raises(InputError, match="no CPU"):
        driven(monkeypatch, cluster)


def test_a_cluster_without_a_node_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    cluster.alive = False
    assert "raylet" in driven(monkeypatch, cluster)[-1]["lost"]


def test_a_cluster_of_another_ray_or_python_is_named_with_both(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    cluster.refusal = RuntimeError(
        "Version mismatch: The cluster was started with:\n    Ray: 2.40.0\n    Python: 3.12.1\n"
        "This process on node 127.0.0.1 was started with:\n    Ray: 2.60.0\n    Python: 3.11.7\n"
    )
    with pytest.raises(InputError) as refusal:
        driven(monkeypatch, cluster, address="127.0.0.1:1")
    for version in ("2.40.0", "3.12.1", "2.60.0", "3.11.7"):
        assert version in str(refusal.value)
    assert cluster.started["address"] == "127.0.0.1:1"
    cluster.refusal = ConnectionError("first\nlast words")
    with pytest.raises(InputError, match="last words"):
        driven(monkeypatch, cluster, address="127.0.0.1:1")


def test_a_missing_ray_names_its_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(libraries, "is_installed", lambda name: name != "ray")
    said = refused("run", "-t", "raw_bytes", "--parts", "2", "--on", "ray", "-o", str(tmp_path / "r.json"))
    assert "pyharness[ray]" in said


@pytest.mark.parametrize("where", ["rays", "local:1", "ray:x", "ray:ray://a:1"])
def test_who_cannot_do_parts_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: str) -> None:
    monkeypatch.setattr(ray_cluster, "require", lambda *_: None)
    assert repr(where.partition(":")[2] or where) in refused(
        "run", "-t", "raw_bytes", "--parts", "2", "--on", where, "-o", str(tmp_path / "r.json")
    )


def test_an_address_where_nobody_answers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "require", lambda *_: None)
    monkeypatch.setattr(ray_cluster, "unreachable", lambda url: f"{url} (refused)")
    with pytest.raises(InputError, match="refused"):
        RayExecutor().at("127.0.0.1:6379")


def test_a_port_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "require", lambda *_: None)
    with pytest.raises(InputError, match="port"):
        RayExecutor().at("127.0.0.1:99999")


@pytest.mark.parametrize("quiet", [False, True])
def test_a_run_says_which_tries_were_lost_unless_it_is_quiet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quiet: bool
) -> None:
    def answers(self: RayExecutor, folder: Path, parts: list[int], device: str) -> Iterator[dict[str, Any]]:
        for part in parts:
            yield {"remark": f"part {part}: try 1 of 3"}
            assert do_part(str(folder), part, str(Path.cwd()))[0] == 0
            yield {"part": part}

    monkeypatch.setattr(ray_cluster, "require", lambda *_: None)
    monkeypatch.setattr(RayExecutor, "_answers", answers)
    divided.write_texts(tmp_path, 10)
    suite = divided.write_suite(tmp_path, ["raw_bytes"], ["rows.jsonl"], ["compression"])
    output, words = tmp_path / "r.json", ["-q"] if quiet else []
    done = call("run", str(suite), "--parts", "2", "--on", "ray", "-o", str(output), *words)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("try 1 of 3") == (0 if quiet else 2)
    divided.assert_equal(store.read(output), divided.in_one_process(suite, tmp_path / "whole.json"))


@pytest.mark.parametrize("parts", [1, 2])
def test_a_part_that_is_lost_three_times_is_an_error_of_a_quiet_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, parts: int
) -> None:
    monkeypatch.setattr(ray_cluster, "require", lambda *_: None)
    monkeypatch.setattr(RayExecutor, "_answers", lambda *_: iter([{"given up": parts - 1}]))
    divided.write_texts(tmp_path, 10)
    suite = divided.write_suite(tmp_path, ["raw_bytes"], ["rows.jsonl"], ["compression"])
    done = call("run", str(suite), "--parts", str(parts), "--on", "ray", "-q", "-o", str(tmp_path / "r.json"))
    assert done.returncode == 1
    assert f"part {parts - 1} of {parts}" in done.stderr
    assert not (tmp_path / "r.json").exists()


def test_who_reads_needs_parts() -> None:
    assert "--parts" in refused("run", "-t", "raw_bytes", "--on", "local")


def test_a_task_is_the_command_work(tmp_path: Path) -> None:
    divided.write_texts(tmp_path, 10)
    suite = divided.write_suite(tmp_path, ["raw_bytes"], ["rows.jsonl"], ["compression"])
    divided.planned(suite, 2, tmp_path / "run")
    status, words = do_part(str(tmp_path / "run"), 1, str(Path.cwd()))
    assert status == 0
    assert "part 1 of 2" in words[0]
    assert do_part(str(tmp_path / "run"), 7, str(Path.cwd()))[0] == 2
    assert call("merge", str(tmp_path / "run"), "-o", str(tmp_path / "r.json")).returncode == 1
