"""The law of the noise travels with noisy claims, through files and pipes; else their origin is unknown."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import Ran, Run

ROOT = Path(__file__).parents[2]
BEFORE = ROOT / "tests" / "certificates" / "before"
MECHANISMS = {
    "laplace": ("--epsilon", "4"),
    "gaussian-exponential": ("--mechanism", "gaussian-exponential", "--epsilon", "4"),
    "gaussian-exponential-per-user": (
        *("--mechanism", "gaussian-exponential-per-user", "--lambda2", "0.02"),
        *("--floor", "300"),
    ),
}
LAPLACE = ("--range", "0:10", "--epsilon", "4")
ENDINGS = ("csv", "csv.gz", "parquet")


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    """20 users, 6 objects, one of which looks like a certificate."""
    rng = np.random.default_rng(1)
    objects = ["#crowdveil x", *(f"o{i}" for i in range(5))]
    rows = [(name, f"u{s}", float(rng.uniform(0, 10))) for name in objects for s in range(20)]
    path = tmp_path / "claims.csv"
    pl.DataFrame(rows, schema=["object", "user", "value"], orient="row").write_csv(path)
    return path


@pytest.fixture
def piped(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command with a file as its standard input: the first argument."""

    def go(data: object, *arguments: object) -> Ran:
        content = data.read_bytes() if isinstance(data, Path) else str(data).encode()
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(content)))
        return run(*arguments)

    return go


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_law_travels_with_every_mechanism(run: Run, piped: Run, claims: Path, name: str) -> None:
    """As CSV, gzipped, as Parquet and through a pipe: the same truths under the same law."""
    found, out = [], claims.with_name("found.csv")
    asked = ("perturb", claims, "--range", "0:10", *MECHANISMS[name], "--seed", 7)
    sentence = "No differential privacy guarantee: the draws come from a fixed seed"
    for ending in ENDINGS:
        noisy = claims.with_name(f"noisy.{ending}")
        assert run(*asked, "-o", noisy).code == 0
        moved = noisy.rename(claims.with_name("somewhere.else"))
        told = run("discover", moved, "-o", out, "--force", "--json").json()
        assert (told["method"], told["origin"]) == ("noise-aware", "noisy claims")
        assert told["promise"].startswith(sentence)
        found.append(out.read_bytes())
        told = piped(moved, "discover", "-", "-o", out, "--force", "--json").json()
        assert (told["method"], told["origin"]) == ("noise-aware", "noisy claims")
        found.append(out.read_bytes())
        explained = run("explain", moved, "--json").json()
        assert explained == piped(moved, "explain", "-", "--json").json()
        assert explained["method"] == name
    printed = run(*asked, "-o", "-").out
    assert piped(printed, "discover", "-", "-o", out, "--force", "--json").json()["method"] == "noise-aware"
    found.append(out.read_bytes())
    assert len(set(found)) == 1
    assert "#crowdveil x," in found[0].decode()


def test_a_real_pipe_carries_the_law(claims: Path) -> None:
    command = f"{sys.executable} -m crowdveil"
    script = (
        f"{command} perturb claims.csv -o - --range 0:10 --epsilon 4 | tee noisy.csv | {command} discover -\n"
        f"gzip -c noisy.csv | {command} discover - > zipped.csv 2> zipped.txt\n"
        f"{command} perturb - --dataset d --range 0:10 --epsilon 4 --seed 1 -o - "
        "< claims.csv > seeded.csv 2> seeded.txt\n"
        f"tail -n +2 noisy.csv | {command} discover - > bare.csv 2> bare.txt\n"
        f"tail -n +2 noisy.csv | {command} discover - --law noisy.csv > again.csv 2> again.txt\n"
    )
    environment = {**os.environ, "XDG_STATE_HOME": str(claims.parent / "state")}
    done = subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=claims.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count("Differential privacy for each claim with epsilon = 4") == 2  # from both ends
    assert "It rests on this: " in done.stderr
    assert "NOT PRIVATE" not in done.stderr
    assert done.stdout.startswith("object,estimate,")
    assert done.stdout.count("\n") == 7
    texts = {path.name: path.read_text() for path in claims.parent.iterdir() if path.is_file()}
    assert done.stdout == texts["zipped.csv"] == texts["again.csv"] != texts["bare.csv"]
    assert "unknown origin" in texts["bare.txt"]
    assert "nothing ties it to these claims" in texts["again.txt"]
    assert texts["seeded.txt"].startswith("crowdveil: NOT PRIVATE: drawn from a fixed seed\n")
    assert texts["seeded.csv"].startswith("#crowdveil {")


