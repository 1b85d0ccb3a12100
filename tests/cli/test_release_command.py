"""`crowdveil release`: the steward's journey, and every way it can be refused."""

from __future__ import annotations

import gzip
import json
import stat
from io import BytesIO, TextIOWrapper
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from conftest import Run

BUNDLE = {"claims.csv", "claims.parquet", "certificate.json", "public.html"}


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("method", ["priscrowd", "uniform"])
def test_a_release_writes_a_public_and_a_private_folder(
    run: Run, claims_csv: Path, tmp_path: Path, method: str
) -> None:
    done = run("release", claims_csv, "--method", method, "--per-object", 7, "-o", tmp_path / "out", "--json")
    assert done.code == 0, done.err
    told = done.json()
    assert told["statuses"] == {"released": 6, "too_few": 0, "constant": 0, "shortfall": 0}
    assert told["released_claims"] == 42
    assert _names(tmp_path / "out") == BUNDLE
    assert _names(tmp_path / "out-private") == {"steward.html", "statuses.csv", "weights.csv"}
    assert stat.S_IMODE((tmp_path / "out-private").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out-private").iterdir()} == {0o600}
    parquet = pl.read_parquet(tmp_path / "out" / "claims.parquet")
    assert parquet.columns == ["object", "value"]
    assert_frame_equal(parquet, pl.read_csv(tmp_path / "out" / "claims.csv"))
    assert _names(tmp_path) == {"claims.csv", "out", "out-private"}


def test_all_private_files_are_named(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    certified = ("--epsilon", 8, "--range", "0:10", "--unit", "claim", "--insist")
    for options in (("--method", "uniform"), (*certified, "--pooled")):
        done = run("release", claims_csv, *options, "-o", tmp_path / "out", "--force")
        assert done.code == 0, done.err
        (line,) = [line for line in done.out.splitlines() if line.startswith("for you only")]
        assert set(line.split("/: ")[1].split(", ")) == _names(tmp_path / "out-private")
    assert "from claims about 1 object (" in done.out


def test_a_list_of_objects_is_refused_with_what_to_do(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    (tmp_path / "objects.txt").write_text("a\n")
    asked = (
        *("release", claims_csv, "--epsilon", 8, "--range", "0:10", "--unit", "claim", "-o", tmp_path / "o"),
        *("--objects", tmp_path / "objects.txt"),
    )
    pooled = run(*asked, "--adjacency", "add-remove", "--pooled")
    assert "--objects is not needed with --pooled: leave it out" in pooled.err
    assert "for adjacency add-remove only" in run(*asked, "--adjacency", "replace-one").err


def test_paper_mode_says_that_it_has_no_guarantee(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    done = run("release", claims_csv, "--method", "priscrowd", "-o", tmp_path / "out")
    assert "No differential privacy guarantee" in done.out
    assert "No differential privacy guarantee" in (tmp_path / "out" / "public.html").read_text()
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert certificate["promise"]["kind"] == "none"
    assert "epsilon" not in certificate["promise"]


def test_require_k_promises_deniability_and_no_epsilon(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    run("release", claims_csv, "--method", "uniform", "--require-k", "-o", tmp_path / "out")
    promise = json.loads((tmp_path / "out" / "certificate.json").read_text())["promise"]
    assert promise["kind"] == "plausible deniability"
    assert (promise["k"], promise["gamma"]) == (5, 4.0)
    assert "epsilon" not in promise


def test_basic_promises_the_epsilon_it_was_given(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    arguments = ("--method", "basic", "--epsilon", 0.7, "--range", "0:10", "-o", tmp_path / "out")
    assert run("release", claims_csv, *arguments).code == 0
    promise = json.loads((tmp_path / "out" / "certificate.json").read_text())["promise"]
    assert (promise["epsilon"], promise["delta"], promise["unit"]) == (0.7, 0.0, "claim")
    assert promise["adjacency"] == "replace-one"


def test_a_certificate_holds_no_seed_hash_or_raw_count(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    run("release", claims_csv, "--method", "priscrowd", "--seed", 987654321, "-o", tmp_path / "out")
    text = (tmp_path / "out" / "certificate.json").read_text()
    certificate = json.loads(text)
    assert "987654321" not in text
    assert certificate["seeded"] is True
    assert "NOT PRIVATE" in certificate["warning"]
    assert set(certificate) == {
        "schema_version",
        "crowdveil",
        "kind",
        "method",
        "parameters",
        "public",
        "seeded",
        "synthetic",
        "promise",
        "user_promise",
        "levels",
        "not_promised",
        "contents",
        "warning",
    }
    assert certificate["public"] == {}
    assert certificate["contents"].keys() == {"files"}  # digests of what is published
    assert certificate["contents"]["files"].keys() == BUNDLE - {"certificate.json"}


def test_a_seeded_run_promises_nothing(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    arguments = ("--epsilon", 2, "--range", "0:10", "--seed", 1, "-o", tmp_path / "out", "--json")
    done = run("release", claims_csv, *arguments)
    assert "NOT PRIVATE" in done.err
    assert done.json()["promise"]["kind"] == "none"
    assert "epsilon" not in json.loads((tmp_path / "out" / "certificate.json").read_text())["promise"]


def test_an_epsilon_gives_a_certified_release(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    done = run("release", claims_csv, "--epsilon", 2, "--range", "0:10", "-o", tmp_path / "out", "--json")
    assert done.code == 0, done.err
    told = done.json()
    assert told["method"] == "certified"
    assert told["promise"]["epsilon"] == 2.0
    assert told["released_claims"] == 6 * 30
    assert "synthetic claims" in (tmp_path / "out" / "public.html").read_text()


@pytest.mark.parametrize(
    ("method", "options"),
    [("smoothed", ("--per-object", 2)), ("attempts", ("--k", 9, "--attempts", 1, "--delta", 0.01))],
)
def test_methods_with_a_delta_say_what_they_cost(
    run: Run, tmp_path: Path, method: str, options: tuple[object, ...]
) -> None:
    run("simulate", "claims", "--users", 300, "--objects", 4, "-o", tmp_path / "c.csv")
    arguments = ("--method", method, "--range", "0:10", "--bandwidth", 0.5, *options)
    done = run("release", tmp_path / "c.csv", *arguments, "-o", tmp_path / "out", "--json")
    assert done.code == 0, done.err
    promise = done.json()["promise"]
    assert promise["kind"] == "differential privacy"
    assert 0 < promise["epsilon"] < 5
    assert promise["delta"] > 0
    assert run("explain", tmp_path / "out").code == 0


@pytest.mark.parametrize(
    "options",
    [
        "--pooled",
        "--unit user --cap 1 --pooled",
        "--unit user --cap 1",  # leaves objects without claims
        "--unit user --cap 1 --adjacency add-remove",  # which are kept here
        "--unit user --cap 3 --delta 1e-6",
        "--unit claim --adjacency add-remove",
        "--background --unit claim",
        "--estimator histogram --unit claim",
        "--estimator histogram --reliability 0.5 --unit claim",
        "--estimator histogram --reliability 0.5 --unit user --cap 4 --delta 1e-6",
        "--estimator histogram --unit claim --adjacency add-remove",
    ],
)
def test_certified_releases_of_every_kind_are_made_and_explained(
    run: Run, tmp_path: Path, options: str
) -> None:
    # Thirty objects with claims of six users each, out of twelve.
    rows = [(f"o{i:02}", f"u{(i + s) % 12}", (i % 5) + 0.1 * s) for i in range(30) for s in range(6)]
    pl.DataFrame(rows, schema=["object", "user", "value"], orient="row").write_csv(tmp_path / "c.csv")
    out = tmp_path / "out"
    asked = ["--epsilon", "2", "--range", "0:10", "--insist", *options.split()]
    if "add-remove" in options:  # one object of the list has no claim, one claimed about is not listed
        (tmp_path / "objects.txt").write_text("\n".join(["none", *(f"o{i:02}" for i in range(29))]))
        asked += ["--objects", str(tmp_path / "objects.txt")]
    found = run("release", tmp_path / "c.csv", *asked, "-o", out)
    assert found.code == 0, found.err
    certificate = json.loads((out / "certificate.json").read_text())
    assert certificate["promise"]["epsilon"] <= 2
    assert certificate["promise"]["delta"] == (1e-6 if "delta" in options else 0)
    listed = set(pl.read_csv(out / "claims.csv")["object"])
    objects = len(listed)
    if "pooled" in options:
        assert objects == 1
    elif "add-remove" in options or "cap" not in options:
        assert objects == 30
        assert ("none" in listed) == ("add-remove" in options) == ("o29" not in listed)
    statuses = pl.read_csv(tmp_path / "out-private" / "statuses.csv")
    assert statuses.height == objects
    assert run("explain", out / "certificate.json").code == 0


def test_a_release_is_charged_and_refused_past_the_budget(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    arguments = ("--range", "0:10", "--unit", "claim", "--dataset", "mine", "--budget", 3)
    assert run("release", claims_csv, *arguments, "--epsilon", 2, "-o", tmp_path / "a").code == 0
    done = run("release", claims_csv, *arguments, "--epsilon", 1.5, "-o", tmp_path / "b")
    assert done.code == 2
    assert "budget" in done.err
    assert not (tmp_path / "b").exists()
    assert run("release", claims_csv, *arguments, "--epsilon", 1, "-o", tmp_path / "b").code == 0
    told = run("ledger", "--json").json()
    assert [entry["status"] for entry in told["entries"]] == ["released", "released"]
    assert (
        run("release", claims_csv, "--method", "priscrowd", "--dataset", "mine", "-o", tmp_path / "c").code
        == 2
    )


def test_persons_are_protected_unless_claims_are_asked_for(
    run: Run, claims_csv: Path, tmp_path: Path
) -> None:
    asked = ("release", claims_csv, "--range", "0:10", "--epsilon", 9, "--insist")
    persons = run(*asked, "-o", tmp_path / "persons")
    assert "Differential privacy for each user with epsilon = 9" in persons.out
    assert (
        "a person, with everything they said: epsilon 9\n  each of their claims: epsilon 9\n" in persons.out
    )
    assert "claims were used, chosen without looking at values" in persons.out
    claims = run(*asked, "--unit", "claim", "-o", tmp_path / "claims")
    assert "each claim: epsilon 9\n  a person with 6 claims, and nobody has more: epsilon 54\n" in claims.out
    page = (tmp_path / "claims" / "public.html").read_text()
    assert "a person with 6 claims, and nobody has more: epsilon 54" in page
    told = run("explain", tmp_path / "claims", "--json").json()
    assert [level["epsilon"] for level in told["levels"]] == [9.0, 54.0]


def test_names_that_are_maybe_one_person_are_warned_about(run: Run, tmp_path: Path) -> None:
    rows = [(f"o{i}", name, 5.0) for i in range(3) for name in ("ann", "Ann ", "bob")]
    pl.DataFrame(rows, schema=["object", "user", "value"], orient="row").write_csv(tmp_path / "c.csv")
    done = run("release", tmp_path / "c.csv", "--range", "0:10", "--epsilon", 99, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert "differ only by case or blanks: 2." in done.err
    assert "ann" not in done.err.lower().replace("names", "")


def test_noisy_claims_are_not_called_synthetic(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    arguments = ("--method", "basic", "--epsilon", 1, "--range", "0:10", "-o", tmp_path / "out")
    assert "synthetic" not in run("release", claims_csv, *arguments).out
    page = (tmp_path / "out" / "public.html").read_text()
    assert "synthetic" not in page
    assert "one person's claim with random noise" in page


def test_the_input_is_never_replaced_by_the_output(run: Run, claims_csv: Path) -> None:
    done = run("release", claims_csv, "--method", "uniform", "-o", claims_csv.parent, "--force")
    assert done.code == 2
    assert claims_csv.exists()


def test_blank_lines_at_the_end_are_no_claims(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    claims_csv.write_text(claims_csv.read_text() + "\n\n\n")
    assert run("release", claims_csv, "--method", "uniform", "-o", tmp_path / "out").code == 0


def test_a_seeded_run_says_not_private_everywhere(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    done = run("release", claims_csv, "--method", "uniform", "--seed", 1, "-o", tmp_path / "out")
    assert "NOT PRIVATE" in done.err
    for page in ("out/public.html", "out-private/steward.html", "out/certificate.json"):
        assert "NOT PRIVATE" in (tmp_path / page).read_text()


def test_a_seed_repeats_a_run_whatever_threads_and_row_order(
    run: Run, claims_csv: Path, tmp_path: Path
) -> None:
    shuffled = tmp_path / "shuffled.parquet"
    pl.read_csv(claims_csv).sample(fraction=1.0, shuffle=True, seed=5).write_parquet(shuffled)
    same = ("--method", "priscrowd", "--seed", 4)
    run("release", claims_csv, *same, "--threads", 1, "-o", tmp_path / "a")
    run("release", shuffled, *same, "--threads", 2, "-o", tmp_path / "b")
    assert (tmp_path / "a" / "claims.csv").read_bytes() == (tmp_path / "b" / "claims.csv").read_bytes()


def test_the_public_page_shows_no_user_and_no_raw_claim(run: Run, tmp_path: Path) -> None:
    odd = 3.14159265
    rows = [(f"o{i}", f"someone-{s}", odd + s + i) for i in range(3) for s in range(12)]
    pl.DataFrame(rows, schema=["object", "user", "value"], orient="row").write_csv(tmp_path / "c.csv")
    run("release", tmp_path / "c.csv", "--method", "priscrowd", "-o", tmp_path / "out")
    for path in (tmp_path / "out").glob("*.*"):
        content = path.read_bytes()
        assert b"someone" not in content, path.name
        assert b"3.14159265" not in content, path.name


def test_names_are_escaped_in_both_pages(run: Run, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    rows = [(evil, f"{evil}{s}", float(s)) for s in range(12)]
    pl.DataFrame(rows, schema=["object", "user", "value"], orient="row").write_csv(tmp_path / "c.csv")
    assert run("release", tmp_path / "c.csv", "--method", "priscrowd", "-o", tmp_path / "out").code == 0
    for page in ("out/public.html", "out-private/steward.html"):
        text = (tmp_path / page).read_text()
        assert "<script" not in text
        assert "&lt;script&gt;" in text


def test_nothing_releasable_is_not_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("object,user,value\na,u,1\na,v,2\nb,u,3\n")
    done = run("release", tmp_path / "c.csv", "--method", "priscrowd", "-o", tmp_path / "out", "--json")
    assert done.code == 0, done.err
    assert done.json()["statuses"]["too_few"] == 2
    assert pl.read_parquet(tmp_path / "out" / "claims.parquet").height == 0


def test_values_stay_in_a_declared_range_and_clamping_is_counted(
    run: Run, claims_csv: Path, tmp_path: Path
) -> None:
    arguments = ("--method", "uniform", "--range", "4.5:5.5", "-o", tmp_path / "out", "--json")
    told = run("release", claims_csv, *arguments).json()
    raw = pl.read_csv(claims_csv)["value"]
    assert told["for_you_only"]["clamped_claims"] == int(((raw < 4.5) | (raw > 5.5)).sum())
    assert pl.read_parquet(tmp_path / "out" / "claims.parquet")["value"].is_between(4.5, 5.5).all()


@pytest.mark.parametrize("form", ["gzip", "semicolons", "tabs", "bom", "quoted", "parquet", "stdin"])
def test_claims_are_read_in_every_form(
    run: Run, claims_csv: Path, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = claims_csv.read_text()
    path = tmp_path / "other"
    if form == "gzip":
        path.write_bytes(gzip.compress(text.encode()))
    elif form == "parquet":
        pl.read_csv(claims_csv).write_parquet(path)
    elif form == "stdin":
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text.encode())))
    else:
        changed = {
            "semicolons": text.replace(",", ";"),
            "tabs": text.replace(",", "\t"),
            "bom": "\ufeff" + text,
            "quoted": "\n".join(",".join(f'"{c}"' for c in row.split(",")) for row in text.splitlines()),
        }
        path.write_text(changed[form])
    same = ("--method", "uniform", "--seed", 2)
    run("release", claims_csv, *same, "-o", tmp_path / "a")
    source = ("-", "--dataset", "piped") if form == "stdin" else (path,)
    done = run("release", *source, *same, "-o", tmp_path / "b")
    assert done.code == 0, done.err
    assert (tmp_path / "a" / "claims.csv").read_bytes() == (tmp_path / "b" / "claims.csv").read_bytes()


HEADER = "object,user,value\n"
SECRET = "s3cr3t"
GOOD_ROWS = "".join(f"o,u{s},{s}.5\n" for s in range(9))

BAD_FILES = {
    "missing column": (b"object,user,other\no,u,1\n", ["which column is the value"]),
    "text in the value column": (f"{HEADER}o,u,1\no,v,{SECRET}\n".encode(), ["'value'", "row 2"]),
    "nan": (f"{HEADER}o,u,1\no,v,nan\n".encode(), ["'value'", "NaN", "row 2"]),
    "infinite": (f"{HEADER}o,u,inf\no,v,1\n".encode(), ["'value'", "infinite", "row 1"]),
    "empty value": (f"{HEADER}o,u,\no,v,1\n".encode(), ["'value'", "empty", "row 1"]),
    "empty name": (f"{HEADER}o,u,1\n ,v,1\n".encode(), ["'object'", "row 2"]),
    "duplicate": (f"{HEADER}{SECRET},u,1\no,u,1\n{SECRET},u,2\n".encode(), ["rows 1 and 3"]),
    "empty file": (b"", ["empty"]),
    "header only": (HEADER.encode(), ["no claims"]),
    "binary garbage": (bytes(range(128, 256)) * 50, ["not a CSV file"]),
    "garbage with a newline": (b"\x00\xff\xfe\n" * 50, ["not a CSV file"]),
    "more fields than the header": (f"{HEADER}o,u,1\no,v,1,{SECRET}\n".encode(), ["not a CSV file"]),
    "broken gzip": (b"\x1f\x8b\x08\x00garbage", ["not a CSV file"]),
    "unreadable parquet": (b"PAR1 this is not parquet", ["not a Parquet file"]),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_bad_files_are_refused_in_one_line_without_showing_data(run: Run, tmp_path: Path, kind: str) -> None:
    content, expected = BAD_FILES[kind]
    path = tmp_path / "claims.csv"
    path.write_bytes(content)
    done = run("release", path, "--method", "priscrowd", "-o", tmp_path / "out")
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith("crowdveil: error: ")
    assert str(path) in done.err
    assert SECRET not in done.err
    for words in expected:
        assert words in done.err
    assert _names(tmp_path) == {"claims.csv"}


COMING_AND_GOING = ("--epsilon", 1, "--range", "0:10", "--adjacency", "add-remove")


@pytest.mark.parametrize("rows", ["", "a,u,3\n", "z,u,3\n"], ids=["none", "one", "one about something else"])
@pytest.mark.parametrize("kind", ["claim", "user"])
@pytest.mark.parametrize("pooled", [False, True])
def test_where_claims_come_and_go_the_output_does_not_tell_that_there_are_none(
    run: Run, tmp_path: Path, rows: str, kind: str, pooled: bool
) -> None:
    """The same exit code, files, statuses and charge as with many claims."""
    many, few = tmp_path / "many.csv", tmp_path / "few.csv"
    many.write_text(HEADER + "".join(f"{o},u{s},{s}.5\n" for o in "ab" for s in range(9)))
    few.write_text(HEADER + rows)
    (tmp_path / "objects").write_text("a\nb\n")
    unit = ["--unit", "claim"] if kind == "claim" else ["--unit", "user", "--cap", 2]
    about = ["--pooled"] if pooled else ["--objects", tmp_path / "objects"]
    told = []
    for source in (many, few):
        out = tmp_path / source.stem
        done = run("release", source, *COMING_AND_GOING, *unit, *about, "-o", out, "--json")
        assert (done.code, done.err) == (0, "")
        result = done.json()
        (charge,) = run("ledger", "--dataset", source, "--json").json()["entries"]
        released = pl.read_parquet(out / "claims.parquet")
        told.append(
            [
                *(result["promise"], result["statuses"], result["released_claims"], result["objects"]),
                {key: charge[key] for key in charge if key not in ("id", "time", "dataset", "released")},
                [_names(out), _names(Path(f"{out}-private"))],
                *(released.schema, released["object"].unique().sort().to_list()),
            ]
        )
    assert told[0] == told[1]


def test_the_error_to_expect_is_said_beside_the_result(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    wish = ("--epsilon", 3, "--range", "0:10", "--unit", "claim", "--spread", 0.5, "--json")
    done = run("release", claims_csv, *wish, "-o", tmp_path / "out")
    assert done.code == 0
    assert "crowdveil: expect an object's released median to be off by about " in done.err
    assert (
        "claims spread by 0.5 (--spread); the middle of the range, without a release, by about 2.5"
        in done.err
    )
    assert done.json()["expected"]["without_release"] == 2.5


BAD_OPTIONS: dict[str, tuple[list[object], list[str]]] = {
    "nothing chosen": ([], ["--method", "--epsilon"]),
    "epsilon without a range": (["--epsilon", 1], ["--range"]),
    "persons who come and go, without a cap": (
        ["--epsilon", 9, "--range", "0:10", "--adjacency", "add-remove", "--pooled"],
        ["--cap"],
    ),
    "too few claims": (
        ["--epsilon", 0.3, "--range", "0:10", "--unit", "claim"],
        ["too few", "--pooled", "--insist", "--epsilon"],
    ),
    "too few claims to hide a person": (
        ["--epsilon", 2, "--range", "0:10"],
        ["too few", "--epsilon", "--unit claim", "k times epsilon only", "--pooled", "--insist"],
    ),
    "a spread beyond the range": (["--epsilon", 9, "--range", "0:10", "--spread", 11], ["spread of 11"]),
    "a spread where no error is told": (["--method", "priscrowd", "--spread", 1], ["spread"]),
    "k below 1": (["--method", "priscrowd", "--k", 0], ["k must be at least 1, not 0"]),
    "gamma of 1": (["--method", "priscrowd", "--gamma", 1], ["gamma must be a number above 1, not 1"]),
    "gamma nan": (["--method", "priscrowd", "--gamma", "nan"], ["gamma"]),
    "epsilon0 of 0": (["--method", "priscrowd", "--epsilon0", 0], ["epsilon0"]),
    "range reversed": (["--method", "priscrowd", "--range", "10:0"], ["10:0"]),
    "range of words": (["--method", "priscrowd", "--range", "low-high"], ["LOW:HIGH"]),
    "range infinite": (["--method", "priscrowd", "--range", "0:inf"], ["finite"]),
    "per-object of 0": (["--method", "priscrowd", "--per-object", 0], ["per-object must be at least 1"]),
    "resolution of 0": (["--method", "priscrowd", "--resolution", 0], ["resolution"]),
    "negative seed": (["--method", "priscrowd", "--seed", -1], ["seed"]),
    "no threads": (["--method", "priscrowd", "--threads", 0], ["threads"]),
    "unknown method": (["--method", "magic"], ["magic"]),
    "unknown option": (["--method", "priscrowd", "--colour", "red"], ["--colour"]),
    "epsilon for paper mode": (["--method", "priscrowd", "--epsilon", 1], ["does not apply"]),
    "k for basic": (["--method", "basic", "--epsilon", 1, "--range", "0:1", "--k", 3], ["does not apply"]),
    "basic without range": (["--method", "basic", "--epsilon", 1], ["--range"]),
    "basic with epsilon 0": (["--method", "basic", "--epsilon", 0, "--range", "0:1"], ["epsilon"]),
    "basic, far too fine": (
        ["--method", "basic", "--epsilon", 1, "--range", "0:1", "--resolution", 1e-15],
        ["too fine"],
    ),
}


@pytest.mark.parametrize("kind", BAD_OPTIONS)
def test_bad_options_are_refused_in_one_line(run: Run, claims_csv: Path, tmp_path: Path, kind: str) -> None:
    options, expected = BAD_OPTIONS[kind]
    done = run("release", claims_csv, *options, "-o", tmp_path / "out")
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    for words in expected:
        assert words in done.err
    assert _names(tmp_path) == {"claims.csv"}


@pytest.mark.parametrize("out", [".", "", "-", "/"])
def test_an_output_without_a_name_is_refused(run: Run, claims_csv: Path, out: str) -> None:
    done = run("release", claims_csv, "--method", "priscrowd", "-o", out)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1


def test_a_missing_file_and_a_folder_are_refused(run: Run, tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.csv", tmp_path):
        done = run("release", path, "--method", "priscrowd", "-o", tmp_path / "out")
        assert done.code == 2
        assert str(path) in done.err


def test_an_existing_output_is_kept_unless_forced(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "claims.csv").write_text("kept")
    done = run("release", claims_csv, "--method", "priscrowd", "-o", out)
    assert done.code == 2
    assert "--force" in done.err
    assert (out / "claims.csv").read_text() == "kept"
    (out / "precious.txt").write_text("kept")
    assert run("release", claims_csv, "--method", "priscrowd", "-o", out, "--force").code == 2
    assert _names(out) == {"claims.csv", "precious.txt"}
    (out / "precious.txt").unlink()
    assert run("release", claims_csv, "--method", "priscrowd", "-o", out, "--force").code == 0
    assert _names(out) == BUNDLE
    assert _names(tmp_path) == {"claims.csv", "out", "out-private"}


def test_an_existing_private_folder_counts_too(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    (tmp_path / "out-private").mkdir()
    done = run("release", claims_csv, "--method", "priscrowd", "-o", tmp_path / "out")
    assert done.code == 2
    assert not (tmp_path / "out").exists()


def test_an_output_that_cannot_be_written_is_refused(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = run("release", claims_csv, "--method", "priscrowd", "-o", tmp_path / "file" / "out")
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert _names(tmp_path) == {"claims.csv", "file"}
