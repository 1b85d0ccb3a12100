"""Evaluate: how good a release is, or a table of synthetic records. It spends no privacy.

Figures that look at raw claims or at real records are as private as those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from crowdveil.errors import MissingExtra, ParameterError
from crowdveil.evaluation import releases
from crowdveil.evaluation.comparison import Comparison, compare
from crowdveil.files import (
    check_new,
    keep_apart,
    read_claims,
    read_records,
    read_released,
    read_schema,
    read_truths,
    whole_file,
)
from crowdveil.randomness import seeded
from crowdveil.report.records_page import comparison_page, comparison_picture

RAW_CLAIMS = "these figures look at raw claims: keep them private"
REAL_RECORDS = "these figures look at real records: for your eyes only"
NOT_HELD_OUT = "models were tested on a fifth of --real; --held-out takes rows that nothing was made from"


@dataclass(frozen=True, eq=False)
class EvaluatedRelease:
    """How close released claims come to known truths and to raw claims.

    Parameters
    ----------
    figures:
        The measures, as `evaluation.releases` gives them.
    warnings:
        What whoever asked should know beside the figures.

    """

    figures: Mapping[str, Any]
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return dict(self.figures)


@dataclass(frozen=True, eq=False)
class EvaluatedRecords:
    """How close synthetic records come to real ones.

    Parameters
    ----------
    comparison:
        The measures.
    warnings:
        What whoever asked should know beside the figures.

    """

    comparison: Comparison
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return self.comparison.to_dict()


def evaluate_release(
    released: str,
    *,
    truths: str | None = None,
    claims: str | None = None,
    object: str | None = None,
    user: str | None = None,
    value: str | None = None,
) -> EvaluatedRelease:
    """Compare released claims with known truths, with the raw claims, or with both.

    Parameters
    ----------
    released:
        The folder of a release, or its file of claims.
    truths:
        File of known truths: columns object, value and perhaps spread.
    claims:
        File of the raw claims.
    object, user, value:
        Names of the raw claims' columns; without them they are guessed.

    """
    if truths is None and claims is None:
        raise ParameterError("give --truths PATH, --claims PATH, or both to compare with")
    figures = releases.evaluate(
        read_released(released),
        truths=None if truths is None else read_truths(truths),
        raw=None if claims is None else read_claims(claims, object=object, user=user, value=value),
    )
    return EvaluatedRelease(figures, () if claims is None else (RAW_CLAIMS,))


def evaluate_records(
    synthetic: str,
    *,
    real: str,
    schema: Path,
    label: str | None = None,
    held_out: str | None = None,
    clamp: bool = False,
    seed: int = 0,
    out: Path | None = None,
    force: bool = False,
) -> EvaluatedRecords:
    """Compare synthetic records with real ones, and write a page or a picture of it if asked.

    Parameters
    ----------
    synthetic:
        File of synthetic records.
    real:
        File of real records.
    schema:
        File of the public domains of the columns.
    label:
        Column that models learn to predict.
    held_out:
        File of real records to test the models on; without it, a fifth of `real`.
    clamp:
        Whether numbers beyond the edges count for the bins at the ends.
    seed:
        Of the tables, questions and rows that are drawn.
    out:
        Page (.html) or picture (.svg), which only its owner can read.
    force:
        Whether to replace `out`.

    """
    if out is not None and out.suffix.lower() not in (".html", ".svg"):
        raise ParameterError("-o takes a page that ends in .html or a picture that ends in .svg")
    if held_out is not None and label is None:
        raise ParameterError("--held-out is for learning: name the column to learn with --label")
    if out is not None:
        records = {"the synthetic records": synthetic, "the real records": real, "--held-out": held_out}
        keep_apart([out], {**records, "the schema": schema})
        check_new(out, force=force)
    domains, warnings = read_schema(schema), [REAL_RECORDS]
    if label is not None:
        domains.index(label)
        missing = _missing_models()
        if missing is not None:
            warnings.insert(0, f"what models learn is left out: {missing}")
            label = held_out = None
        elif held_out is None:
            warnings.insert(0, NOT_HELD_OUT)
    read = partial(read_records, schema=domains, clamp=clamp)
    comparison = compare(
        read(real),
        read(synthetic),
        label=label,
        held_out=None if held_out is None else read(held_out),
        rng=seeded(seed),
    )
    if out is not None:
        draw = comparison_page if out.suffix.lower() == ".html" else comparison_picture
        with whole_file(out, force=force, mode=0o600) as draft:
            draft.write_text(draw(comparison), encoding="utf-8")
    return EvaluatedRecords(comparison, tuple(warnings))


def _missing_models() -> MissingExtra | None:
    """Why models cannot be trained here, if they cannot."""
    try:
        import crowdveil.evaluation.models  # noqa: F401
    except MissingExtra as missing:
        return missing
    return None
