"""How far classes may be apart: what explains reports best that the fit has not seen.

Reports come in rounds. With a penalty too small the classes follow the noise of the tables they were fitted
to, and explain those of the next round worse. So classes are fitted to all rounds but the last with several
penalties, and the last round says which to take. It is post-processing, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from crowdveil.engines import LocalEngine
from crowdveil.synthesis.latent_classes import APART, LatentClasses, fit, log_likelihood
from crowdveil.synthesis.questions import Table, merged

PENALTIES = (APART, 10.0, 30.0, 100.0)  # the last one leaves columns all but independent
WITHIN = (
    1.0  # of the best log-likelihood: then classes may be farther apart, as all rounds tell more than some
)
STEPS = 80  # of fits that are only compared


def fitted_to(
    rounds: Sequence[Sequence[Table]], sizes: tuple[int, ...], *, engine: LocalEngine | None = None
) -> LatentClasses:
    """The classes that explain the reports of all rounds."""
    told = [tables for tables in rounds if tables]
    apart = chosen_penalty(told, sizes, engine=engine) if len(told) > 1 else APART
    return fit(merged(told), sizes, apart=apart, engine=engine)


def chosen_penalty(
    rounds: Sequence[Sequence[Table]], sizes: tuple[int, ...], *, engine: LocalEngine | None = None
) -> float:
    """The least penalty that explains the last round about as well as the best one does.

    Penalties are tried from the least on, until one explains it clearly worse than another did.
    """
    seen, unseen = merged(rounds[:-1]), tuple(rounds[-1])
    found: dict[float, float] = {}
    for apart in PENALTIES:
        tried = fit(seen, sizes, apart=apart, steps=STEPS, engine=engine)
        found[apart] = log_likelihood(tried, unseen, engine=engine)
        if found[apart] < max(found.values()) - WITHIN:
            break
    best = max(found.values())
    return min(apart for apart, gain in found.items() if gain >= best - WITHIN)
