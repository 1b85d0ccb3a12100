"""`--engine spark` on the command line: what is missing is told in one line, and costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from conftest import Run
from spark_fixtures import NO_JAVA, has_java


def refusal(run: Run, claims: Path, *options: object) -> str:
    """The one line that a release ends with, and the ledger is left alone."""
    out, ledger = claims.with_name("out"), claims.with_name("ledger.sqlite3")
    ran = run(
        *("release", claims, "-o", out, "--epsilon", 2, "--range", "0:10", "--ledger", ledger),
        *("--engine", "spark", *options),
    )
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert ran.out == ""
    assert not out.exists()
    assert (
        run("ledger", "--ledger", ledger, "--json").code == 2
        or '"entries": []' in run("ledger", "--ledger", ledger, "--json").out
    )
    return ran.err


def test_no_java(run: Run, claims_csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    assert "needs Java 17 or later, and there is none: install a JRE" in refusal(run, claims_csv)


@pytest.mark.parametrize(("told", "version"), [("1.8.0_392", 8), ("11.0.2", 11)])
def test_old_java(
    told: str, version: int, run: Run, claims_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{told}\" 2018-10-16' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"needs Java 17 or later, and this is {version}" in refusal(run, claims_csv)


def test_pandas_that_spark_does_not_take(run: Run, claims_csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pd, "__version__", "3.0.1")
    assert "needs pandas below 3, not 3.0.1" in refusal(run, claims_csv)


def test_no_pyspark(run: Run, claims_csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    whole = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "pyspark":
            raise ImportError(name)
        return whole(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    assert "pip install 'crowdveil[spark]'" in refusal(run, claims_csv)


@pytest.mark.skipif(not has_java(), reason=NO_JAVA)
@pytest.mark.parametrize(
    ("master", "words"),
    [
        ("spark://127.0.0.1:1", "no Spark master answers at spark://127.0.0.1:1"),
        ("spark://127.0.0.1", "--master takes spark://HOST:PORT"),
        ("spark://host:port", "--master takes spark://HOST:PORT"),
    ],
)
def test_a_wrong_master(master: str, words: str, run: Run, claims_csv: Path) -> None:
    assert words in refusal(run, claims_csv, "--master", master)


def test_a_master_without_spark(run: Run, claims_csv: Path) -> None:
    ran = run("discover", claims_csv, "--master", "local[2]")
    assert (ran.code, ran.out) == (2, "")
    assert "--master goes with --engine spark" in ran.err


def test_threads_are_of_this_machine(run: Run, claims_csv: Path) -> None:
    assert "--threads goes with --engine local" in refusal(run, claims_csv, "--threads", 2)
