"""mbi: a model fitted to noisy tables of shares, and records drawn from it.

Its graphical models cannot hold all pairs of nine columns (one clique would be the whole domain), so mirror
descent gets the single columns and a spanning tree of those pairs that depend most. Its mixtures of products
take every table. Steps and settings are the library's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import jax  # type: ignore[import-not-found, import-untyped, unused-ignore]
import networkx as nx  # type: ignore[import-not-found, import-untyped, unused-ignore]
import numpy as np
import optax  # type: ignore[import-not-found, import-untyped, unused-ignore]
from numpy.typing import NDArray

from benchmarks.stopwatch import Arrays, Steps

jax.config.update("jax_enable_x64", True)  # both as mbi advises, and before it is imported
jax.config.update("jax_enable_compilation_cache", False)

import mbi  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: E402

LIBRARY = f"mbi {version('mbi')}"
Table = tuple[tuple[int, ...], NDArray[np.float64], float]
"""Columns, shares of cells, and the standard deviation of a share."""


def from_tables(inputs: Arrays, model: str, used: bool) -> Steps:
    """A tree or a mixture, fitted and sampled; `used`: once before the clock starts."""
    tables, sizes, rows = _tables(inputs), inputs["sizes"].tolist(), int(inputs["rows"])
    if used:
        _synthesized(tables, sizes, rows, model)
    yield
    codes = _synthesized(tables, sizes, rows, model)
    yield
    return {"codes": codes}


def _synthesized(tables: list[Table], sizes: list[int], rows: int, model: str) -> NDArray[np.int32]:
    """Counts instead of shares, as the library expects."""
    names = [f"column {place}" for place in range(len(sizes))]
    measured = [
        mbi.LinearMeasurement(rows * shares.ravel(), tuple(names[c] for c in columns), rows * deviation)
        for columns, shares, deviation in (_tree(tables) if model == "tree" else tables)
    ]
    found = _estimator(model).estimate(mbi.Domain(names, sizes), measured, known_total=float(rows))
    drawn = found.synthetic_data(rows).to_dict()
    return np.stack([np.asarray(drawn[name]) for name in names], axis=1).astype(np.int32)


def _estimator(model: str) -> Any:
    if model == "tree":
        return mbi.estimation.MirrorDescent()
    return mbi.extensions.MixtureOfProductsEstimator(optimizer=optax.adam(0.1))


def _tables(inputs: Arrays) -> list[Table]:
    """Columns beyond a table's own are -1."""
    sizes, cells = inputs["sizes"], np.split(inputs["shares"], inputs["ends"][:-1])
    found = []
    for places, shares, deviation in zip(inputs["columns"], cells, inputs["deviations"], strict=True):
        columns = tuple(places[places >= 0].tolist())
        found.append((columns, shares.reshape([sizes[c] for c in columns]), float(deviation)))
    return found


def _tree(tables: Sequence[Table]) -> list[Table]:
    """All single columns, and the pairs of the tree that is farthest from independent, noise taken off."""
    alone = {columns[0]: shares for columns, shares, _ in tables if len(columns) == 1}
    graph = nx.Graph()
    for columns, shares, deviation in tables:
        if len(columns) == 2:
            apart = np.abs(shares - np.outer(alone[columns[0]], alone[columns[1]])).sum()
            graph.add_edge(*columns, weight=apart - np.sqrt(2 / np.pi) * deviation * shares.size)
    kept = {tuple(sorted(edge)) for edge in nx.maximum_spanning_tree(graph).edges}
    return [table for table in tables if len(table[0]) == 1 or table[0] in kept]
