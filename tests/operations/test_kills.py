"""Runs that are killed at every moment, and runs that race for one place.

What is in place is whole and charged for, and what was left behind is gone after the next run.

Run as a script, this file is what the tests start: a process that has loaded everything, and whose forks are
killed: `test_kills.py FOLDER folders|files|release new|force EVERY TIMES`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdveil.errors import OutputError
from crowdveil.files import File, Folder, reserved
from crowdveil.guarantee import Guarantee
from crowdveil.kernels import layout
from crowdveil.ledger import Ledger
from crowdveil.operations.release import release
from crowdveil.operations.spending import Account, Cost, spend
from crowdveil.public_range import Range
from crowdveil.releases.basic import Basic
from crowdveil.report.bundle import PRIVATE_FILES, PUBLIC_FILES
from crowdveil.report.page import environment

TENTH = Guarantee(0.1, 0.0, unit="claim", adjacency="replace-one", trust="central")
SMALL = frozenset({"1", "2", "3"})
STEPS = {  # what a run does to files, as the interpreter tells it
    *("open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.chmod"),
    *("fcntl.flock", "sqlite3.connect", "shutil.rmtree"),
}
Write = Callable[[Ledger, str, Path, bool], Any]  # ledger, name of the charge, output, force


def _run(*arguments: object) -> dict[str, int]:
    command = [sys.executable, "-W", "error", __file__, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    told: dict[str, int] = json.loads(done.stdout)
    return told


PHASES = {"nothing charged", "charged, nothing in place", "in place, not complete", "complete"}


@pytest.mark.parametrize("kind", ["folders", "files"])
@pytest.mark.parametrize("replacing", ["new", "force"])
def test_killed_at_any_step_a_run_leaves_whole_outputs_or_none(
    tmp_path: Path, kind: str, replacing: str
) -> None:
    killed = _run(tmp_path, kind, replacing, 1, 15)
    assert sum(killed.values()) >= 50
    assert {phase for phase, kills in killed.items() if kills} == PHASES | {"private in place alone"}


def test_a_release_that_is_killed_while_it_is_written(tmp_path: Path) -> None:
    killed = _run(tmp_path, "release", "new", 5, 0)
    assert killed["charged, nothing in place"] >= 2
    assert sum(killed.values()) >= 8


@pytest.mark.slow_audit
@pytest.mark.parametrize("replacing", ["new", "force"])
def test_a_release_that_is_killed_at_every_step(tmp_path: Path, replacing: str) -> None:
    killed = _run(tmp_path, "release", replacing, 1, 60)
    assert sum(killed.values()) >= 100
    assert {phase for phase, kills in killed.items() if kills} == PHASES | {"private in place alone"}


def test_of_runs_that_race_for_one_place_one_is_charged(tmp_path: Path) -> None:
    assert _run(tmp_path, "race") == {"refused": 7, "written": 1}


# --- what the tests start -----------------------------------------------------------------------------------


def _folders(book: Ledger, name: str, out: Path, force: bool, seconds: float = 0.01) -> None:
    """Charge, draw and write two folders as every operation does, with little to draw and to write."""

    def write(drawn: str) -> None:
        with places.filling() as drafts:
            for draft in drafts:
                for file in sorted(SMALL):
                    (draft / file).write_text(drawn)

    private = Folder(out.with_name(out.name + "-private"), 0o700, SMALL)
    with reserved([private, Folder(out, 0o755, SMALL)], force=force) as places:
        _spend(book, name, seconds, write)


def _files(book: Ledger, name: str, out: Path, force: bool) -> None:
    """The same for two files."""

    def write(drawn: str) -> None:
        with places.filling() as drafts:
            for draft in drafts:
                draft.write_text(drawn)

    private = File(out.with_name(out.name + "-private"), 0o700)
    with reserved([private, File(out, 0o755)], force=force) as places:
        _spend(book, name, 0.01, write)


def _spend(book: Ledger, name: str, seconds: float, write: Callable[[str], None]) -> None:
    def draw() -> str:
        time.sleep(seconds)
        return name

    spend(Account(book, "d"), Cost(TENTH, name), draw=draw, write=write)


def _release(book: Ledger, name: str, out: Path, force: bool) -> None:
    class Named(Basic):
        pass

    Named.name = name
    source = book.path.with_name("before.csv" if name.endswith("before") else "claims.csv")
    release(str(source), Named(0.1, Range(0, 9)), out, Account(book, "d"), force=force)


def _prepare_release(book: Ledger) -> None:
    """Load what a fork would otherwise load; Polars' threads do not survive a fork, so it is not used yet."""
    for name, objects in (("before.csv", 3), ("claims.csv", 4)):
        rows = [f"o{i},u{j},{i * j % 10}\n" for i in range(objects) for j in range(9)]
        book.path.with_name(name).write_text("object,user,value\n" + "".join(rows))
    codes, offsets = np.zeros(1, dtype=np.int32), layout.starts(np.zeros(1, dtype=np.int32), 1)
    laid_out = np.zeros(1, dtype=np.int32), np.zeros(1)
    layout.lay_out(codes, codes, np.zeros(1), offsets, 1, *laid_out)
    layout.sort_values(offsets, *laid_out)
    for page in ("public.html", "steward.html"):
        environment().get_template(page)