def test_the_law_passes_through_a_terminal_of_another_encoding(claims: Path) -> None:
    claims.write_text(claims.read_text().replace("o1", "zürich"))
    command = [sys.executable, "-m", "crowdveil"]
    environment = {
        **os.environ,
        "XDG_STATE_HOME": str(claims.parent / "state"),
        "PYTHONIOENCODING": "latin-1",
    }
    noisy = subprocess.run(
        [*command, "perturb", claims, "-o", "-", *LAPLACE], env=environment, capture_output=True, check=True
    ).stdout
    assert "zürich".encode() in noisy
    subprocess.run([*command, "discover", "-"], env=environment, input=noisy, capture_output=True, check=True)


def test_the_commands_of_the_page_about_files_run(claims: Path) -> None:
    text = (ROOT / "docs" / "files.md").read_text()
    lines = re.findall(r"^\$ (.+)$", text, re.MULTILINE)
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    environment = {**os.environ, "XDG_STATE_HOME": str(claims.parent / "state")}
    script = "\n".join([f'crowdveil() {{ "{sys.executable}" -m crowdveil "$@"; }}', *lines])
    for command in (["sh", "-e", "-c", script], [sys.executable, "-c", code]):
        subprocess.run(command, cwd=claims.parent, env=environment, capture_output=True, check=True)
    assert (claims.parent / "truths-found.csv").read_text().startswith("object,estimate,")


@pytest.mark.parametrize("ending", ENDINGS)
def test_releasing_noisy_claims_warns_and_goes_on(run: Run, claims: Path, ending: str) -> None:
    noisy = claims.with_name(f"noisy.{ending}")
    run("perturb", claims, "-o", noisy, *LAPLACE)
    options = ("--epsilon", 4, "--range", "0:10", "--unit", "claim", "--insist")
    plain = run("release", claims, *options, "-o", claims.with_name("plain"))
    assert plain.code == 0
    assert "already" not in plain.err
    again = run("release", noisy, *options, "-o", claims.with_name("again"))
    assert again.code == 0
    assert "noisy claims already, not raw claims" in again.err
    assert "was spent elsewhere" in again.err


def test_every_command_reads_past_the_first_line(run: Run, claims: Path) -> None:
    noisy, truths = claims.with_name("noisy.csv"), claims.with_name("truths.csv")
    run("perturb", claims, "-o", noisy, *LAPLACE)
    pl.read_csv(claims).group_by("object").agg(pl.col("value").mean()).write_csv(truths)
    assert run("evaluate", noisy, "--truths", truths, "--json").code == 0
    assert run("evaluate", noisy, "--truths", truths, "--claims", noisy, "--json").code == 0
    assert run("discover", noisy, "--truths", truths, "-o", claims.with_name("t.csv"), "--json").code == 0
    labels = run("discover", noisy, "--labels", "-o", claims.with_name("l.csv"), "--json").json()
    assert labels["origin"] == "noisy claims"
    out = claims.with_name("made.csv")
    options = ("--domain-from-data", "--epsilon", 1)
    assert run("synthesize", noisy, "-o", out, *options).code == 0
    assert out.read_bytes().startswith(b"#crowdveil {")
    assert run("synthesize", out, "-o", claims.with_name("again.csv"), *options).code == 0


