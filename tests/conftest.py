"""What tests share: a way to run commands, and claims to run them on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from browser_fixtures import browser, context, pages, traffic  # noqa: F401, fixtures
from crowdveil.cli.main import main
from crowdveil.randomness import seeded
from crowdveil.simulation.claims import SimulatedClaims
from service_fixtures import database, postgres, server, start  # noqa: F401, fixtures
from spark_fixtures import cluster, spark, standalone  # noqa: F401, fixtures


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        def refuse(constant: str) -> Any:
            raise AssertionError(f"JSON is not strict: {constant}")

        return json.loads(self.out, parse_constant=refuse)


Run = Callable[..., Ran]


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Run:
    """Run `crowdveil ...` in this process, with a ledger of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))

    def go(*arguments: object) -> Ran:
        monkeypatch.setattr("sys.argv", ["crowdveil", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        code = stopped.value.code
        assert isinstance(code, int)
        return Ran(code, out, err)

    return go


@pytest.fixture
def claims_csv(tmp_path: Path) -> Path:
    """A small simulated claims file."""
    path = tmp_path / "claims.csv"
    SimulatedClaims(users=20, objects=6, unreliable=0.2).frame(rng=seeded(3)).write_csv(path)
    return path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """One process runs all tests in files test_spark_*.py, so that Spark starts once."""
    from xdist.scheduler import LoadScopeScheduling

    class OneSpark(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if "/test_spark_" in nodeid else nodeid

    return OneSpark(config, log)


@pytest.fixture(scope="session")
def datasets() -> Path:
    """The folder of real datasets; tests that need it are skipped without."""
    folder = os.environ.get("CROWDVEIL_DATA", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip("real datasets are not at hand (CROWDVEIL_DATA)")
    return Path(folder)
