"""Records that Spark's workers hold: the same reports and tables as here, to the last bit, however they lie."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from crowdveil.engines import RECORDS_IN_A_BLOCK, LocalEngine
from crowdveil.engines.spark import Cluster, SparkEngine, SparkRecords, lay_out_records
from crowdveil.engines.spark.tables import table
from crowdveil.errors import InputError
from crowdveil.randomness import secure, seeded
from crowdveil.records import Column, Records, Schema
from crowdveil.synthesis.registry import METHODS
from crowdveil.synthesis.samprivsyn import SamPrivSyn

pytestmark = pytest.mark.xdist_group("spark")

SCHEMA = Schema(
    (
        Column("job", ("cook", "nurse", "é", "7")),
        Column("age", edges=(0.0, 30.0, 60.0, 99.0), missing=True),
        Column("told", ("true", "false")),
        Column("score", ("1", "2", "3"), missing=True),
    )
)
MANY = 2 * RECORDS_IN_A_BLOCK + 9_000
