"""Records campaigns: many categorical questions, of which each device answers the few that it is asked.

Each wave is a `Collection` of its own. Its rounds are planned from the reports of earlier ones; a place keeps
the question that it was asked, in the round in which it was asked, however late it answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal, cast

import numpy as np
import polars as pl

from crowdveil.arrays import Ints
from crowdveil.campaigns.kind import (
    MOST_PLACES,
    Asked,
    Batch,
    Gathered,
    Kind,
    Plan,
    Plans,
    Result,
    numbers_in,
)
from crowdveil.campaigns.request import epsilon_of, named, options_of, people_of, unit_of
from crowdveil.certificates.certificate import Certificate
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Guarantee
from crowdveil.local.wire import Wire
from crowdveil.plain_data import construct
from crowdveil.randomness import Randomness
from crowdveil.records import Records, Schema
from crowdveil.synthesis.choices import PLACES_AT_ONCE
from crowdveil.synthesis.collection import Collection, Reports
from crowdveil.synthesis.design import Design
from crowdveil.synthesis.questions import Question
from crowdveil.synthesis.registry import METHODS
from crowdveil.synthesis.self_assessment import assessed

DESIGNS = ("crowdveil", "samprivsyn", "calm", "independent")
SEEDS = 2**32
MOST_ROUNDS = 200
MOST_TABLE_CELLS = 2_000_000  # of all single columns and pairs: they are estimated together
MOST_SHOWN_CELLS = 200_000  # beyond, pairs are in the exported tables alone
MOST_ROWS = 100_000  # of a synthetic table that is made unasked
MOST_COLUMNS = 200  # there is a question about each pair of them


@dataclass(frozen=True)
class RecordsKind(Kind):
    """Public domains, what is asked about them, and how many people are expected.

    Parameters
    ----------
    schema:
        The columns and their domains.
    design:
        The parameters of a method that can be collected in rounds.
    seed:
        Public; decides what each place is asked.
    people:
        How many are expected: rounds end by it. More can take part.

    """

    schema: Schema
    design: Design
    seed: int
    people: int
    unit: Literal["record", "person"] = "record"

    name: ClassVar[str] = "records"
    asks_by_place: ClassVar[bool] = True
    plans_rounds: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.schema.declared:
            raise ParameterError("the schema of a campaign is declared before anybody answers")
        if len(self.schema.columns) > MOST_COLUMNS:
            raise ParameterError(f"a records campaign has at most {MOST_COLUMNS} columns")
        if not isinstance(self.design, Design):
            raise ParameterError(f"a records campaign takes {', '.join(DESIGNS)}")
        if self.table_cells > MOST_TABLE_CELLS:
            raise ParameterError(
                f"all pairs of columns have {self.table_cells:,} cells together, more than "
                f"{MOST_TABLE_CELLS:,}: use fewer columns, or coarser bins"
            )
        if self.rounds > MOST_ROUNDS:
            raise ParameterError(
                f"there would be {self.rounds:,} rounds, more than {MOST_ROUNDS}: take a larger batch"
            )
        _ = self.certificate()  # refuses parameters that cannot be

    @classmethod
    def asked(cls, request: Mapping[str, Any]) -> RecordsKind:
        """A record is what one person answers, so that both units are the same."""
        schema = Schema.from_dict(request.get("schema"))
        epsilon, options = epsilon_of(request), options_of(request)
        if epsilon is None:
            raise ParameterError("how strong? Give an epsilon")
        seed = options.pop("seed", 0)
        options.pop("insist", None)
        name = named(request, {"auto": "crowdveil"} | {name: name for name in DESIGNS})
        design = construct(METHODS[name].parameters, {"epsilon": epsilon, **options}, "options.")
        return cls(schema, design, _seed(seed), people_of(request), unit_of(request, "record", "person"))

    def to_dict(self) -> dict[str, Any]:
        """The schema, and the unit that is protected."""
        return {"schema": self.schema.to_dict(), "unit": self.unit}

    @classmethod
    def from_dict(cls, public: Mapping[str, Any]) -> RecordsKind:
        """From the public document of a campaign."""
        name, parameters = public["mechanism"]["name"], dict(public["mechanism"]["parameters"])
        if name not in DESIGNS:
            raise ParameterError(f"a records campaign takes {', '.join(DESIGNS)}")
        seed, people = _seed(parameters.pop("seed")), people_of({"people": parameters.pop("people")})
        design = construct(METHODS[name].parameters, parameters, "mechanism.parameters.")
        unit = unit_of(public, "record", "person")
        return cls(Schema.from_dict(public["schema"]), design, seed, people, unit)

    @property
    def table_cells(self) -> int:
        """How many cells single columns and pairs have."""
        sizes = self.schema.sizes
        return sum(sizes) + (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2

    @cached_property
    def rounds(self) -> int:  # type: ignore[override]
        """How many rounds there can be in a wave."""
        return len(self.design.round_ends(self.people))

    def mechanism(self) -> dict[str, Any]:
        """Name and parameters of the method, and what decides who is asked what."""
        return {
            "name": self.design.name,
            "parameters": self._parameters() | {"seed": self.seed, "people": self.people},
        }

    def _certified(self) -> Certificate:
        """Of a record, which is reported about once."""
        return Certificate(
            kind="record reports",
            method=self.design.name,
            parameters=self._parameters(),
            public={
                "declared": True,
                "columns": dict(zip(self.schema.names, self.schema.sizes, strict=True)),
            },
            promise=self.design.promise(self.schema),
            seeded=False,
            synthetic=False,
        )

    def _parameters(self) -> dict[str, Any]:
        return asdict(cast("Any", self.design))

    # --- the device ----------------------------------------------------------------------------------------

    def report_one(
        self,
        answer: Mapping[str, Any],
        asked: Asked,  # noqa: ARG002
        question: Mapping[str, Any] | None = None,
        *,
        rng: Randomness | None = None,
    ) -> Wire:
        """One report about the columns of the question; one that costs more than promised is refused."""
        if question is None:
            raise InputError("this place was not asked anything")
        put = Question.from_dict(question)
        self._check(put)
        frame = pl.DataFrame({name: [answer.get(name)] for name in self.schema.names}, strict=False)
        record = Records.from_frame(frame, self.schema, clamp=True).codes[0].tolist()
        return put.oracle.to_wire(put.report_one(record, rng=rng))

    def _check(self, question: Question) -> None:
        promise, asked = self.promise, question.oracle.promise()
        sizes = tuple(
            self.schema.sizes[column] for column in question.columns if column < len(self.schema.sizes)
        )
        if sizes != question.sizes:
            raise InputError("the question is not about columns of this campaign's schema")
        if (
            not isinstance(promise, Guarantee)
            or asked.epsilon > promise.epsilon
            or asked.delta > promise.delta
        ):
            raise InputError("the question costs more than the campaign promises: it is not answered")

    # --- the server ----------------------------------------------------------------------------------------

    @lru_cache(maxsize=64)  # noqa: B019, a handful of campaigns
    def first(self, wave: int) -> Collection:
        """The collection of a wave before anybody reported; each wave asks by coins of its own."""
        seed = (self.seed + wave) % SEEDS
        return Collection(self.schema, self.design, seed, self.people, capacity=MOST_PLACES)

    def question(self, wave: int, asked: Asked, plans: Plans) -> dict[str, Any]:
        """What a place is asked in its round, with all that a device needs to answer."""
        return self._asked(wave, asked, plans).to_dict()

    def _asked(self, wave: int, asked: Asked, plans: Plans) -> Question:
        plan = planned(plans, asked.round)
        numbers = self._numbers(wave, asked.round, plan, asked.place // PLACES_AT_ONCE)
        return self.first(wave).questions[numbers[asked.place % PLACES_AT_ONCE]]

    @lru_cache(maxsize=256)  # noqa: B019
    def _numbers(self, wave: int, number: int, plan: Plan, block: int) -> list[int]:
        """The number of the question that each place of a block is asked."""
        first = block * PLACES_AT_ONCE
        places = np.arange(first, min(first + PLACES_AT_ONCE, MOST_PLACES))
        numbers: list[int] = replace(self.first(wave), number=number, planned=plan).assign(places).tolist()
        return numbers

    def receive(self, report: Any, wave: int, asked: Asked, plans: Plans) -> bytes:
        """The row of an oracle's report, as little-endian bytes."""
        row = self._asked(wave, asked, plans).oracle.from_wire(report)
        return row.astype(row.dtype.newbyteorder("<"), copy=False).tobytes()

    def gather(self, wave: int) -> GatheredRecords:
        """No reports yet."""
        return GatheredRecords(self, wave)

    def published(self, name: str, frame: pl.DataFrame) -> tuple[pl.DataFrame, Certificate | None]:
        """Synthetic records carry their certificate."""
        if name != "records":
            return frame, None
        return frame, replace(self.certificate(), kind="synthetic records", synthetic=True)

    def first_round(self, wave: int) -> Plan:
        """The plan of the first round, which needs no reports."""
        return Plan(self.first(wave).chances.tolist())

    def next_round(self, gathered: Gathered, number: int) -> Plan | None:
        """The plan of the next round, from all reports so far."""
        assert isinstance(gathered, GatheredRecords)
        if number + 1 >= self.rounds:
            return None
        return Plan(gathered.collection.advance().planned)

    def round_end(self, number: int) -> int | None:
        """How many reports there are when a round ends."""
        ends = self.design.round_ends(self.people)
        return int(ends[number]) if number + 1 < len(ends) else None


