"""The ledger: the epsilon spent on each dataset or campaign, recorded before noise is drawn.

A ledger is one SQLite file. Charges can only be added: triggers in the database refuse to change or remove
them, and a charge whose release was never written stays charged. A charge is on the disk before `charge`
returns, so even if the process is killed afterwards, the ledger never records less than was released.

Totals are exact sums of decimal numbers (basic composition), one for each scope (unit, adjacency, trust).
Every release counts in each of them by what it costs there; where it promises nothing, the total of the scope
is not bounded. A release without a guarantee makes a dataset's total unbounded everywhere; a seeded run is
recorded as not private and adds nothing.

A ledger contains no private value and no hash of the data: a dataset is identified by its name or its path.

One file for each idea: `entries` (charges, budgets and totals), `totals` (sums by scope), `budgets` (whether
a charge fits), `names` (of datasets and of the file), `schema` (tables and triggers), `store` (the file),
`key` (which signs what is published).
"""

from crowdveil.ledger.budgets import BudgetExceeded
from crowdveil.ledger.entries import LARGE_DELTA, Budget, Charge, Spending, Total, plain
from crowdveil.ledger.names import dataset_key, default_path
from crowdveil.ledger.schema import LEDGER_VERSION
from crowdveil.ledger.store import Ledger

__all__ = [
    "LARGE_DELTA",
    "LEDGER_VERSION",
    "Budget",
    "BudgetExceeded",
    "Charge",
    "Ledger",
    "Spending",
    "Total",
    "dataset_key",
    "default_path",
    "plain",
]
