"""Reports on the server: what devices send is received and kept, nothing else, and batches do not matter."""

from __future__ import annotations

import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign_cases import REQUESTS, asked, kept, summary, wire
from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.kind import Asked, Batch, Gathered, Plans
from crowdveil.campaigns.records import GatheredRecords, RecordsKind, collection_of
from crowdveil.campaigns.sensing import Sensing
from crowdveil.campaigns.sparse import Sparse
from crowdveil.certificates.reading import read_text
from crowdveil.errors import InputError
from crowdveil.files.certificates import metadata_of
from crowdveil.local.grid import DEVIATIONS
from crowdveil.operations.discover import discover

each_sort = pytest.mark.parametrize("name", REQUESTS)
PEOPLE = 24


def gathered(campaign: Campaign, batches: list[Batch], plans: Plans | None = None) -> Gathered:
    reports = campaign.kind.gather(1)
    for batch in batches:
        reports.add(batch, plans or {})
    return reports


# --- receive ------------------------------------------------------------------------------------------------


@each_sort
def test_what_a_device_sends_is_received(name: str) -> None:
    campaign = asked(name)
    for place in range(PEOPLE):
        assert isinstance(campaign.kind.receive(wire(campaign, Asked(place)), 1, Asked(place), {}), bytes)


def test_the_bytes_that_are_kept_are_the_numbers_that_were_sent() -> None:
    sensing, sparse = asked("sensing"), asked("sparse")
    sent = wire(sensing, Asked(4))
    bytes_ = sensing.kind.receive(sent, 1, Asked(4), {})
    pairs = np.frombuffer(bytes_, dtype=[("object", "<u4"), ("step", "<i8")])
    assert [["abc"[pair["object"]], int(pair["step"])] for pair in pairs] == sent["payload"]
    sent = wire(sparse, Asked(4))
    assert list(sparse.kind.receive(sent, 1, Asked(4), {})) == sent["payload"]


def changed(value: Any, sent: Any) -> list[Any]:
    """Reports that no device sends: something else in the place of the report, or of any part of it."""
    wrong = [value]
    if isinstance(sent, dict):
        wrong += [{**sent, key: inner} for key in sent for inner in changed(value, sent[key])]
        wrong += [{**sent, "more": 1}, {key: sent[key] for key in sorted(sent)[1:]}]
    if isinstance(sent, list):
        wrong += [
            [*sent[:at], inner, *sent[at + 1 :]] for at in (0, -1) for inner in changed(value, sent[at])
        ]
        wrong += [[*sent, *sent], sent[1:] if not isinstance(sent[0], list) else []]
    return wrong


@each_sort
@pytest.mark.parametrize(
    "value", [True, 1.0, 10**30, -(10**30), None, "x", [], {}, [[]], -1.5, 2**63], ids=str
)
def test_whatever_else_is_sent_is_refused(name: str, value: Any) -> None:
    campaign = asked(name)
    for wrong in changed(value, wire(campaign, Asked(1))):
        with pytest.raises(InputError) as refused:
            campaign.kind.receive(wrong, 1, Asked(1), {})
        assert len(str(refused.value)) < 200


@pytest.mark.parametrize("name", ["sensing", "sensing own ranges", "sensing gaussian"])
def test_a_number_farther_away_than_noise_leads_is_refused(name: str) -> None:
    kind = asked(name).kind
    assert isinstance(kind, Sensing)
    mechanism = kind.claim_mechanism
    far = mechanism.grid.farthest(mechanism.largest_deviation)
    assert far >= mechanism.grid.steps + DEVIATIONS * mechanism.largest_deviation
    first = next(iter(kind.ranges))
    for step, fits in ((far, True), (-far, True), (far + 1, False), (-far - 1, False)):
        report = mechanism.to_wire({first: step})
        if fits:
            assert kind.receive(report, 1, Asked(0), {})
        else:
            with pytest.raises(InputError):
                kind.receive(report, 1, Asked(0), {})


def test_a_symbol_that_another_place_may_send_is_refused_in_this_one() -> None:
    """Slots: a device that names objects has fewer symbols than one that does not, or more."""
    campaign = asked("slots")
    assert isinstance(campaign.kind, Sparse)
    highest = {place: campaign.kind.cell_mechanism.bounds(5, place)[0][1] for place in range(40)}
    least, most = min(highest.values()), max(highest.values())
    assert least < most
    place = next(place for place, high in highest.items() if high == least)
    report = {"v": 1, "mechanism": "slots", "payload": [most] * len(wire(campaign, Asked(0))["payload"])}
    with pytest.raises(InputError):
        campaign.kind.receive(report, 1, Asked(place), {})


