"""How truths are inferred from reports about every cell: by truth methods, or by the reports' own estimator.

Where a server receives a symbol for each cell (`CellReports`), the registered truth methods apply. Other
reports have an estimator of their own; a mechanism with a new kind of reports registers it here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from crowdveil.answers import CellReports
from crowdveil.engines import Engine
from crowdveil.errors import ParameterError
from crowdveil.local.laplace_cells import LaplaceReports
from crowdveil.local.slot_response import SlotReports
from crowdveil.truth.registry import METHODS, Input, methods_for
from crowdveil.truths import Truths

Estimator = Callable[[Engine | None], Truths]

AS_THEY_ARE = "inverse-deviation"  # the paper's inference, which takes reports for answers
STATE_SPARSITY = "reports of lp are mixed with what stands for no answer; --sparsity S frees them of it"


@dataclass(frozen=True)
class Estimators:
    """What can infer truths from some reports.

    Parameters
    ----------
    by_method:
        Functions of an engine by the name of their method, the default one first.
    warning:
        What to say when the default one is used because no method was named.

    """

    by_method: Mapping[str, Estimator]
    warning: str | None = None

    def infer(self, method: str | None, engine: Engine | None) -> tuple[Truths, tuple[str, ...]]:
        """Truths by a method, and warnings about them."""
        if method is None:
            default = next(iter(self.by_method.values()))
            return default(engine), () if self.warning is None else (self.warning,)
        if method not in self.by_method:
            names = [name for name in self.by_method if name in METHODS]
            raise ParameterError(f"these reports take {' or '.join(names) or 'no'} --method")
        return self.by_method[method](engine), ()


@singledispatch
def estimators(received: Any, sparsity: float | None) -> Estimators:
    """The estimators for what a server received, if that share of cells is known to have no answer.

    Without a registered kind: reports that have the paper's inference as their `truths`.
    """
    _check_not_stated(sparsity)
    return Estimators({AS_THEY_ARE: lambda _: received.truths()})


@estimators.register
def _(received: CellReports, sparsity: float | None) -> Estimators:
    _check_not_stated(sparsity)
    return Estimators(_of_symbols(lambda: received))


@estimators.register
def _(received: LaplaceReports, sparsity: float | None) -> Estimators:
    """With a known sparsity the law of a report is known; without it, reports are taken as they are."""
    as_they_are: dict[str, Estimator] = {AS_THEY_ARE: lambda _: received.truths()}
    if sparsity is None:
        return Estimators(as_they_are, warning=STATE_SPARSITY)
    return Estimators(_of_symbols(lambda: received.cells(1.0 - sparsity)) | as_they_are)


@estimators.register
def _(received: SlotReports, sparsity: float | None) -> Estimators:
    return Estimators({received.parameters.method: lambda _: received.truths(sparsity=sparsity)})


def _of_symbols(cells: Callable[[], CellReports]) -> dict[str, Estimator]:
    """The truth methods that take a symbol for each cell; `cells` gives the symbols once a method is used."""

    def applied(method: Callable[..., Truths]) -> Estimator:
        return lambda engine: method(cells(), engine=engine)

    return {name: applied(method) for name, method in methods_for(Input.CELL_REPORTS).items()}


def _check_not_stated(sparsity: float | None) -> None:
    if sparsity is not None:
        raise ParameterError("--sparsity goes with reports of lp and slots: others tell it themselves")
