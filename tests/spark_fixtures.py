"""Spark for tests: one session on this machine for all tests of a run, which starts when a test first asks.

Without a Java that Spark can use, tests that need it are skipped, and counted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from crowdveil.engines.spark import Cluster, SparkEngine, connected
from postgres import free_port

TRIES = 4  # of a task: where one fails, like a worker that was killed, it runs again
NO_JAVA = "Java is not installed (apt-get install openjdk-17-jre-headless)"


def has_java() -> bool:
    """Whether there is a Java for Spark."""
    home = os.environ.get("JAVA_HOME")
    return bool(home and (Path(home) / "bin" / "java").exists()) or shutil.which("java") is not None


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A Spark session with two cores in this process's Java."""
    if not has_java():
        pytest.skip(NO_JAVA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Spark itself does as it starts
        session = connected(f"local[2,{TRIES}]", settings={"spark.driver.memory": "1g"})
    with session:
        yield session


@pytest.fixture
def spark(cluster: Cluster) -> SparkEngine:
    """An engine on that session."""
    return SparkEngine(cluster)


@dataclass
class Standalone:
    """A master and two workers, each a process of its own, on loopback."""

    folder: Path
    memory: str = "1g"  # of a worker
    port: int = field(default_factory=free_port)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def master(self) -> str:
        """Its address."""
        return f"spark://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """What commands that use it need."""
        return {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}

    def start(self, name: str, kind: str, *arguments: str) -> None:
        """Start a process of the cluster, and wait until it says that it is there."""
        import pyspark

        home = Path(pyspark.__file__).parent
        log = (self.folder / f"{name}.log").open("wb")
        self.processes[name] = subprocess.Popen(
            [home / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}", *arguments],
            env=self.environment | {"SPARK_HOME": str(home), "SPARK_WORKER_DIR": str(self.folder / name)},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        log.close()

    def wait(self, name: str, words: str) -> None:
        """Wait until a process of the cluster has said this."""
        until = time.monotonic() + 60
        while words.encode() not in (self.folder / f"{name}.log").read_bytes():
            assert time.monotonic() < until, (self.folder / f"{name}.log").read_text()
            assert self.processes[name].poll() is None
            time.sleep(0.1)

    def start_worker(self, name: str) -> None:
        """One more worker with one core."""
        self.start(
            name,
            "worker.Worker",
            *("--host", "127.0.0.1", "--webui-port", "0"),
            *("--cores", "1", "--memory", self.memory, self.master),
        )

    def kill(self, name: str) -> None:
        """Kill a process of the cluster and all that it started."""
        process = self.processes.pop(name)
        for child in (*_children(process.pid), process.pid):
            subprocess.run(["kill", "-9", str(child)], check=False, stderr=subprocess.DEVNULL)
        process.wait()


def _children(process: int) -> list[int]:
    """All processes below one, the lowest first."""
    found = subprocess.run(["pgrep", "-P", str(process)], check=False, capture_output=True, text=True)
    own = [int(line) for line in found.stdout.split()]
    return [*(child for each in own for child in _children(each)), *own]


@contextmanager
def standalone_cluster(folder: Path, memory: str = "1g") -> Iterator[Standalone]:
    """A running cluster, whose processes end with the block; its workers have so much memory."""
    running = Standalone(folder, memory)
    try:
        running.start(
            "master",
            "master.Master",
            *("--host", "127.0.0.1", "--port", str(running.port), "--webui-port", "0"),
        )
        running.wait("master", "I have been elected leader")
        for name in ("first", "second"):
            running.start_worker(name)
        for name in ("first", "second"):
            running.wait(name, "Successfully registered with master")
        yield running
    finally:
        for name in list(running.processes):
            running.kill(name)


@pytest.fixture(scope="session")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """A cluster of a master and two workers."""
    if not has_java():
        pytest.skip(NO_JAVA)
    with standalone_cluster(tmp_path_factory.mktemp("standalone")) as running:
        yield running
