"""The experiments by name."""

from __future__ import annotations

from collections.abc import Callable

from crowdveil.experiments import (
    certified,
    expected_error,
    priscrowd,
    priscrowd_real,
    records,
    records_batches,
    records_cost,
    records_facts,
    records_learning,
    sensing,
    sensing_noise_aware,
    sensing_real,
    sparse,
    sparse_bounds,
    sparse_real,
    sparse_users,
)
from crowdveil.experiments.result import Outcome, Settings

EXPERIMENTS: dict[str, Callable[[Settings], Outcome]] = {
    "priscrowd-simulated": priscrowd.simulated,
    "priscrowd-real": priscrowd_real.real,
    "priscrowd-cases": priscrowd_real.cases,
    "priscrowd-count": priscrowd_real.count,
    "priscrowd-time": priscrowd_real.cost,
    "certified-simulated": certified.simulated,
    "certified-real": certified.real,
    "expected-error": expected_error.errors,
    "user-caps": expected_error.caps,
    "user-caps-real": expected_error.real_caps,
    "sensing-tradeoff": sensing.tradeoff,
    "sensing-lambda1": sensing.quality,
    "sensing-users": sensing.users,
    "sensing-methods": sensing.methods,
    "sensing-real": sensing_real.real,
    "sensing-weights": sensing_real.weights,
    "sensing-time": sensing_real.cost,
    "sensing-noise-aware": sensing_noise_aware.gained,
    "sparse-data": sparse_real.data,
    "sparse-epsilon": sparse.budget,
    "sparse-sparsity": sparse.sparsity,
    "sparse-real": sparse_real.real,
    "sparse-bounds": sparse_bounds.bounds,
    "sparse-users": sparse_users.users,
    "records-data": records_facts.data,
    "records-adult": records.adult,
    "records-bank": records.bank,
    "records-variants": records.variants,
    "records-learning": records_learning.learning,
    "records-cost": records_cost.cost,
    "records-batches": records_batches.batches,
}