def planned(plans: Plans, number: int) -> Plan:
    """The plan of a round; where that of the first one was not kept, it is empty, and computed anew."""
    return plans[number] if number else plans.get(0, Plan())


class GatheredRecords(Gathered):
    """A collection that grows."""

    def __init__(self, kind: RecordsKind, wave: int) -> None:
        self._kind, self._wave = kind, wave
        self.collection = kind.first(wave)
        self._batches: list[Batch] = []
        self._plans: dict[int, Plan] = {}

    def add(self, batch: Batch, plans: Plans) -> None:
        """Take in more reports, each in the round in which it was asked for."""
        self._batches.append(batch)
        self._plans.update(plans)
        for number in np.unique(batch.rounds).tolist():
            members = np.flatnonzero(batch.rounds == number)
            view = replace(self.collection, number=number, planned=planned(plans, number))
            payloads = [batch.payloads[at] for at in members.tolist()]
            self.collection = view.ingest(_rows(view, batch.places[members], payloads))

    def result(self) -> Result:
        """Tables of single columns and of pairs that explain all reports, and synthetic records."""
        collection, schema = self.collection, self._kind.schema
        tables = collection.design.tables(schema, collection.halves)
        listed: list[dict[str, Any]] = [
            {
                "columns": [schema.names[column] for column in columns],
                "labels": [schema.columns[column].labels() for column in columns],
                "shares": shares.tolist(),
            }
            for columns, shares in sorted(tables.items(), key=lambda entry: (len(entry[0]), entry[0]))
        ]
        rows = min(collection.reports, MOST_ROWS)
        synthetic = collection.records(rows)
        shown = [
            table
            for table in listed
            if len(table["columns"]) == 1 or self._kind.table_cells <= MOST_SHOWN_CELLS
        ]
        quality = assessed(collection, tables).to_dict()
        summary = {"method": collection.design.name, "tables": shown, "quality": quality}
        return Result(summary, {"marginals": _long(listed), "records": synthetic.to_frame()})

    def exported(self) -> tuple[pl.DataFrame, Certificate]:
        """Places, rounds and reports; the certificate tells the plans, so that it can be counted again."""
        batch = Batch(
            np.concatenate([each.places for each in self._batches]),
            np.concatenate([each.rounds for each in self._batches]),
            [payload for each in self._batches for payload in each.payloads],
        ).by_place()
        frame = pl.DataFrame(
            {
                "place": batch.places,
                "round": batch.rounds,
                "report": pl.Series(batch.payloads, dtype=pl.Binary),
            }
        )
        contents = {
            "schema": self._kind.schema.to_dict(),
            "seed": self._kind.seed,
            "people": self._kind.people,
            "wave": self._wave,
            "plans": {str(number): list(plan) for number, plan in self._plans.items()},
        }
        return frame, replace(self._kind.certificate(), contents=contents)


