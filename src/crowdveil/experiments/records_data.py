"""The real data of the records paper: Adult with three variants, and Bank Marketing.

Reference: Chen et al., *Locally differentially private high-dimensional data synthesis*, 2023,
doi:10.1007/s11432-022-3583-x, Table 2.

Domains follow the datasets' public descriptions (UCI Machine Learning Repository). Numeric columns have round
bins, chosen with knowledge of the columns' ranges. The paper has 30,128 rows of Adult, where
30,162 rows are complete, and 45,210 rows of Bank Marketing, which has 45,211; it does not state its bins.
Never-worked is a declared value that no complete row of Adult has.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from crowdveil.evaluation.learning import split
from crowdveil.files import read_records
from crowdveil.records import Column, Records, Schema

__all__ = ["ADULT", "BANK", "adult", "bank", "replicated", "split", "syn1", "syn2", "syn3"]


def _values(name: str, *values: str) -> Column:
    return Column(name, values)


def _bins(name: str, *edges: float) -> Column:
    return Column(name, None, edges)


ADULT_LABEL, BANK_LABEL = "income", "y"

ADULT = Schema(
    (
        _values(
            "workclass",
            *("Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov"),
            *("Without-pay", "Never-worked"),
        ),
        _values(
            "education",
            *("Bachelors", "Some-college", "11th", "HS-grad", "Prof-school", "Assoc-acdm", "Assoc-voc"),
            *("9th", "7th-8th", "12th", "Masters", "1st-4th", "10th", "Doctorate", "5th-6th", "Preschool"),
        ),
        _values(
            "marital-status",
            *("Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed"),
            *("Married-spouse-absent", "Married-AF-spouse"),
        ),
        _values(
            "occupation",
            *("Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial", "Prof-specialty"),
            *("Handlers-cleaners", "Machine-op-inspct", "Adm-clerical", "Farming-fishing"),
            *("Transport-moving", "Priv-house-serv", "Protective-serv", "Armed-Forces"),
        ),
        _values(
            "relationship", "Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"
        ),
        _values("race", "White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"),
        _values("sex", "Female", "Male"),
        _values(
            "native-country",
            *("United-States", "Cambodia", "England", "Puerto-Rico", "Canada", "Germany"),
            *("Outlying-US(Guam-USVI-etc)", "India", "Japan", "Greece", "South", "China", "Cuba", "Iran"),
            *("Honduras", "Philippines", "Italy", "Poland", "Jamaica", "Vietnam", "Mexico", "Portugal"),
            *("Ireland", "France", "Dominican-Republic", "Laos", "Ecuador", "Taiwan", "Haiti", "Columbia"),
            *("Hungary", "Guatemala", "Nicaragua", "Scotland", "Thailand", "Yugoslavia", "El-Salvador"),
            *("Trinadad&Tobago", "Peru", "Hong", "Holand-Netherlands"),
        ),
        _values("income", "<=50K", ">50K"),
    )
)

BANK = Schema(
    (
        _bins("age", 18, 25, 30, 35, 40, 45, 50, 55, 60, 65, 100),
        _values(
            "job",
            *("admin.", "unknown", "unemployed", "management", "housemaid", "entrepreneur", "student"),
            *("blue-collar", "self-employed", "retired", "technician", "services"),
        ),
        _values("marital", "married", "divorced", "single"),
        _values("education", "unknown", "secondary", "primary", "tertiary"),
        _values("default", "yes", "no"),
        _bins("balance", -10_000, 0, 1, 500, 1000, 2000, 5000, 10_000, 200_000),  # euros
        _values("housing", "yes", "no"),
        _values("loan", "yes", "no"),
        _values("contact", "unknown", "telephone", "cellular"),
        _bins("day", 1, 8, 15, 22, 31),  # of the month
        _values("month", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
        _bins("duration", 0, 60, 120, 180, 240, 300, 480, 600, 900, 7200),  # seconds of the call
        _bins("campaign", 1, 2, 3, 4, 6, 11, 100),  # calls of this campaign
        _bins("pdays", -1, 0, 91, 181, 366, 1000),  # days since the last campaign, -1 where there was none
        _bins("previous", 0, 1, 2, 3, 6, 300),  # calls before this campaign
        _values("poutcome", "unknown", "other", "failure", "success"),
        _values("y", "no", "yes"),
    )
)

# The six duplicated columns of SYN3. The paper does not name them; with these the domain has its 2^44 cells.
REPEATED = ("workclass", "education", "marital-status", "occupation", "relationship", "race")


def adult(folder: Path) -> Records:
    """Adult: the complete rows, nine columns of categories."""
    return read_records(str(folder / "adult_train_complete30162.csv.gz"), ADULT)


def bank(folder: Path) -> Records:
    """Bank Marketing: all rows, 17 columns, numbers in bins."""
    return read_records(str(folder / "bank_full.csv.gz"), BANK, clamp=True)


def replicated(records: Records, times: int) -> Records:
    """Every row repeated `times` times."""
    return Records(records.schema, np.tile(records.codes, (times, 1)))


def syn1(records: Records) -> Records:
    """SYN1: every row twice."""
    return replicated(records, 2)


def syn2(records: Records) -> Records:
    """SYN2: every row four times. The paper says "tripling"; its 120,512 rows are four times 30,128."""
    return replicated(records, 4)


def syn3(records: Records) -> Records:
    """SYN3: six columns are duplicated under names that end in "-again"."""
    repeated = [records.schema.columns[records.schema.index(name)] for name in REPEATED]
    copies = tuple(Column(f"{column.name}-again", column.values, column.edges) for column in repeated)
    schema = Schema((*records.schema.columns, *copies))
    indices = [records.schema.index(name) for name in REPEATED]
    return Records(schema, np.hstack([records.codes, records.codes[:, indices]]))
