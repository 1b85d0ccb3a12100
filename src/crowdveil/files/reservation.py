"""Places for output that are reserved before anything is spent on what goes there.

A reservation makes a room beside each target: a hidden folder that only its owner can open, named after the
target. Whoever holds the lock in a room has the target for himself; the system frees the lock when a process
ends, however it ends. In the room of the last target are the drafts:

    .crowdveil-2f6c.../lock      held as long as somebody is at work
                       new/      the drafts, under the names of their targets
                       old/      what they replace
                       placing   which drafts take whose places: there from the moment when all drafts are
                                 complete until all are in place

What a killed run left is cleared away by the next run that writes into the same folder. If `placing` is
there, that run finishes what was begun. The last target leaves its place first and takes it last: whoever
sees it sees all of the others.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from crowdveil.errors import OutputError
from crowdveil.files.places import File, Folder, plain_errors

PREFIX = ".crowdveil-"
_TRIES, _PAUSE = 20, 0.02  # seconds: a run that clears away what was left holds a lock for a moment
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class Reservation:
    """Targets that are this run's own, and the drafts that will take their places."""

    def __init__(self, targets: Sequence[Folder | File], room: _Room, *, force: bool) -> None:
        self._targets, self._room, self._force = targets, room, force
        self.drafts = [room.new / target.path.name for target in targets]

    @contextlib.contextmanager
    def filling(self) -> Iterator[list[Path]]:
        """The drafts to write into; if the block succeeds, they take the places of the targets, together."""
        with plain_errors(self._targets[-1].path):
            yield self.drafts
            with _undisturbed():
                moves = self._room.moves([draft.name for draft in self.drafts])
                for draft, target in zip(self.drafts, self._targets, strict=True):
                    draft.chmod(target.mode)
                    target.check(force=self._force)  # once more: something may have come in the meantime
                self._room.place(moves)


@contextlib.contextmanager
def reserved(targets: Sequence[Folder | File], *, force: bool) -> Iterator[Reservation]:
    """Reserve places for output, all in one folder; what the block does not fill leaves no trace.

    Parameters
    ----------
    targets:
        What is to be written. If others are of use only together with one, that one is the last.
    force:
        Replace an earlier file, or an earlier folder of the same kind.

    Raises `OutputError` if something is there, if another run writes there now, or if nothing can be written
    there: then nothing needs to be spent to learn that.

    """
    for target in targets:
        target.check_name()
    last = targets[-1].path
    parent = last.absolute().parent
    assert all(target.path.absolute().parent == parent for target in targets)
    with contextlib.ExitStack() as leaving:
        with plain_errors(last):
            _clear_what_was_left(parent)
            for target in targets:
                target.check(force=force)
            for folder in reversed([parent, *parent.parents]):
                if not folder.exists():
                    leaving.callback(_remove_if_empty, folder)
            parent.mkdir(parents=True, exist_ok=True)
            for target in targets:
                room = _enter(parent / _room_name(target.path.name), target.path)
                leaving.callback(room.leave)
            for target in targets:
                target.check(force=force)  # once more: another run may just have finished
            room.prepare(targets)
        yield Reservation(targets, room, force=force)


def _room_name(name: str) -> str:
    return PREFIX + hashlib.blake2b(os.fsencode(name), digest_size=12).hexdigest()


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


