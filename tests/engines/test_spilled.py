"""Arrays on disk: slices are those of NumPy, no file has a name, and a full disk is told in one line."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.engines import LocalEngine
from crowdveil.engines.memory import ON_DISK
from crowdveil.engines.stored import Spilled
from crowdveil.errors import OutputError
from crowdveil.files import read_claims_as_told

slices = st.builds(slice, *[st.none() | st.integers(-12, 12)] * 2)


@given(
    st.integers(0, 9),
    st.none() | st.integers(0, 3),
    st.sampled_from([np.int8, np.int32, np.int64, np.float64, np.bool_]),
    st.lists(slices, max_size=6),
)
@settings(deadline=None, derandomize=True)
def test_slices_are_those_of_an_array(rows: int, width: int | None, kind: Any, written: list[slice]) -> None:
    shape = (rows,) if width is None else (rows, width)
    array, spilled = np.zeros(shape, dtype=kind), Spilled(shape, kind)
    for number, each in enumerate(written, 1):
        piece = (number * np.arange(1, array[each].size + 1)).reshape(array[each].shape).astype(kind)
        array[each] = piece
        spilled[each] = piece
        assert spilled[each].tolist() == array[each].tolist()
    assert (spilled.shape, spilled.dtype, spilled.size, len(spilled)) == (shape, kind, array.size, rows)
    assert spilled[:].tobytes() == array.tobytes()
    assert spilled.ravel()[:].tobytes() == array.ravel().tobytes()


def test_what_is_read_is_a_fresh_array() -> None:
    spilled = Spilled((3,), np.int64)
    spilled[:][1] = 7
    assert spilled[:].tolist() == [0, 0, 0]


def test_numbers_in_any_order_of_bytes_are_written_row_by_row() -> None:
    spilled = Spilled((3, 2), np.int64)
    spilled[:] = np.arange(6).reshape(2, 3).T
    assert spilled[:].tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize("numbers", [np.zeros(1), np.zeros(4), np.zeros((2, 1))])
def test_what_does_not_fit_is_not_written(numbers: Any) -> None:
    with pytest.raises(ValueError, match="does not fit 2 rows"):
        Spilled((3,), np.float64)[0:2] = numbers


def test_only_successive_rows_are_read() -> None:
    with pytest.raises(ValueError, match="successive"):
        Spilled((3,), np.float64)[::2]


def test_threads_write_and_read_their_own_rows() -> None:
    spilled, wrong = Spilled((8000,), np.int64), []

    def work(number: int) -> None:
        own = slice(1000 * number, 1000 * (number + 1))
        for turn in range(50):
            spilled[own] = np.full(1000, number * turn)
            if (spilled[own] != number * turn).any():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert spilled[:].tolist() == np.repeat(49 * np.arange(8), 1000).tolist()


def test_no_file_has_a_name_while_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spilled = Spilled((1000,), np.float64)
    spilled[:] = np.ones(1000)
    descriptor = spilled._file._descriptor
    told = os.fstat(descriptor)
    assert tmp_path.stat().st_dev == told.st_dev
    assert (told.st_nlink, told.st_mode & 0o777) == (0, 0o600)
    assert not os.get_inheritable(descriptor)
    assert list(tmp_path.iterdir()) == []


def test_the_disk_is_free_when_an_array_is_gone() -> None:
    spilled = Spilled((1000,), np.float64)
    flat = spilled.ravel()
    descriptor = spilled._file._descriptor
    del spilled
    os.fstat(descriptor)
    del flat
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


KILLED = """
import sys
import numpy as np
from crowdveil.engines.stored import Spilled
spilled = Spilled((100_000,), np.float64)
spilled[:] = np.ones(100_000)
print("written", flush=True)
sys.stdin.read()
"""


def test_nothing_is_left_after_a_kill(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        assert list(tmp_path.iterdir()) == []
        process.send_signal(signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


FULL = """
import errno, os, sys
import numpy as np
from crowdveil.engines import LocalEngine
from crowdveil.errors import CrowdveilError
from crowdveil.files import read_claims_as_told
def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
if sys.argv[2] == "pwrite":
    os.pwritev = full
else:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    read_claims_as_told(sys.argv[1], LocalEngine(1, memory=20_000))
except CrowdveilError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(("how", "why"), [("pwrite", "No space left on device"), ("limit", "File too large")])
def test_a_full_disk_is_told_in_one_line(how: str, why: str, tmp_path: Path) -> None:
    from every_method import crowd
    from storing import frame_of

    path, temporary = tmp_path / "claims.parquet", tmp_path / "temporary"
    frame_of(crowd()).write_parquet(path)
    temporary.mkdir()
    surroundings = {name: each for name, each in os.environ.items() if not name.startswith("COVERAGE")}
    ran = subprocess.run(  # without coverage, which writes a file of its own
        [sys.executable, "-c", FULL, str(path), how],
        capture_output=True,
        text=True,
        env={**surroundings, "TMPDIR": str(temporary)},
        check=True,
    )
    assert ran.stdout == (
        f"OutputError {temporary}: temporary files cannot be written there ({why}); "
        "TMPDIR names another folder\n"
    )
    assert ran.stderr == ""
    assert list(temporary.iterdir()) == []


def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(OutputError, match="nowhere: temporary files cannot be written there"):
        Spilled((3,), np.float64)


def test_a_disk_without_room_for_all_steps_is_refused_before_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from every_method import crowd
    from storing import frame_of

    path, claims = tmp_path / "claims.parquet", crowd()
    frame_of(claims).write_parquet(path)
    free = shutil.disk_usage(tmp_path)._replace(free=ON_DISK * len(claims) - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    with pytest.raises(OutputError, match="temporary files may take 35 KiB, and 35 KiB are free there"):
        read_claims_as_told(str(path), LocalEngine(1, memory=20_000))
    free = free._replace(free=free.free + 1)
    assert len(read_claims_as_told(str(path), LocalEngine(1, memory=20_000))[0]) == len(claims)
