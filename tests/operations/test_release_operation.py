"""A release as the command and a service ask for it: checked, charged, drawn, written, complete."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from crowdveil.accounting import basic_composition
from crowdveil.claims import Claims
from crowdveil.engines import Engine
from crowdveil.errors import CrowdveilError, InputError, OutputError, ParameterError
from crowdveil.ledger import BudgetExceeded, Ledger
from crowdveil.operations.release import release
from crowdveil.operations.spending import Account
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, seeded
from crowdveil.releases.attempts import Attempts
from crowdveil.releases.basic import Basic
from crowdveil.releases.certified import Certified
from crowdveil.releases.method import ReleaseMethod
from crowdveil.releases.priscrowd import PrisCrowd
from crowdveil.releases.registry import RELEASES
from crowdveil.releases.result import Release
from crowdveil.releases.smoothed import Smoothed
from crowdveil.simulation.claims import SimulatedClaims

TEN = Range(0, 10)
CERTIFIED = Certified(2.0, TEN, unit="claim")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    claims = SimulatedClaims(users=20, objects=6).claims(rng=seeded(1))
    rows = zip(
        *(claims.objects.gather(claims.owners()), claims.users.gather(claims.user_codes), claims.values),
        strict=True,
    )
    path = tmp_path_factory.mktemp("claims") / "claims.csv"
    path.write_text("object,user,value\n" + "".join(f"{o},{u},{v}\n" for o, u, v in rows))
    return str(path)


@pytest.fixture
def account(tmp_path: Path) -> Account:
    return Account(Ledger(tmp_path / "ledger.sqlite3"), "d")


def statuses(account: Account) -> list[str]:
    return [entry.status for entry in account.ledger.entries()]


@pytest.mark.parametrize("parameters", [CERTIFIED, Basic(1.0, TEN), PrisCrowd()])
def test_a_release_is_written_charged_and_complete(
    source: str, parameters: ReleaseMethod, account: Account, tmp_path: Path
) -> None:
    released = release(source, parameters, tmp_path / "out", account)
    assert statuses(account) == ["released"]
    told = json.loads(json.dumps(released.to_dict(), allow_nan=False))
    written = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert written["promise"] == told["promise"]
    (entry,) = account.ledger.entries()
    assert (entry.method, entry.parameters) == (parameters.name, parameters.to_dict())
    if entry.epsilon is not None:
        assert float(basic_composition(entry.events, 0.0)) == pytest.approx(float(entry.epsilon))


LISTED = tuple(f"object-{number}" for number in range(1, 7))


COME_AND_GO = ["2 k", "4 k", "2", "4"]  # what is said costs twice as much as who is there


@pytest.mark.parametrize(
    ("parameters", "claims_of_a_user", "spent"),
    [
        (Certified(2.0, TEN, unit="claim"), 6, ["12", "2"]),
        (Certified(8.0, TEN, unit="user", cap=2), 2, ["8"]),
        (Certified(2.0, TEN, unit="claim", adjacency="add-remove", objects=LISTED), None, COME_AND_GO),
        (Basic(1.0, TEN), 6, ["6", "1"]),
        (PrisCrowd(), None, []),
    ],
)
def test_the_number_of_a_users_claims_is_charged_where_it_is_public(
    source: str,
    parameters: ReleaseMethod,
    claims_of_a_user: int | None,
    spent: list[str],
    account: Account,
    tmp_path: Path,
) -> None:
    release(source, parameters, tmp_path / "out", account, insist=True)
    (entry,), (total,) = account.ledger.entries(), account.ledger.totals()
    assert entry.claims_of_a_user == claims_of_a_user
    assert [spending.in_words() for spending in total.spent] == spent


class Looking(Basic):
    """Basic, but it looks into the ledger and for files when it draws."""

    account: Account
    out: Path
    seen: list[tuple[list[str], bool]]

    def draw(self, claims: Claims, *, rng: Randomness, engine: Engine) -> Release:
        self.seen.append((statuses(self.account), self.out.exists()))
        return super().draw(claims, rng=rng, engine=engine)


def test_the_charge_is_on_record_before_anything_is_drawn(
    source: str, account: Account, tmp_path: Path
) -> None:
    parameters = Looking(1.0, TEN)
    for name, value in (("account", account), ("out", tmp_path / "out"), ("seen", [])):
        object.__setattr__(parameters, name, value)
    release(source, parameters, tmp_path / "out", account)
    assert parameters.seen == [(["charged, not released"], False)]


def test_a_bundle_that_cannot_be_written_stays_charged(source: str, account: Account, tmp_path: Path) -> None:
    class Spoiling(Basic):
        def draw(self, claims: Claims, *, rng: Randomness, engine: Engine) -> Release:
            (tmp_path / "out").write_text("in the way, since the checks")
            return super().draw(claims, rng=rng, engine=engine)

    with pytest.raises(OutputError):
        release(source, Spoiling(1.0, TEN), tmp_path / "out", account)
    assert statuses(account) == ["charged, not released"]


def test_the_error_to_expect_is_told_before_the_charge_and_changes_nothing(
    source: str, account: Account, tmp_path: Path
) -> None:
    told: list[tuple[str, list[str]]] = []
    method = Certified(2.0, TEN, unit="claim")
    made = {
        spread: release(
            *(source, method, tmp_path / f"out-{spread}", account),
            rng=seeded(4),
            spread=spread,
            tell=lambda words: told.append((words, statuses(account))),
        )
        for spread in (None, 0.2)
    }
    assert [charges for _, charges in told] == [[], ["released"]]
    assert "off by about 0.27 if an object's claims spread by 1" in told[0][0]
    assert "spread by 0.2" in told[1][0]
    assert (made[None].release.values == made[0.2].release.values).all()
    assert made[None].release.promise == made[0.2].release.promise
    assert made[0.2].to_dict()["expected"]["spread"] == 0.2
    with pytest.raises(ParameterError, match="spread"):
        release(source, PrisCrowd(), tmp_path / "other", account, spread=1.0)
    assert len(statuses(account)) == 2


def test_nothing_is_charged_for_what_is_refused(source: str, account: Account, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "claims.csv").touch()
    text = tmp_path / "text.csv"
    text.write_text("object,user,value\na,b,much\n")
    add_remove = replace(CERTIFIED, adjacency="add-remove")
    refused: list[tuple[type[CrowdveilError], str, ReleaseMethod, Path]] = [
        (OutputError, source, CERTIFIED, taken),  # there is something already
        (OutputError, source, CERTIFIED, Path(source).parent),  # the folder of the input
        (InputError, str(text), CERTIFIED, tmp_path / "out"),  # not a number
        (InputError, str(tmp_path / "none.csv"), CERTIFIED, tmp_path / "out"),  # no file
        (ParameterError, source, replace(CERTIFIED, epsilon=0.001), tmp_path / "out"),  # little but noise
        (ParameterError, source, add_remove, tmp_path / "out"),  # objects are not listed
    ]
    # Noise of either branch must exist before anything is spent on the first one.
    adaptive = Certified(
        0.01,
        TEN,
        unit="user",
        cap=10**6,
        adjacency="add-remove",
        delta=1e-300,
        estimator="histogram",
        objects=("object-1",),
    )
    refused.append((ParameterError, source, adaptive, tmp_path / "out"))
    refused.append((OutputError, source, CERTIFIED, text / "out"))  # below a file
    refused.append((OutputError, source, CERTIFIED, Path("/proc/out")))  # nothing can be written there
    refused.append((OutputError, source, CERTIFIED, tmp_path / ("n" * 250)))  # n...n-private is too long
    for error, path, parameters, out in refused:
        with pytest.raises(error):
            release(path, parameters, out, account)
    with pytest.raises(BudgetExceeded):
        release(source, CERTIFIED, tmp_path / "out", replace(account, budget=1.0))
    assert account.ledger.entries() == []
    assert not (tmp_path / "out").exists()


def test_of_two_runs_with_one_output_the_second_one_costs_nothing(
    source: str, account: Account, tmp_path: Path
) -> None:
    class Meanwhile(Basic):
        def draw(self, claims: Claims, *, rng: Randomness, engine: Engine) -> Release:
            with pytest.raises(OutputError, match="another run is writing there"):
                release(source, Basic(1.0, TEN), tmp_path / "out", account, force=True)
            return super().draw(claims, rng=rng, engine=engine)

    release(source, Meanwhile(1.0, TEN), tmp_path / "out", account)
    assert statuses(account) == ["released"]


def test_who_insists_gets_noise(source: str, account: Account, tmp_path: Path) -> None:
    release(source, replace(CERTIFIED, epsilon=0.001), tmp_path / "out", account, insist=True)
    assert statuses(account) == ["released"]


def test_a_seeded_release_is_recorded_as_not_private(source: str, account: Account, tmp_path: Path) -> None:
    released = release(source, CERTIFIED, tmp_path / "out", account, rng=seeded(1))
    assert released.to_dict()["promise"]["kind"] == "none"
    (entry,) = account.ledger.entries()
    assert entry.privacy == "not private (seeded)"


@pytest.mark.parametrize("name", RELEASES)
def test_every_method_has_its_name_and_its_options(name: str) -> None:
    method = RELEASES[name]
    assert method.name == name
    assert {"range", "resolution"} <= set(method.options())
    assert set(method.required()) <= set(method.options())


@pytest.mark.parametrize("epsilon", [700.0, 2000.0, 10_000.0])
def test_hardly_any_noise_is_noise_too(source: str, account: Account, tmp_path: Path, epsilon: float) -> None:
    release(source, replace(CERTIFIED, epsilon=epsilon), tmp_path / "out", account)
    assert statuses(account) == ["released"]


def test_objects_that_lose_all_claims_to_the_cap_are_told_where_they_are_public(
    account: Account, tmp_path: Path
) -> None:
    source = tmp_path / "few.csv"
    source.write_text("object,user,value\n" + "".join(f"o{i},ann,5\n" for i in range(4)))
    told: list[str] = []
    persons = Certified(9.0, TEN, unit="user", cap=1)
    release(str(source), persons, tmp_path / "out", account, insist=True, tell=told.append)
    assert told[-1].endswith("and which are not in the release: 3")
    coming = replace(persons, adjacency="add-remove", objects=("o0", "o1"))
    told.clear()
    release(str(source), coming, tmp_path / "other", account, tell=told.append)
    assert told == []


LARGE_DELTAS = [
    Certified(9.0, TEN, unit="user", cap=1, delta=0.0101),
    Smoothed(range=TEN, bandwidth=0.5, per_object=2, delta=0.5),
    Attempts(range=TEN, bandwidth=0.5, k=2, attempts=1, delta=0.99),
]


@pytest.mark.parametrize("parameters", LARGE_DELTAS, ids=lambda parameters: parameters.name)
def test_a_large_delta_is_refused_unless_somebody_insists(
    source: str, parameters: ReleaseMethod, account: Account, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match=r"is nearly no guarantee.*--insist"):
        release(source, parameters, tmp_path / "out", account)
    assert statuses(account) == []
    assert list(tmp_path.iterdir()) == []
    release(source, parameters, tmp_path / "out", account, insist=True)
    assert statuses(account) == ["released"]


def test_a_delta_of_a_hundredth_is_accepted(source: str, account: Account, tmp_path: Path) -> None:
    parameters = Certified(9.0, TEN, unit="user", cap=1, delta=0.01)
    release(source, parameters, tmp_path / "out", account, rng=seeded(1))
    assert account.ledger.entries()[0].delta is not None
