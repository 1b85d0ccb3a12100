"""Outputs appear whole or not at all."""

from __future__ import annotations

import stat
from pathlib import Path

import polars as pl
import pytest

from crowdveil.errors import OutputError
from crowdveil.files import Folder, whole_file, whole_folders, write_table

FILES = frozenset({"old", "new", "x", "y"})


def _tree(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


def test_folders_take_their_places_together(tmp_path: Path) -> None:
    targets = [Folder(tmp_path / "deep" / "a", 0o755, FILES), Folder(tmp_path / "deep" / "b", 0o700, FILES)]
    with whole_folders(targets, force=False) as (a, b):
        (a / "x").write_text("1")
        (b / "y").write_text("2")
        assert stat.S_IMODE(a.stat().st_mode) == 0o700
        assert not (tmp_path / "deep" / "a").exists()
    assert _tree(tmp_path / "deep") == {"a/x": "1", "b/y": "2"}
    assert stat.S_IMODE((tmp_path / "deep" / "b").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "deep" / "a").stat().st_mode) == 0o755


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("interruption", [KeyboardInterrupt, ZeroDivisionError, SystemExit])
def test_an_interruption_while_writing_changes_nothing(
    tmp_path: Path, interruption: type[BaseException], force: bool
) -> None:
    if force:
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "old").write_text("kept")
    before = _tree(tmp_path)
    with (
        pytest.raises(interruption),
        whole_folders(
            [Folder(tmp_path / "a", 0o755, FILES), Folder(tmp_path / "b", 0o700, FILES)], force=force
        ) as (a, _),
    ):
        (a / "x").write_text("half")
        raise interruption
    assert _tree(tmp_path) == before
    assert not list(tmp_path.glob(".*"))


def test_if_one_folder_cannot_take_its_place_neither_does(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "old").write_text("kept")
    with (
        pytest.raises(OutputError),
        whole_folders(
            [Folder(tmp_path / "a", 0o755, FILES), Folder(tmp_path / "b", 0o755, FILES)], force=True
        ) as (a, b),
    ):
        (a / "x").write_text("new")
        (b / "y").write_text("new")
        (tmp_path / "b").write_text("something got in the way")
    assert _tree(tmp_path) == {"a/old": "kept", "b": "something got in the way"}
    assert not list(tmp_path.glob(".*"))


def test_force_replaces_a_folder_whole(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "old").write_text("gone")
    with whole_folders([Folder(tmp_path / "a", 0o755, FILES)], force=True) as (a,):
        (a / "new").write_text("1")
    assert _tree(tmp_path) == {"a/new": "1"}
    assert not list(tmp_path.glob(".*"))


def test_a_link_is_never_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError), whole_folders([Folder(tmp_path / "a", 0o755, FILES)], force=True):
        pass


def test_a_file_is_whole_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with pytest.raises(KeyboardInterrupt), whole_file(path, force=False) as draft:
        draft.write_text("half")
        raise KeyboardInterrupt
    assert _tree(tmp_path) == {}
    write_table(pl.DataFrame({"a": [1]}), str(path), force=False)
    assert _tree(tmp_path) == {"t.csv": "a\n1\n"}
    with pytest.raises(OutputError):
        write_table(pl.DataFrame({"a": [2]}), str(path), force=False)
    write_table(pl.DataFrame({"a": [2]}), str(path), force=True)
    assert _tree(tmp_path) == {"t.csv": "a\n2\n"}


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_file_has_the_mode_that_was_asked_for(tmp_path: Path, mode: int) -> None:
    with whole_file(tmp_path / "t.csv", force=False, mode=mode) as draft:
        draft.touch()
        assert stat.S_IMODE(draft.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == mode


def test_force_never_deletes_somebody_elses_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "thesis").write_text("precious")
    with (
        pytest.raises(OutputError, match="other files"),
        whole_folders([Folder(tmp_path / "a", 0o755, FILES)], force=True),
    ):
        pass
    assert _tree(tmp_path) == {"a/thesis": "precious"}


def test_a_full_disk_is_an_error_of_the_output(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputError, match="No space"),
        whole_folders([Folder(tmp_path / "a", 0o755, FILES)], force=True),
    ):
        raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("force", [False, True])
def test_what_is_no_file_is_refused_without_advice_that_does_not_help(tmp_path: Path, force: bool) -> None:
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "nowhere", tmp_path / "folder", Path("/dev/null"), Path("/dev/full")):
        with pytest.raises(OutputError) as refused, whole_file(path, force=force):
            pass
        assert str(refused.value) == f"{path}: is not a file; choose another place"
    with pytest.raises(OutputError, match="use -o -,"), whole_file(Path("/dev/stdout"), force=force):
        pass


@pytest.mark.parametrize("force", [False, True])
def test_a_link_is_not_replaced_by_a_folder(tmp_path: Path, force: bool) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("folder")
    for name, words in (("link", "is a link"), ("file", "is not a folder")):
        folders = [Folder(tmp_path / name, 0o755, FILES)]
        with pytest.raises(OutputError) as refused, whole_folders(folders, force=force):
            pass
        assert str(refused.value) == f"{tmp_path / name}: {words}; choose another place"


def test_the_bytes_of_a_table_do_not_depend_on_its_pieces(tmp_path: Path) -> None:
    names = [f"an object with a long name {number // 3}" for number in range(300_000)]
    whole, files = pl.DataFrame({"object": names, "value": range(300_000)}), []
    for end in (99_999, 150_345):
        write_table(
            pl.concat([whole[:end], whole[end:]], rechunk=False),
            f"{tmp_path / str(end)}.parquet",
            force=False,
        )
        files.append((tmp_path / f"{end}.parquet").read_bytes())
    assert files[0] == files[1]