def test_synthetic_records_carry_their_certificate_through_a_pipe(
    run: Run, piped: Run, tmp_path: Path
) -> None:
    records, schema, made = (tmp_path / name for name in ("records.csv", "schema.json", "made.csv"))
    run("simulate", "records", "--rows", 200, "--columns", 3, "-o", records, "--schema", schema)
    done = run("synthesize", records, "-o", "-", "--schema", schema, "--epsilon", 2)
    made.write_text(done.out)
    explained = piped(made, "explain", "-", "--json").json()
    assert explained["differentially_private"] is True
    assert explained["method"] == "crowdveil"
    compared = run("evaluate", made, "--real", records, "--schema", schema, "--json").json()
    assert compared["rows"] == {"real": 200, "synthetic": 200}
    made.write_text(done.out + done.out.splitlines()[-1] + "\n")
    assert run("evaluate", made, "--real", records, "--schema", schema).code == 2


def test_a_file_that_tells_nothing_is_of_unknown_origin(run: Run, piped: Run, claims: Path) -> None:
    out = claims.with_name("t.csv")
    for told in (
        run("discover", claims, "-o", out, "--json").json(),
        piped(claims, "discover", "-", "-o", out, "--force", "--json").json(),
        run("discover", claims, "--labels", "-o", out, "--force", "--json").json(),
    ):
        assert told["origin"] == "unknown"
        for promise in (told["promise"], told["user_promise"]):
            assert promise.startswith("No guarantee")
            assert "unknown origin" in promise
            assert "from raw claims" not in promise
    assert "unknown origin" in run("discover", claims, "-o", out, "--force").out
    assert "unknown origin" in run("discover", claims).err


@pytest.fixture
def laws(run: Run, claims: Path) -> dict[str, Path]:
    """Files that tell the law of noisy.csv, and bare.csv, which lost it."""
    files = {ending: claims.with_name(f"noisy.{ending}") for ending in ENDINGS}
    for path in files.values():
        run("perturb", claims, "-o", path, *LAPLACE)
    line, rows = files["csv"].read_bytes().split(b"\n", 1)
    files["json"], files["bare"] = claims.with_name("law.json"), claims.with_name("bare.csv")
    files["json"].write_bytes(line.removeprefix(b"#crowdveil "))
    files["bare"].write_bytes(rows)
    return files


def as_stated(told: dict[str, Any]) -> dict[str, Any]:
    """What is told when the same law is stated, and not carried by the claims."""
    promises = {
        f"stated_{name}": f"If these claims were drawn so: {told[name]}"
        for name in ("promise", "user_promise")
    }
    return {"origin": "stated by --law", "promise": None, "user_promise": None, **promises}


@pytest.mark.parametrize("kind", [*ENDINGS, "json"])
def test_a_law_can_be_named(run: Run, claims: Path, laws: dict[str, Path], kind: str) -> None:
    out = claims.with_name("t.csv")
    told = run("discover", laws["csv"], "-o", out, "--json").json()
    expected = out.read_bytes()
    done = run("discover", laws["bare"], "--law", laws[kind], "-o", out, "--force", "--json")
    assert "nothing ties it to these claims" in done.err
    assert done.json() == {**told, **as_stated(told)}
    assert out.read_bytes() == expected
    again = run("discover", laws["csv"], "--law", laws[kind], "-o", out, "--force")
    assert again.code == 0
    assert "nothing ties" not in again.err


def test_an_old_mechanism_file_is_a_law(run: Run, claims: Path) -> None:
    out, lost = claims.with_name("t.csv"), claims.with_name("lost.csv")
    lost.write_bytes((BEFORE / "noisy.csv").read_bytes())
    law = BEFORE / "noisy.csv.mechanism.json"
    told = run("discover", lost, "--law", law, "-o", out, "--json").json()
    assert told["method"] == "noise-aware"
    kept = run("discover", BEFORE / "noisy.csv", "-o", out, "--force", "--json").json()
    assert {**kept, **as_stated(kept)} == told