def _fork(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except OutputError:
            code = 2
        finally:
            os._exit(code)
    return child


def _ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _kill_at_step(step: int, folder: Path) -> None:
    """Kill this process when it is about to take this step."""
    left = step

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event in STEPS and (event == "fcntl.flock" or str(folder) in str(arguments[0])):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


class Place:
    """A folder where one run is killed."""

    def __init__(self, book: Ledger, folder: Path, write: Write, files: tuple[frozenset[str], ...]) -> None:
        self.book, self.folder, self.write, self.files = book, folder, write, files
        self.out, self.name = folder / "out", folder.name
        folder.mkdir()

    def whole(self, path: Path, files: frozenset[str]) -> str | None:
        """Which run wrote this folder, all of it; None if it is not there."""
        if not path.exists():
            return None
        assert (path.stat().st_mode & 0o777) == (0o755 if path == self.out else 0o700)
        if path.is_file():
            return path.read_text()
        names = {file.name for file in path.iterdir()}
        assert names in (files, files - {"weights.csv"}), f"{path} is not whole"
        told = {file.read_text() for file in path.iterdir()} if files == SMALL else set()
        if not told:
            return self.writer(path)
        assert len(told) == 1
        return told.pop()

    def writer(self, path: Path) -> str:
        """Who wrote a release: its certificate names the method, and earlier ones are about fewer objects."""
        if path == self.out:
            return str(json.loads((path / "certificate.json").read_text())["method"])
        objects = len((path / "statuses.csv").read_text().splitlines()) - 1
        return {3: f"{self.name} before", 4: self.name}[objects]

    def state(self) -> tuple[str | None, str | None]:
        private = self.out.with_name("out-private")
        return self.whole(private, self.files[0]), self.whole(self.out, self.files[1])

    def check_killed(self, before: str | None) -> str:
        """The phase in which the run was killed; what is in place is whole, and charged for."""
        charges = {entry.method: entry for entry in self.book.entries()}
        private, public = self.state()
        for there in (private, public):
            assert there is None or there in charges
        assert public in (None, private), "there is a public folder without its private one"
        assert public in (None, before, self.name)
        for left in self.folder.glob(".*"):
            assert (left.stat().st_mode & 0o777) == 0o700
        if self.name not in charges:
            assert (private, public) == (before, before)
            return "nothing charged"
        if charges[self.name].released is not None:
            assert (private, public) == (self.name, self.name)
            return "complete"
        if public == self.name:
            return "in place, not complete"
        return "charged, nothing in place" if private != self.name else "private in place alone"

    def kill_next_runs(self, before: str | None) -> None:
        """Kill those that would finish what was begun, at one step after another."""

        def finish(step: int) -> None:
            _kill_at_step(step, self.folder)
            self.write(self.book, f"{self.name} next", self.out, False)

        for step in range(1, 20):
            assert _ended(_fork(partial(finish, step))) in (2, -signal.SIGKILL)
            assert self.check_killed(before) in ("private in place alone", "in place, not complete")

    def check_next_run(self, before: str | None, *, elsewhere: bool) -> None:
        """After the next run, of this output or another one, nothing is left; all is in place, or nothing."""
        private, public = self.state()
        done = public == self.name or private == self.name
        other = self.folder / "other" if elsewhere else self.out
        code = _ended(_fork(lambda: self.write(self.book, f"{self.name} next", other, False)))
        assert list(self.folder.glob(".*")) == []
        if elsewhere:
            assert code == 0
            assert self.state() in (((self.name,) * 2,) if done else ((before,) * 2, (self.name,) * 2))
        elif code == 2:  # there was something already
            assert self.state() in ((self.name,) * 2, (before,) * 2)
            assert self.state()[0] is not None
        else:
            assert code == 0
            assert not done
            assert before is None


def _killed(place: Place, before: str | None, *, step: int = 0, seconds: float = 0.0) -> str | None:
    """Kill a run at a step or after a time; in which phase that was, or None if the run was over before."""

    def work() -> None:
        if step:
            _kill_at_step(step, place.folder)
        place.write(place.book, place.name, place.out, before is not None)

    child = _fork(work)
    if not step:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    code = _ended(child)
    assert code in (0, -signal.SIGKILL)
    return None if code == 0 else place.check_killed(before)


def _kill_again_and_again(folder: Path, kind: str, replacing: str, every: int, times: int) -> Counter[str]:
    """Kill a run at every step (or every few of them), and then at moments that are drawn."""
    book = Ledger(folder / "ledger.sqlite3")
    write: Write = {"folders": _folders, "files": _files, "release": _release}[kind]
    files = (PRIVATE_FILES, PUBLIC_FILES) if kind == "release" else (SMALL, SMALL)
    if kind == "release":
        _prepare_release(book)
    moments, numbers, killed = random.Random(1), count(), Counter[str]()

    def kill(**when: float) -> bool:
        number = next(numbers)
        place = Place(book, folder / f"run {number}", write, files)
        before = f"{place.name} before" if replacing == "force" else None
        if before is not None:
            assert _ended(_fork(lambda: write(book, before, place.out, False))) == 0
        phase = _killed(place, before, **when)  # type: ignore[arg-type]
        if phase is not None:
            killed[phase] += 1
            if phase == "private in place alone":
                place.kill_next_runs(before)
            place.check_next_run(before, elsewhere=number % 2 == 0)
        return phase is not None

    step = every
    began = time.monotonic()
    while kill(step=step):
        step += every
        began = time.monotonic()
    longest = time.monotonic() - began
    while times:
        times -= kill(seconds=moments.uniform(0, longest))
    return killed


def _race(folder: Path) -> Counter[str]:
    """Eight runs that start at the same time, with one output."""
    book = Ledger(folder / "ledger.sqlite3")
    gate, starter = os.pipe()

    def take(name: str) -> None:
        os.close(starter)
        os.read(gate, 1)  # returns when the starter is closed
        _folders(book, name, folder / "out", True, seconds=3.0)

    children = [_fork(lambda name=str(k): take(name)) for k in range(8)]  # type: ignore[misc]
    os.close(starter)
    codes = Counter({0: "written", 2: "refused"}[_ended(child)] for child in children)
    assert len(book.entries()) == codes["written"]
    assert list(folder.glob(".*")) == []
    return codes


if __name__ == "__main__":
    where, what, *more = sys.argv[1:]
    if what == "race":
        print(json.dumps(_race(Path(where))))
    else:
        print(json.dumps(_kill_again_and_again(Path(where), what, more[0], int(more[1]), int(more[2]))))