def test_an_answer_to_another_question_is_refused() -> None:
    """Where its symbols, or its oracle, are not those of the place's own question."""
    campaign = asked("records")
    kind = campaign.kind
    questions = {place: kind.question(1, Asked(place), {}) for place in range(200)}
    sizes = {place: each["oracle"]["parameters"]["cells"] for place, each in questions.items() if each}
    small = min(sizes, key=lambda place: sizes[place])
    large = max(sizes, key=lambda place: sizes[place])
    assert sizes[small] < sizes[large]
    report = {"v": 1, "mechanism": "krr", "payload": sizes[large] - 1}
    assert kind.receive(report, 1, Asked(large), {})
    with pytest.raises(InputError):
        kind.receive(report, 1, Asked(small), {})


# --- gather -------------------------------------------------------------------------------------------------

ROWS = {
    name: (campaign := asked(name), kept(campaign, [Asked(place) for place in range(PEOPLE)]))
    for name in REQUESTS
}
COLD = {name: summary(gathered(campaign, [batch]).result()) for name, (campaign, batch) in ROWS.items()}


def part(batch: Batch, members: list[int]) -> Batch:
    return Batch(batch.places[members], batch.rounds[members], [batch.payloads[at] for at in members])


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from([name for name in REQUESTS if not name.startswith("records")]),
    order=st.permutations(range(PEOPLE)),
    ends=st.sets(st.integers(1, PEOPLE - 1), max_size=4),
)
def test_batches_and_their_order_make_no_difference(name: str, order: list[int], ends: set[int]) -> None:
    campaign, whole = ROWS[name]
    cuts = [0, *sorted(ends), PEOPLE]
    batches = [part(whole, order[first:last]) for first, last in pairwise(cuts)]
    reports = gathered(campaign, batches)
    frame, certificate = reports.exported()
    cold = gathered(campaign, [whole])
    expected, stated = cold.exported()
    assert certificate.to_dict() == stated.to_dict()
    assert frame.sort(frame.columns).equals(expected.sort(expected.columns))
    if campaign.kind.name != "records":  # whose tables are floats that are summed in the order of arrival
        assert summary(reports.result()) == COLD[name]
    joined = Batch.of([row for batch in batches for row in _rows(batch)]).by_place()
    assert summary(gathered(campaign, [joined]).result()) == COLD[name]


def _rows(batch: Batch) -> list[tuple[int, int, bytes]]:
    return list(zip(batch.places.tolist(), batch.rounds.tolist(), batch.payloads, strict=True))


@pytest.mark.parametrize(
    "name", [name for name in REQUESTS if not name.startswith(("rec", "sam", "cal", "ind"))]
)
def test_discover_computes_the_same_truths_from_the_exported_file(name: str, tmp_path: Path) -> None:
    campaign, whole = ROWS[name]
    reports = gathered(campaign, [whole])
    frame, certificate = reports.exported()
    path = tmp_path / "reports.parquet"
    frame.write_parquet(path, metadata=metadata_of(frame, certificate, None))
    truths = discover(str(path), out=str(tmp_path / "truths.csv")).table
    own = pl.DataFrame(reports.result().summary["truths"])
    if isinstance(campaign.kind, Sensing) and campaign.kind.scaled:
        scale = {name: (own.low, own.length) for name, own in campaign.kind.ranges.items()}
        for row, other in zip(truths.to_dicts(), own.to_dicts(), strict=True):
            low, length = scale[row["object"]]
            for end in ("estimate", "lower", "upper"):
                assert row[end] * length + low == other[end]
                assert low <= other[end] <= low + length
            assert row["error"] * length == other["error"]
    else:
        assert truths.equals(own)


@pytest.mark.parametrize("name", ["records", "samprivsyn", "calm", "independent"])
def test_the_library_counts_the_exported_reports_of_records_as_the_server_does(name: str) -> None:
    campaign, whole = ROWS[name]
    reports = gathered(campaign, [whole])
    assert isinstance(reports, GatheredRecords)
    frame, certificate = reports.exported()
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata=metadata_of(frame, certificate, None))
    stated = read_text(pl.read_parquet_metadata(io.BytesIO(buffer.getvalue()))["crowdveil"], "x").certificate
    collection = collection_of(pl.read_parquet(io.BytesIO(buffer.getvalue())), stated)
    assert collection.to_dict() == reports.collection.to_dict()