def test_a_law_that_is_stated_is_no_promise(run: Run, claims: Path, laws: dict[str, Path]) -> None:
    """Raw claims and any law: what would follow is told as what it is, to people and machines."""
    out, sentence = claims.with_name("t.csv"), "Differential privacy for each claim with epsilon = 4"
    for path in (claims, laws["bare"]):
        told = run("discover", path, "--law", laws["csv"], "-o", out, "--json", "--force").json()
        assert told["origin"] == "stated by --law"
        assert told["promise"] is told["user_promise"] is None
        assert told["stated_promise"].startswith(f"If these claims were drawn so: {sentence}")
        printed = run("discover", path, "--law", laws["csv"], "-o", out, "--force").out
        on_stdout = run("discover", path, "--law", laws["csv"]).err
        for text in (printed, on_stdout):
            assert text.count(sentence) == text.count(f"If these claims were drawn so: {sentence}") == 1
        assert not any(line.startswith(("promise", "user_promise")) for line in printed.splitlines())
    kept = run("discover", laws["csv"], "--law", laws["csv"], "-o", out, "--json", "--force").json()
    assert kept["origin"] == "noisy claims"
    assert kept["promise"].startswith(sentence)
    assert kept["stated_promise"] is kept["stated_user_promise"] is None


def test_another_law_than_the_claims_carry_is_refused(run: Run, claims: Path, laws: dict[str, Path]) -> None:
    other = claims.with_name("other.parquet")
    run("perturb", claims, "-o", other, "--range", "0:10", "--epsilon", "3.9")
    for ending in ENDINGS:
        done = run("discover", laws[ending], "--law", other)
        assert done.code == 2
        assert "another law" in done.err
        assert done.err.count("\n") == 1


def test_what_is_no_law_is_refused(run: Run, piped: Run, claims: Path, laws: dict[str, Path]) -> None:
    released = ROOT / "tests" / "certificates" / "version1" / "basic.json"
    edited = claims.with_name("edited.json")
    stated = json.loads(laws["json"].read_text())
    stated["parameters"]["epsilon"] = 0.5
    edited.write_text(json.dumps(stated))
    for law, words in (
        (claims, "carries no certificate"),
        (claims.with_name("nowhere"), "no such file"),
        (released, "tells of release"),
        (BEFORE / "reports.parquet", "tells of reports"),
        (edited, "was edited or is damaged"),
    ):
        done = run("discover", laws["bare"], "--law", law)
        assert done.code == 2, law
        assert words in done.err
        assert done.err.count("\n") == 1
    for given in (
        (BEFORE / "reports.parquet", "--law", laws["json"]),
        (laws["bare"], "--labels", "--law", laws["json"]),
    ):
        assert "--law goes with noisy claims" in run("discover", *given).err
    assert "cannot both be read" in piped(laws["bare"], "discover", "-", "--law", "-").err
    piped_law = piped(laws["json"], "discover", laws["bare"], "--law", "-")
    assert piped_law.code == 0


def test_a_changed_row_is_found_in_a_pipe_too(run: Run, piped: Run, claims: Path) -> None:
    printed = run("perturb", claims, "-o", "-", *LAPLACE).out
    changed = claims.with_name("changed.csv")
    changed.write_text(printed + printed.splitlines()[-1].replace("o", "p") + "\n")
    zipped = claims.with_name("changed.csv.gz")
    zipped.write_bytes(gzip.compress(changed.read_bytes()))
    for path in (changed, zipped):
        for command in (
            ("discover", "-"),
            ("explain", "-"),
            ("perturb", "-", "-o", "-", "--dataset", "d", *LAPLACE),
            ("release", "-", "-o", claims.with_name("o"), "--dataset", "d", "--unit", "claim", *LAPLACE),
        ):
            done = piped(path, *command)
            assert done.code == 2, command
            assert "its rows are not those that its first line tells of" in done.err
            assert done.out == ""


def test_reports_in_a_pipe_are_refused_with_what_to_do(piped: Run) -> None:
    done = piped(BEFORE / "reports.parquet", "discover", "-")
    assert done.code == 2
    assert "takes them from a file" in done.err
