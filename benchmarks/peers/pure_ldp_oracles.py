"""pure-ldp's frequency oracles: a report from each person, all of them counted, one after the other."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
from pure_ldp.frequency_oracles.direct_encoding import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
    DEClient,
    DEServer,
)
from pure_ldp.frequency_oracles.local_hashing import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
    LHClient,
    LHServer,
)
from pure_ldp.frequency_oracles.unary_encoding import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
    UEClient,
    UEServer,
)

from benchmarks.stopwatch import Arrays, Steps

LIBRARY = f"pure-ldp {version('pure-ldp')}"
ORACLES: dict[str, tuple[Any, Any, dict[str, bool]]] = {
    "krr": (DEClient, DEServer, {}),
    "oue": (UEClient, UEServer, {"use_oue": True}),
    "olh": (LHClient, LHServer, {"use_olh": True}),
}


def shares(inputs: Arrays, oracle: str, epsilon: float) -> Steps:
    """Reports of all codes, and the shares of cells from them."""
    codes, cells = inputs["codes"].tolist(), int(inputs["cells"])
    device, counter, options = ORACLES[oracle]
    client = device(epsilon, cells, index_mapper=_itself, **options)
    server = counter(epsilon, cells, index_mapper=_itself, **options)
    yield
    reports = [client.privatise(code) for code in codes]
    server.aggregate_all(reports)
    found = server.estimate_all(range(cells), suppress_warnings=True) / len(codes)
    yield
    return {"shares": np.asarray(found)}


def _itself(code: int) -> int:
    """Codes count from 0, where the library's own begin with 1."""
    return code