# --- rooms --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Room:
    """A folder beside a target whose lock this process holds."""

    path: Path
    lock: int  # a descriptor

    @property
    def new(self) -> Path:
        return self.path / "new"

    @property
    def old(self) -> Path:
        return self.path / "old"

    @property
    def placing(self) -> Path:
        return self.path / "placing"

    def prepare(self, targets: Sequence[Folder | File]) -> None:
        """Empty drafts; a full disk shows now."""
        for folder in (self.new, self.old):
            folder.mkdir(mode=0o700)
        for target in targets:
            target.draft(self.new / target.path.name)
        os.write(self.lock, b"\n")
        os.fsync(self.lock)

    def moves(self, names: Sequence[str]) -> list[_Move]:
        """How drafts of these names take their places, from what is there now."""
        return [_Move(name, _inode(self.new / name), _inode(self.path.parent / name)) for name in names]

    def place(self, moves: Sequence[_Move]) -> None:
        """Move all drafts to their places, or none."""
        part = self.placing.with_suffix(".part")
        with part.open("w") as file:
            json.dump([[move.name, move.draft, move.replaced] for move in moves], file)
            file.flush()
            os.fsync(file.fileno())
        part.rename(self.placing)
        self._finish(moves)

    def _finish(self, moves: Sequence[_Move]) -> None:
        """Make all moves that are not made yet, or undo all of them."""
        try:
            for move in reversed(moves):
                move.make_way(self)
            for move in moves:
                move.take_place(self)
        except BaseException:
            for move in reversed(moves):
                move.undo(self)
            self.placing.unlink()
            raise
        self.placing.unlink()

    def clear(self) -> None:
        """Finish what a killed run had begun to put in place, and remove what it had not."""
        if self.placing.exists():
            with contextlib.suppress(OSError, OutputError), _undisturbed():
                self._finish([_Move(*move) for move in json.loads(self.placing.read_text())])
        if (
            not self.placing.exists()
        ):  # else it could neither be finished nor undone: that is for the next run
            for folder in (self.new, self.old):
                shutil.rmtree(folder, ignore_errors=True)
            self.placing.with_suffix(".part").unlink(missing_ok=True)

    def leave(self) -> None:
        """Remove the room. The lock goes last: whoever comes then finds nothing that is being removed."""
        try:
            self.clear()
            if not (self.new.exists() or self.old.exists()):
                (self.path / "lock").unlink(missing_ok=True)
                _remove_if_empty(self.path)
        finally:
            os.close(self.lock)


def _enter(path: Path, target: Path) -> _Room:
    """The room, emptied, with its lock; `OutputError` if another run keeps that."""
    for _ in range(_TRIES):
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        try:
            if path.lstat().st_uid != os.geteuid() or path.is_symlink():
                raise OutputError(f"{path}: somebody else put this in the way; remove it or write elsewhere")
            lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError:
            continue  # whoever was here has just left
        with contextlib.ExitStack() as giving_up:
            giving_up.callback(os.close, lock)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_PAUSE)
                continue
            if _inode(path / "lock") == os.fstat(lock).st_ino:  # else it was removed meanwhile
                room = _Room(path, lock)
                room.clear()
                giving_up.pop_all()
                return room
    raise OutputError(f"{target}: another run is writing there; wait for it or choose another place")


def _clear_what_was_left(parent: Path) -> None:
    """Remove the rooms of runs that were killed, whatever their targets."""
    rooms = []
    with contextlib.suppress(OSError):  # there is no such folder yet, or it cannot be listed
        rooms = [path for path in parent.iterdir() if path.name.startswith(PREFIX)]
    for path in rooms:
        with contextlib.suppress(OSError, OutputError):
            _enter(path, path).leave()


# --- moves --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Move:
    """A draft that takes a place; every step may have been taken before, by a run that was killed then."""

    name: str
    draft: int  # inodes
    replaced: int  # 0: nothing

    def make_way(self, room: _Room) -> None:
        """Put aside what is replaced, and only that."""
        target = room.path.parent / self.name
        if self.replaced and _inode(target) == self.replaced:
            target.rename(room.old / self.name)

    def take_place(self, room: _Room) -> None:
        """Put the draft into its place, where nothing is any more."""
        draft, target = room.new / self.name, room.path.parent / self.name
        if _inode(target) == self.draft:
            draft.unlink(missing_ok=True)  # a second name of the same file
        elif draft.is_dir():
            draft.rename(target)  # never onto a file or a folder with something in it
        else:
            try:
                target.hardlink_to(draft)  # never onto anything
                draft.unlink()
            except OSError as error:
                if error.errno not in _NO_LINKS or _inode(target):
                    raise
                draft.rename(target)

    def undo(self, room: _Room) -> None:
        """Take the draft back and return what it replaced."""
        draft, target, old = room.new / self.name, room.path.parent / self.name, room.old / self.name
        if _inode(target) == self.draft:
            target.rename(draft)
        if _inode(old) and not _inode(target):
            old.rename(target)


def _inode(path: Path) -> int:
    """The number of what is there, a link not followed; 0 for nothing."""
    try:
        return path.lstat().st_ino
    except FileNotFoundError:
        return 0


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Defer signals that would stop the program until the block has ended."""
    stops = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