def collection_of(frame: pl.DataFrame, certificate: Certificate) -> Collection:
    """The collection with all reports of an exported table: what the library makes of them."""
    try:
        contents = certificate.contents
        mechanism = {
            "name": certificate.method,
            "parameters": {**certificate.parameters, "seed": contents["seed"], "people": contents["people"]},
        }
        kind = RecordsKind.from_dict({"schema": contents["schema"], "mechanism": mechanism})
        plans = {int(number): Plan(plan) for number, plan in contents["plans"].items()}
        gathered = kind.gather(contents["wave"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError("these are not the reports of a records campaign") from None
    batch = Batch(frame["place"].to_numpy(), frame["round"].to_numpy(), frame["report"].to_list())
    gathered.add(batch.by_place(), plans)
    return gathered.collection


def _rows(collection: Collection, places: Ints, payloads: list[bytes]) -> Reports:
    """Rows of reports by the number of the question that each place was asked."""
    asked = collection.assign(places)
    return {
        number: _answers(collection, number, places, payloads, asked) for number in np.unique(asked).tolist()
    }


def _answers(
    collection: Collection, number: int, places: Ints, payloads: list[bytes], asked: Ints
) -> tuple[Ints, Any]:
    members = np.flatnonzero(asked == number)
    shape, kind = collection.questions[number].oracle.row
    rows = numbers_in([payloads[at] for at in members.tolist()], np.dtype(kind).newbyteorder("<"))
    return places[members], rows.astype(kind, copy=False).reshape(members.size, *shape)


def _long(tables: list[dict[str, Any]]) -> pl.DataFrame:
    """All tables below each other: columns, a value of each, and the share."""

    parts = []
    for table in tables:
        shares = np.asarray(table["shares"])
        places = np.unravel_index(np.arange(shares.size), shares.shape)
        values = [pl.Series(labels).gather(at) for labels, at in zip(table["labels"], places, strict=True)]
        pair = len(values) > 1
        columns = {
            "column": pl.repeat(table["columns"][0], shares.size, eager=True),
            "value": values[0],
            "column_2": pl.repeat(
                table["columns"][1] if pair else None, shares.size, dtype=pl.String, eager=True
            ),
            "value_2": values[1] if pair else pl.repeat(None, shares.size, dtype=pl.String, eager=True),
            "share": shares.ravel(),
        }
        parts.append(pl.DataFrame(columns))
    return pl.concat(parts)


def _seed(seed: Any) -> int:
    if type(seed) is not int or not 0 <= seed < SEEDS:
        raise ParameterError("a seed is a whole number from 0 to 2^32 - 1")
    return seed
