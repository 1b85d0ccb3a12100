"""Places are reserved before they are filled: for one run, in a folder that can be written."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from crowdveil.errors import OutputError
from crowdveil.files import File, Folder, reserved

FILES = frozenset({"x"})


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _pair(tmp_path: Path) -> list[Folder]:
    return [Folder(tmp_path / "out-private", 0o700, FILES), Folder(tmp_path / "out", 0o755, FILES)]


def test_a_place_is_for_one_run_at_a_time(tmp_path: Path) -> None:
    with reserved(_pair(tmp_path), force=True):
        for target in (Folder(tmp_path / "out", 0o755, FILES), File(tmp_path / "out-private")):
            with (
                pytest.raises(OutputError, match="another run is writing there"),
                reserved([target], force=True),
            ):
                pass
        with reserved([File(tmp_path / "other")], force=False) as other, other.filling() as (draft,):
            draft.write_text("beside")
    assert _names(tmp_path) == ["other"]
    with reserved(_pair(tmp_path), force=False):
        pass


def test_whatever_the_way_to_it_a_place_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    with reserved([File(tmp_path / "t.csv")], force=False):
        for path in (Path("t.csv"), tmp_path / "link" / "t.csv", Path("link/link/t.csv")):
            with pytest.raises(OutputError, match="another run"), reserved([File(path)], force=False):
                pass


def test_drafts_are_hidden_in_a_folder_of_their_owner(tmp_path: Path) -> None:
    with reserved(_pair(tmp_path), force=False) as places:
        assert all(name.startswith(".crowdveil-") for name in _names(tmp_path))
        for path in tmp_path.iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o700
        with places.filling() as (private, public):
            (private / "x").write_text("1")
            (public / "x").write_text("2")
            assert {private.parent, public.parent} == {tmp_path / private.parts[-3] / "new"}
    assert _names(tmp_path) == ["out", "out-private"]


def test_what_is_not_filled_leaves_no_trace(tmp_path: Path) -> None:
    with reserved([File(tmp_path / "a" / "b" / "t.csv")], force=False) as places:
        places.drafts[0].write_text("half")
    assert _names(tmp_path) == []
    with (
        reserved([File(tmp_path / "a" / "b" / "t.csv")], force=False) as places,
        places.filling() as (draft,),
    ):
        draft.write_text("whole")
    assert (tmp_path / "a" / "b" / "t.csv").read_text() == "whole"
    assert _names(tmp_path / "a" / "b") == ["t.csv"]


@pytest.mark.parametrize("force", [False, True])
def test_a_file_that_came_meanwhile_is_not_replaced(tmp_path: Path, force: bool) -> None:
    target = tmp_path / "t.csv"
    with (
        reserved([File(target)], force=force) as places,
        pytest.raises(OutputError),
        places.filling() as (draft,),
    ):
        draft.write_text("ours")
        target.mkdir()
        (target / "x").write_text("theirs")
    assert (target / "x").read_text() == "theirs"
    assert _names(tmp_path) == ["t.csv"]


class Meanwhile(File):
    """A file that somebody else writes when the last check is over."""

    def check(self, *, force: bool) -> None:
        super().check(force=force)
        if self.path.with_name("now").exists():
            self.path.write_text("theirs")


@pytest.mark.parametrize("links", [True, False])
def test_not_even_if_it_comes_after_the_last_check(
    tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "no links here")

    if not links:
        monkeypatch.setattr(Path, "hardlink_to", refuse)
    (tmp_path / "b").write_text("before")
    with (
        reserved([File(tmp_path / "b"), Meanwhile(tmp_path / "a")], force=True) as places,
        pytest.raises(OutputError),
        places.filling() as drafts,
    ):
        for draft in drafts:
            draft.write_text("ours")
        (tmp_path / "now").touch()
    assert (tmp_path / "a").read_text() == "theirs"
    assert (tmp_path / "b").read_text() == "before"


def test_where_there_are_no_links_files_are_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    with reserved([File(tmp_path / "t")], force=False) as places, places.filling() as (draft,):
        draft.write_text("1")
    assert (tmp_path / "t").read_text() == "1"


def test_a_full_disk_shows_when_a_place_is_reserved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"), reserved([File(tmp_path / "t")], force=False):
        pass
    assert _names(tmp_path) == []


@pytest.mark.parametrize("name", ["n" * 256, "n" * 250 + ".parquet", "\N{SNOWMAN}" * 100])
def test_a_name_that_is_too_long_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match="too long"), reserved([File(tmp_path / name)], force=False):
        pass
    assert _names(tmp_path) == []


@pytest.mark.parametrize(
    "name", ["n" * 255, "lock", "new", "old", "placing", ".crowdveil-x", "\N{SNOWMAN}.csv"]
)
def test_any_other_name_will_do(tmp_path: Path, name: str) -> None:
    with reserved([File(tmp_path / name)], force=False) as places, places.filling() as (draft,):
        draft.write_text("1")
    assert _names(tmp_path) == [name]


def test_a_folder_that_somebody_prepared_is_not_used(tmp_path: Path) -> None:
    with reserved([File(tmp_path / "t")], force=False):
        (room,) = tmp_path.iterdir()
    (tmp_path / "theirs").mkdir()
    room.symlink_to(tmp_path / "theirs")
    with pytest.raises(OutputError, match="somebody else"), reserved([File(tmp_path / "t")], force=False):
        pass
    assert _names(tmp_path / "theirs") == []


def test_what_belongs_to_somebody_else_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t").write_text("theirs")
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(os, "geteuid", lambda: 1 + (tmp_path / "t").stat().st_uid)
    with pytest.raises(OutputError, match="somebody else"), reserved([File(tmp_path / "t")], force=True):
        pass
    assert (tmp_path / "t").read_text() == "theirs"
