"""A real cluster: a master and two workers on loopback, of which one is killed in the middle of a release."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from crowdveil.ledger import Ledger
from crowdveil.randomness import seeded
from crowdveil.simulation.claims import SimulatedClaims
from spark_fixtures import Standalone

SEED = 11
CROWDVEIL = [sys.executable, "-m", "crowdveil"]


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    """120,000 simulated claims."""
    path = tmp_path / "claims.parquet"
    SimulatedClaims(users=400, objects=300, unreliable=0.2).frame(rng=seeded(3)).write_parquet(path)
    return path


def defaults(folder: Path) -> dict[str, str]:
    """Settings that an administrator might have: a log of all events, and no encryption."""
    folder.mkdir()
    (folder / "events").mkdir()
    (folder / "spark-defaults.conf").write_text(
        f"spark.eventLog.enabled true\nspark.eventLog.dir file:{folder / 'events'}\n"
        "spark.eventLog.compress false\nspark.executor.memory 512m\nspark.io.encryption.enabled false\n"
    )
    return {"SPARK_CONF_DIR": str(folder)}


def test_a_worker_that_is_killed_changes_nothing(
    standalone: Standalone, claims: Path, tmp_path: Path
) -> None:
    command = [*CROWDVEIL, "release", str(claims), "--range", "0:10", "--epsilon", "4", "--unit", "claim"]
    command += ["--seed", str(SEED), "--ledger", str(tmp_path / "ledger.sqlite3"), "--json"]
    subprocess.run([*command, "-o", str(tmp_path / "here"), "--dataset", "here"], check=True)
    conf = defaults(tmp_path / "conf")
    running = subprocess.Popen(
        [
            *(*command, "-o", str(tmp_path / "there"), "--dataset", "there"),
            *("--engine", "spark", "--master", standalone.master),
        ],
        env=standalone.environment | conf,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    book = Ledger(tmp_path / "ledger.sqlite3")
    while running.poll() is None and not book.statement("there")[1]:
        time.sleep(0.05)
    standalone.kill("first")
    assert running.poll() is None
    assert not (tmp_path / "there").exists()
    _, errors = running.communicate(timeout=180)
    assert running.returncode == 0, errors.decode()
    standalone.start_worker("first")

    (charged,) = book.statement("there")[1]
    assert charged.released is not None
    parts = sorted((tmp_path / "there" / "claims.parquet").iterdir())
    assert [part.name for part in parts] == ["part-000000000000.parquet"]
    assert_frame_equal(
        pl.concat(pl.read_parquet(part) for part in parts),
        pl.read_parquet(tmp_path / "here" / "claims.parquet"),
    )
    for folder, name in (("", "public.html"), ("", "claims.csv"), ("-private", "steward.html")):
        here, there = (tmp_path / f"{where}{folder}" / name for where in ("here", "there"))
        assert here.read_bytes() == there.read_bytes()
    secrets_stay_out(tmp_path / "conf" / "events", standalone.folder)


def test_workers_without_this_python_are_told_in_one_line(
    standalone: Standalone, claims: Path, tmp_path: Path
) -> None:
    command = [*CROWDVEIL, "discover", str(claims), "-o", str(tmp_path / "truths.csv"), "--engine", "spark"]
    ran = subprocess.run(
        [*command, "--master", standalone.master],
        env=standalone.environment | {"PYSPARK_PYTHON": str(tmp_path / "no-python")},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert "which need this Python (PYSPARK_PYTHON)" in ran.stderr


def secrets_stay_out(events: Path, workers: Path) -> None:
    """The key of draws is neither in the log of events nor in files of workers; the settings are ours."""
    key = seeded(SEED).all_streams(purpose="x").key.tobytes()
    forms = [key, key.hex().encode(), base64.b64encode(key), b"crowdveil seed"]
    logs = [path for path in (*events.rglob("*"), *workers.rglob("*")) if path.is_file()]
    assert any(path.is_relative_to(events) for path in logs)
    for path in logs:
        assert not any(form in path.read_bytes() for form in forms), path
    log = max((path for path in logs if path.is_relative_to(events)), key=lambda path: path.stat().st_size)
    told = [json.loads(line) for line in log.read_text().splitlines()]
    settings = next(each["Spark Properties"] for each in told if "Spark Properties" in each)
    assert settings["spark.io.encryption.enabled"] == "true"
