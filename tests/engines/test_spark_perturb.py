"""Spark draws the same noise as this machine, with few users and with many."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import polars as pl
import pytest

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.engines.spark import Cluster, SparkClaims, SparkEngine, lay_out
from crowdveil.errors import ParameterError
from crowdveil.files import read_claims_as_told, reserved_table, write_reports
from crowdveil.files.certificates import KEY
from crowdveil.files.rows import rows_of_parquet
from crowdveil.ledger import BudgetExceeded, Ledger
from crowdveil.local import Laplace, perturb
from crowdveil.local.description import Description
from crowdveil.operations.perturb import Request
from crowdveil.operations.perturb import perturb as perturb_file
from crowdveil.operations.spending import Account
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from every_device import MECHANISMS, digest, table
from noting import Known

FEW, MANY = 10_000, 0
DESCRIPTION = Description("laplace", {"epsilon": 1.0, "range": [0.0, 10.0]})


def on_spark(cluster: Cluster, claims: Claims, most_broadcast: int = FEW) -> SparkClaims:
    rows = {
        "object": claims.objects.gather(claims.owners()).to_list(),
        "user": claims.users.gather(claims.user_codes).to_list(),
        "value": claims.values.tolist(),
    }
    frame = cluster.spark.createDataFrame(list(zip(*rows.values(), strict=True)), list(rows))
    return lay_out(
        *(cluster, frame),
        object="object",
        user="user",
        value="value",
        source="claims",
        most_broadcast=most_broadcast,
        blocks=3,
    )


@pytest.mark.parametrize("most_broadcast", [FEW, MANY], ids=["few users", "many users"])
@pytest.mark.parametrize("names", ["text", "numbers"])
def test_spark_draws_what_this_machine_draws(cluster: Cluster, names: str, most_broadcast: int) -> None:
    local = table(names)
    claims = on_spark(cluster, local, most_broadcast)
    for name in ("laplace", "per user, floor"):
        whole, cut = (
            perturb(cast("Claims", each), MECHANISMS[name], rng=seeded(4), engine=engine)
            for each, engine in ((local, LocalEngine()), (claims, SparkEngine(cluster)))
        )
        assert digest(cut.claims.here()) == digest(whole.claims)
        assert cut.claims.here().users.equals(whole.claims.users)
        assert (cut.clamped, cut.claims_of_a_user) == (whole.clamped, whole.claims_of_a_user)
        assert cut.promise == whole.promise


def test_without_a_seed_no_two_users_share_a_stream_and_what_runs_again_draws_the_same(
    cluster: Cluster,
) -> None:
    """Under a fresh key the numbers of users are what tells their streams apart."""
    local, rng = table(), Known(None)
    whole = perturb(local, MECHANISMS["laplace"], rng=rng)
    cut = perturb(
        cast("Claims", on_spark(cluster, local, MANY)),
        MECHANISMS["laplace"],
        rng=rng,
        engine=SparkEngine(cluster),
    )
    assert digest(cut.claims.here()) == digest(whole.claims)
    for rdd in cluster.context._jsc.getPersistentRDDs().values():
        rdd.unpersist()
    assert digest(cut.claims.here()) == digest(whole.claims)


@pytest.mark.parametrize("most_broadcast", [FEW, MANY], ids=["few users", "many users"])
def test_caps_keep_the_same_claims(cluster: Cluster, most_broadcast: int) -> None:
    local = table()
    capped = on_spark(cluster, local, most_broadcast).capped(7)
    assert digest(capped.here()) == digest(local.capped(7))


@pytest.mark.parametrize("most_broadcast", [FEW, MANY], ids=["few users", "many users"])
@pytest.mark.parametrize("names", ["text", "numbers"])
def test_workers_write_the_rows_that_this_machine_writes(
    cluster: Cluster, tmp_path: Path, names: str, most_broadcast: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crowdveil.engines.spark.writing.ROWS_OF_A_FILE", 4_000)  # of 9,000
    local = table(names)
    mechanism: Laplace = DESCRIPTION.build()
    for name, claims, engine in (
        ("here.parquet", local, LocalEngine()),
        ("there.parquet", on_spark(cluster, local, most_broadcast), SparkEngine(cluster)),
    ):
        perturbed = perturb(cast("Claims", claims), mechanism, rng=seeded(4), engine=engine)
        with reserved_table(str(tmp_path / name), force=False, parts=engine.writes_folders) as place:
            write_reports(perturbed, DESCRIPTION, place, engine=engine)
    parts = sorted((tmp_path / "there.parquet").iterdir())
    assert len(parts) == 3
    assert pl.concat(map(pl.read_parquet, parts)).equals(pl.read_parquet(tmp_path / "here.parquet"))
    told = [json.loads(pl.read_parquet_metadata(part)[KEY]) for part in parts]
    assert told[0] == told[1] == told[2]
    assert told[0]["contents"]["parts"] == {part.name: rows_of_parquet(part) for part in parts}


def test_the_operation_on_spark_writes_a_folder_that_tells_what_was_promised(
    cluster: Cluster, tmp_path: Path
) -> None:
    raw, account = tmp_path / "raw.parquet", Account(Ledger(tmp_path / "ledger.sqlite3"), "d", budget=1.5)
    local = table()
    rows = {
        "object": local.objects.gather(local.owners()),
        "user": local.users.gather(local.user_codes),
        "value": local.values,
    }
    pl.DataFrame(rows).write_parquet(raw)
    request = Request(str(raw), "laplace", Range(0.0, 10.0), 1.0)
    out, engine = str(tmp_path / "noisy.parquet"), SparkEngine(cluster)
    result = perturb_file(request, account, out, engine=engine).to_dict()
    assert (result["claims"], result["users"]) == (9000, 300)
    noisy, certificate = read_claims_as_told(out)
    assert certificate is not None
    assert certificate.public["claims_of_a_user"] == local.claims_per_user().max()
    assert digest(noisy) != digest(local)
    assert noisy.users.equals(local.users)
    assert read_claims_as_told(out, engine)[1] == certificate
    (charge,) = account.ledger.entries()
    assert charge.status == "released"
    with pytest.raises(BudgetExceeded):
        perturb_file(request, account, str(tmp_path / "again.parquet"), engine=engine)
    with pytest.raises(ParameterError, match="laplace or gaussian-exponential"):
        perturb_file(
            Request(str(raw), "rr", Range(0.0, 4.0), 1.0),
            account,
            str(tmp_path / "cells.parquet"),
            engine=engine,
        )
    assert {path.name for path in tmp_path.iterdir() if "parquet" in path.name} == {raw.name, "noisy.parquet"}
