"""Work on threads: results in order, the first error at once, Ctrl-C at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest

from crowdveil.engines import cores, on_threads
from crowdveil.errors import ParameterError

THREADS = [1, 2, 5, None]


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_results_are_in_order_whatever_finishes_first(threads: int | None, count: int) -> None:
    def work(number: int) -> int:
        time.sleep(2e-3 * (number % 3 == 0))
        return number * number

    assert on_threads(work, count, threads=threads) == [number * number for number in range(count)]


def test_as_many_threads_as_asked_for_work_at_once() -> None:
    together = threading.Barrier(3, timeout=10)  # breaks unless three calls run at the same time
    on_threads(lambda _: together.wait(), 6, threads=3)


def test_no_call_runs_in_the_callers_thread() -> None:
    assert threading.get_ident() not in on_threads(lambda _: threading.get_ident(), 3, threads=1)


@pytest.mark.parametrize("threads", THREADS)
def test_the_first_error_drops_the_calls_that_have_not_begun(threads: int | None) -> None:
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        time.sleep(5e-3)
        if number == 0:
            raise ZeroDivisionError("call 0")

    many = 40 * (threads or cores())
    with pytest.raises(ZeroDivisionError, match="call 0"):
        on_threads(work, many, threads=threads)
    assert len(begun) < many


def test_an_error_does_not_wait_for_calls_that_run() -> None:
    release = threading.Event()

    def work(number: int) -> None:
        if number == 1:
            raise ZeroDivisionError
        assert release.wait(10)

    try:
        with pytest.raises(ZeroDivisionError):
            on_threads(work, 2, threads=2)
        assert not release.is_set()
    finally:
        release.set()


def test_progress_ascends_from_nothing_to_all() -> None:
    shares: list[float] = []
    on_threads(lambda _: time.sleep(0.06), 6, threads=2, progress=shares.append)
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert len(shares) > 2


@pytest.mark.parametrize("threads", [0, -1])
def test_fewer_than_one_thread_is_refused(threads: int) -> None:
    with pytest.raises(ParameterError, match=f"threads must be at least 1, not {threads}"):
        on_threads(lambda number: number, 3, threads=threads)


def test_cores_are_known_where_affinity_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    assert cores() == 7


INTERRUPTED = """
import time
from crowdveil.engines import on_threads
begun = []
def work(number):
    begun.append(number)
    if number == 1:  # so that all calls have been submitted
        print("begun", flush=True)
    time.sleep(0.3)
try:
    on_threads(work, 1000, threads=1)
except KeyboardInterrupt:
    print("interrupted after", len(begun))
"""


def test_ctrl_c_is_heard_while_threads_work() -> None:
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=30)
    assert "interrupted after" in rest
    assert int(rest.split()[-1]) < 10
