"""The project's own method: planned questions, reports in rounds, and latent classes that explain them all.

See `question_plan` for what is asked, `collection` for rounds, `latent_classes` for the model of records and
`model_choice` for how much dependence each column is granted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

from crowdveil.accounting.parameters import check_whole
from crowdveil.arrays import Codes, Floats
from crowdveil.engines import Engine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Promise
from crowdveil.local.split_epsilon import check_epsilon
from crowdveil.randomness import Randomness
from crowdveil.records import Schema
from crowdveil.synthesis import question_plan
from crowdveil.synthesis.design import Halves
from crowdveil.synthesis.latent_classes import LatentClasses
from crowdveil.synthesis.model_choice import fitted_to
from crowdveil.synthesis.promises import if_declared
from crowdveil.synthesis.questions import Question
from crowdveil.synthesis.registry import Method
from crowdveil.synthesis.simulated import synthesize

ROUNDS = 2
MOST_ROUNDS = 100


@dataclass(frozen=True)
class LatentClassSynthesis:
    """Parameters of the method; a `Design`.

    Parameters
    ----------
    epsilon:
        For one record.
    label:
        Name of a column that matters more than others, if there is one.
    rounds:
        How many rounds people report in; later ones ask more about columns that depend on each other.

    >>> schema = Schema.from_dict({"columns": {"x": {"values": ["a", "b"]}, "y": {"values": ["p", "q"]}}})
    >>> LatentClassSynthesis(epsilon=2.0).promise(schema).unit
    'record'

    """

    epsilon: float
    label: str | None = None
    rounds: int = ROUNDS

    name: ClassVar[str] = "crowdveil"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole(self.rounds, "the number of rounds")
        if self.rounds > MOST_ROUNDS:
            raise ParameterError(f"there are at most {MOST_ROUNDS} rounds, not {self.rounds}")
        if self.label is not None and not isinstance(self.label, str):
            raise ParameterError("the label is the name of a column")

    def promise(self, schema: Schema) -> Promise:
        """Pure epsilon for each record, as realised; known before anybody reports."""
        return if_declared(schema, question_plan.promise(self.questions(schema)))

    def questions(self, schema: Schema) -> tuple[Question, ...]:
        """Those about one column first, then those about several."""
        if self.label is not None:
            schema.index(self.label)  # refuses a column that is not there
        single = question_plan.singles(schema, self.epsilon)
        joint = question_plan.joints(schema, self.epsilon)
        return (*single, *joint)

    def round_ends(self, people: int) -> list[int]:
        """Rounds of equal size."""
        return [people * (number + 1) // self.rounds for number in range(self.rounds)]

    def chances(
        self, schema: Schema, questions: Sequence[Question], halves: Halves, *, engine: Engine | None = None
    ) -> Floats:
        """From public numbers in the first round, then also from the dependence that was found.

        A later round also asks about dependence that is not certain enough yet to be used in the result.
        """
        single, joint = questions[: len(schema.sizes)], questions[len(schema.sizes) :]
        label = None if self.label is None else schema.index(self.label)
        learned = fitted_to(halves, schema.sizes, least_worth=0.0, engine=engine) if any(halves) else None
        return question_plan.chances(self.epsilon, (single, joint), label, learned)

    def fitted(self, schema: Schema, halves: Halves, *, engine: Engine | None = None) -> LatentClasses:
        """The latent classes that explain all reports."""
        return fitted_to(halves, schema.sizes, engine=engine)

    def tables(self, schema: Schema, halves: Halves) -> dict[tuple[int, ...], Floats]:
        """Single columns and pairs of the fitted classes."""
        classes, columns = self.fitted(schema, halves), range(len(schema.sizes))
        sets = [*combinations(columns, 1), *combinations(columns, 2)]
        return {each: classes.marginal(each) for each in sets}

    def codes(
        self, schema: Schema, halves: Halves, rows: int, *, rng: Randomness, engine: Engine | None = None
    ) -> Codes:
        """(rows, d): records drawn from the fitted classes."""
        return self.fitted(schema, halves, engine=engine).sample(rows, rng=rng)


METHOD = Method(LatentClassSynthesis, synthesize)