def test_bytes_that_were_damaged_are_told() -> None:
    campaign, whole = ROWS["sensing"]
    wrong = Batch(whole.places[:1], whole.rounds[:1], [whole.payloads[0] + b"x"])
    with pytest.raises(InputError, match="damaged"):
        gathered(campaign, [wrong])


# --- rounds -------------------------------------------------------------------------------------------------


def in_rounds() -> tuple[RecordsKind, Campaign, Plans]:
    """A campaign of records whose second round is planned from half of its people."""
    campaign = asked("records")
    kind = campaign.kind
    assert isinstance(kind, RecordsKind)
    end = kind.round_end(0)
    assert end == 20
    first = gathered(campaign, [kept(campaign, [Asked(place) for place in range(end)])])
    planned = kind.next_round(first, 0)
    assert planned is not None
    return kind, campaign, {1: planned}


def test_the_plan_of_a_round_follows_from_the_reports() -> None:
    kind, campaign, plans = in_rounds()
    assert sum(plans[1]) == pytest.approx(1)
    others = kept(campaign, [Asked(place) for place in range(100, 120)])
    assert kind.next_round(gathered(campaign, [others]), 0) != plans[1]
    assert kind.round_end(1) is None
    assert kind.next_round(gathered(campaign, [others]), 1) is None


def test_the_plan_of_the_first_round_is_followed_if_it_was_kept() -> None:
    """Another version may plan in another way: places were asked by the plan that was made then."""
    kind, campaign, plans = in_rounds()
    own = kind.first_round(1)
    before = [kind.question(1, Asked(place), {}) for place in range(50)]
    assert [kind.question(1, Asked(place), {0: own}) for place in range(50)] == before
    other = {0: plans[1]}
    assert [kind.question(1, Asked(place), other) for place in range(50)] != before
    batch = kept(campaign, [Asked(place) for place in range(50)], other)
    assert gathered(campaign, [batch], other).result().summary["tables"]


def test_a_place_keeps_its_question_whatever_is_planned_later() -> None:
    kind, _, plans = in_rounds()
    before = [kind.question(1, Asked(place), {}) for place in range(50)]
    assert [kind.question(1, Asked(place), plans) for place in range(50)] == before
    after = [kind.question(1, Asked(place, 1), plans) for place in range(50)]
    assert after != before
    assert [kind.question(1, Asked(place, 1), plans) for place in range(50)] == after
    assert [kind.question(2, Asked(place), {}) for place in range(50)] != before  # waves have their own coins


def test_a_late_report_counts_in_the_round_in_which_it_was_asked() -> None:
    kind, campaign, plans = in_rounds()
    late = [Asked(20), Asked(21)]
    early = [Asked(place) for place in range(20)]
    second = [Asked(place, 1) for place in range(22, 40)]
    first_late = gathered(
        campaign, [kept(campaign, early), kept(campaign, second, plans), kept(campaign, late)], plans
    )
    in_order = gathered(campaign, [kept(campaign, [*early, *late, *second], plans)], plans)
    assert isinstance(first_late, GatheredRecords)
    assert isinstance(in_order, GatheredRecords)

    def tables(reports: GatheredRecords) -> list[Any]:
        return sorted(
            [half, table.question.columns, table.support.tolist(), table.asked]
            for half, tables in enumerate(reports.collection.halves)
            for table in tables
        )

    assert tables(first_late) == tables(in_order)
    assert summary(gathered(campaign, [_joined(first_late)], plans).result()) == summary(in_order.result())
    assert kind.rounds == 2


def _joined(reports: GatheredRecords) -> Batch:
    frame, _ = reports.exported()
    return Batch(frame["place"].to_numpy(), frame["round"].to_numpy(), frame["report"].to_list()).by_place()


def test_an_exported_table_tells_the_plans_of_its_rounds() -> None:
    _, campaign, plans = in_rounds()
    wheres = [Asked(place, int(place >= 20)) for place in range(40)]
    reports = gathered(campaign, [kept(campaign, wheres, plans)], plans)
    assert isinstance(reports, GatheredRecords)
    frame, certificate = reports.exported()
    again = collection_of(frame, certificate)
    assert json.dumps(again.to_dict()) == json.dumps(reports.collection.to_dict())
    assert again.reports == 40
    with pytest.raises(InputError):
        collection_of(frame, asked("sensing").kind.certificate())
