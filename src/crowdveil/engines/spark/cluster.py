"""A Spark session: how it starts, and what it keeps for all jobs of a run."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import numpy as np

from crowdveil.engines.engine import Array, Progress
from crowdveil.engines.local import silent
from crowdveil.engines.memory import installed
from crowdveil.engines.spark.blocks import CHANGED
from crowdveil.engines.spark.sharing import Sharing
from crowdveil.errors import EngineError, MissingExtra, ParameterError
from crowdveil.version import __version__

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
MOST_SENT = 2**30  # bytes of arrays that the workers keep
SECONDS_TO_CONNECT = 5.0
SECONDS_BETWEEN_LOOKS = 0.5
DRIVER_SHARE = 0.4  # of this machine's memory: for Spark, where it runs in this process

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.maxResultSize": "0",  # a few numbers for each object, however many these are
    "spark.io.encryption.enabled": "true",  # of claims, and of the key of draws, on local disks
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.python.unix.domain.socket.enabled": "true",
}
ON_THIS_MACHINE = {  # nobody else on the network reaches blocks, or the key of draws
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
}
PROTECTION = ("spark.authenticate", "spark.network.crypto.enabled")


class Cluster:
    """A Spark session, and the arrays that its workers were sent."""

    def __init__(self, spark: SparkSession, progress: Progress = silent) -> None:
        self.spark = spark
        self.progress = progress
        self._sent: OrderedDict[tuple[str, tuple[int, ...], bytes], Any] = OrderedDict()
        self._bytes = 0
        self._sharing: WeakKeyDictionary[Any, Sharing] = WeakKeyDictionary()

    @property
    def context(self) -> SparkContext:
        """Spark's own context."""
        return self.spark.sparkContext

    def broadcast(self, array: Array) -> Any:
        """An array for all workers; one with the same numbers as an earlier one is not sent again."""
        data = np.ascontiguousarray(array)
        key = data.dtype.str, data.shape, blake2b(data.view(np.uint8).data, digest_size=16).digest()
        if key in self._sent:
            self._sent.move_to_end(key)
            return self._sent[key]
        # Bytes, because an encrypted broadcast takes no arrays.
        self._sent[key] = self.context.broadcast((data.dtype.str, data.shape, data.tobytes()))
        self._bytes += data.nbytes
        while self._bytes > MOST_SENT and len(self._sent) > 1:
            (kind, shape, _), oldest = self._sent.popitem(last=False)
            self._bytes -= np.dtype(kind).itemsize * int(np.prod(shape))
            oldest.unpersist()  # workers fetch it again if they must
        return self._sent[key]

    @property
    def unprotected(self) -> tuple[str, ...]:
        """Settings without which whoever reaches the network of the cluster can read what passes there."""
        conf = self.context.getConf()
        return tuple(name for name in PROTECTION if conf.get(name, "false") != "true")

    def ways(self, table: Any) -> Iterator[Any]:
        """Where to look for a table's blocks, one after the other (`sharing.py`)."""
        sharing = self._sharing.setdefault(table, Sharing(table.blocks))
        return sharing.ways([each.name for each in self._sharing.values()])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """End the session, and the Java process that this one started."""
        with suppress(Exception):  # Java may be gone
            self.spark.stop()
        _end_java(self.context._gateway)
        ours = None if error is None else _plain_error(error, "the work")
        if ours is not None:
            raise ours from None

    def check_place(self, folder: Path) -> None:
        """Raise `OutputError` if some worker does not write into this very folder."""
        if not _is_local(self.context.master):
            from crowdveil.engines.spark.writing import check_place  # which needs this module

            check_place(self.context, folder)

    @contextmanager
    def watched(self, stage: str) -> Iterator[None]:
        """While the block runs, tell what share of Spark's tasks is done; errors of Spark's become ours."""
        with _in_our_words(stage):
            if self.progress is silent:
                yield
            else:
                with self._watching(stage):
                    yield

    @contextmanager
    def _watching(self, stage: str) -> Iterator[None]:
        done = threading.Event()
        self.progress(stage, 0.0)
        watcher = threading.Thread(target=self._watch, args=(stage, done), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()
        self.progress(stage, 1.0)

    def _watch(self, stage: str, done: threading.Event) -> None:
        tracker = self.context.statusTracker()
        while not done.wait(SECONDS_BETWEEN_LOOKS):
            with suppress(Exception):  # a stage may end while it is looked at
                found = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
                tasks = sum(each.numTasks for each in found if each)
                if tasks:
                    self.progress(stage, sum(each.numCompletedTasks for each in found if each) / tasks)


@contextmanager
def _in_our_words(stage: str) -> Iterator[None]:
    """Replace an error of Spark's by one of ours."""
    try:
        yield
    except Exception as error:
        ours = _plain_error(error, stage)
        if ours is None:
            raise
        raise ours from None


def _plain_error(error: BaseException, stage: str) -> EngineError | None:
    """One line for an error of Spark's, which is pages long and may quote a cell; None for another error."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    if not isinstance(error, Py4JError | PySparkException):
        return None
    try:
        text = str(error)  # which asks Java
    except Exception:
        text = ""
    if CHANGED in text:
        return EngineError(CHANGED)
    kinds = re.findall(r"^(?:\w+\.)*(\w+(?:Error|Exception|Failure))\b", text, re.MULTILINE)
    why = f" ({kinds[-1]})" if kinds else ""
    if not text:
        why = " (its Java process ended: was there too little memory?)"
    return EngineError(f"Spark did not finish: {stage}{why}; the logs of its workers tell why")


def connected(
    master: str = "local[*]",
    *,
    settings: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> Cluster:
    """A quiet Spark session on `master`; one clear error if there is none."""
    _check_surroundings()
    _check_master(master)
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf().setMaster(master).setAppName("crowdveil")
    own = ON_THIS_MACHINE | _memory() if _is_local(master) else {}
    for name, value in (SETTINGS | own | dict(settings or {})).items():
        conf.set(name, value)
    gateway = None
    try:
        gateway = launch_gateway(  # type: ignore[no-untyped-call]
            conf=conf, popen_kwargs={"stderr": subprocess.DEVNULL}
        )
        context = SparkContext(conf=conf, gateway=gateway)
        context.setLogLevel("OFF")
        cluster = Cluster(SparkSession(context), progress)
    except Exception:  # whatever Java says: its own words are pages long
        _end_java(gateway)
        raise ParameterError(
            f"Spark cannot start with --master {master}: is it there, of this PySpark's version, and are "
            "all settings right?"
        ) from None
    if not _is_local(master):
        try:
            with _in_our_words("looking at the workers, which need this Python (PYSPARK_PYTHON)"):
                _check_workers(context)
        except BaseException:
            cluster.__exit__(None, None, None)
            raise
    return cluster


def _end_java(gateway: Any) -> None:
    """End the Java process that this one started, if it did."""
    from pyspark import SparkContext

    with suppress(Exception):
        gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is not None:
        process.stdin.close()
        process.wait()
    SparkContext._gateway = SparkContext._jvm = None


def _is_local(master: str | None) -> bool:
    return master is not None and master.startswith("local")


def _memory() -> dict[str, str]:
    """The memory of Spark, where its workers are in the driver's process."""
    return {"spark.driver.memory": f"{max(1024, int(DRIVER_SHARE * installed()) >> 20)}m"}


def _check_surroundings() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise MissingExtra("--engine spark needs PySpark: pip install 'crowdveil[spark]'") from None
    import pandas as pd

    if int(pd.__version__.split(".")[0]) >= 3:
        raise ParameterError(f"--engine spark needs pandas below 3, not {pd.__version__}")
    version = _java_version()
    if version is None or version < OLDEST_JAVA:
        found = "there is none" if version is None else f"this is {version}"
        raise ParameterError(
            f"--engine spark needs Java {OLDEST_JAVA} or later, and {found}: install a JRE (apt-get install "
            f"openjdk-{OLDEST_JAVA}-jre-headless) or set JAVA_HOME"
        )


def _java_version() -> int | None:
    """The version of the Java that Spark will take, like 17; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    try:
        told = subprocess.run([java or "", "-version"], capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return None
    numbers = re.search(r'version "(?:1\.)?(\d+)', told.stderr)  # 8 calls itself 1.8
    return int(numbers[1]) if numbers else None


def _check_master(master: str) -> None:
    """Refuse a standalone master that does not answer: Spark itself would try for a minute."""
    if not master.startswith("spark://"):
        return
    for each in master.removeprefix("spark://").split(","):
        place = urlsplit(f"spark://{each}")
        try:
            if place.hostname is None or place.port is None:
                raise ValueError
            socket.create_connection((place.hostname, place.port), SECONDS_TO_CONNECT).close()
        except ValueError:
            raise ParameterError(f"--master takes spark://HOST:PORT, not {master}") from None
        except OSError:
            continue
        return
    raise ParameterError(f"no Spark master answers at {master}")


def _check_workers(context: SparkContext) -> None:
    """Refuse workers without our package, or with another version of it."""

    def version(_: Any) -> Any:
        try:
            from crowdveil.version import __version__ as found
        except ImportError:
            return None
        return found

    parts = max(2, context.defaultParallelism)
    for found in set(context.parallelize(range(parts), parts).map(version).collect()):
        if found is None:
            raise ParameterError("the workers have no crowdveil: install it for the Python that they run")
        if found != __version__:
            raise ParameterError(f"the workers have crowdveil {found}, and this is {__version__}")
