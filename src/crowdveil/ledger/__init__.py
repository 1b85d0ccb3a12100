"""The ledger: what was spent on each dataset or campaign, written down before noise is drawn.

A ledger is one SQLite file. Charges are only ever added: the database itself refuses to change or remove
them, and a charge whose release was never written stays charged. A charge is durable before `charge`
returns, so whatever kills the process afterwards, the ledger never shows less than what was released.

Totals are sums (basic composition) of decimal numbers, exact to the last digit, one for each scope (unit,
adjacency, trust): epsilons of different scopes cannot be added. A release without a guarantee makes a
dataset's total unbounded; a seeded run is recorded as not private and adds nothing.

No private value is kept here, and no hash of the data: a dataset is known by its name or its path.

One file for each idea: `entries` (what stands in a ledger), `budgets` (what it adds up to and what still
fits), `names` (of datasets and of the file), `schema` (tables and their rules), `store` (the file).
"""

from crowdveil.ledger.budgets import BudgetExceeded
from crowdveil.ledger.entries import Budget, Charge, Scope, Spending, Total, plain
from crowdveil.ledger.names import dataset_key, default_path
from crowdveil.ledger.schema import LEDGER_VERSION
from crowdveil.ledger.store import Ledger

__all__ = [
    "LEDGER_VERSION",
    "Budget",
    "BudgetExceeded",
    "Charge",
    "Ledger",
    "Scope",
    "Spending",
    "Total",
    "dataset_key",
    "default_path",
    "plain",
]
