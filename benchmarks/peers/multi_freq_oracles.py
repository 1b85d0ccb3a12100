"""multi-freq-ldpy's frequency oracles: a report from each person (compiled by Numba), and all counted."""

from __future__ import annotations

from importlib.metadata import version

from multi_freq_ldpy.pure_frequency_oracles import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
    GRR,
    LH,
    UE,
)

from benchmarks.stopwatch import Arrays, Steps

LIBRARY = f"multi-freq-ldpy {version('multi-freq-ldpy')}"


def shares(inputs: Arrays, oracle: str, epsilon: float) -> Steps:
    """Reports of all codes, and the shares of cells from them."""
    codes, cells = inputs["codes"].tolist(), int(inputs["cells"])
    yield
    if oracle == "krr":
        found = GRR.GRR_Aggregator_MI(
            [GRR.GRR_Client(code, cells, epsilon) for code in codes], cells, epsilon
        )
    elif oracle == "oue":
        found = UE.UE_Aggregator_MI([UE.UE_Client(code, cells, epsilon) for code in codes], epsilon)
    else:
        found = LH.LH_Aggregator_MI([LH.LH_Client(code, cells, epsilon) for code in codes], cells, epsilon)
    yield
    return {"shares": found}
