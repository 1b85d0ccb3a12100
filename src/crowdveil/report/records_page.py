"""The page that compares synthetic records with real ones, for readers who may see both."""

from __future__ import annotations

import numpy as np

from crowdveil.evaluation.association import mean_difference
from crowdveil.evaluation.comparison import Comparison
from crowdveil.report.drawing import alone
from crowdveil.report.page import environment
from crowdveil.report.record_charts import most_frequent, shade_map, side_by_side

PAIRS_SHOWN = 10


def comparison_page(comparison: Comparison) -> str:
    """The page with all figures and charts of a comparison."""
    names, figures = comparison.real.schema.names, comparison.to_dict()
    real, synthetic = comparison.associations
    distances = comparison.pair_distances()
    apart = ~np.eye(len(names), dtype=np.bool_)  # every column depends fully on itself
    strongest = max(float(real[apart].max(initial=0.0)), float(synthetic[apart].max(initial=0.0)))
    maps = [
        ("Total variation distance of each pair; of one column on the diagonal", distances, None),
        ("Cramér's V of each pair: real records", real, strongest),
        ("Cramér's V: synthetic records", synthetic, strongest),
        ("Cramér's V: absolute difference", abs(real - synthetic), strongest),
    ]
    return (
        environment()
        .get_template("records.html")
        .render(
            figures=figures,
            worst=sorted(figures["pairs"], key=lambda pair: -pair["tvd"])[:PAIRS_SHOWN],
            difference=mean_difference(real, synthetic),
            maps=[(caption, shade_map(names, shares, caption, top)) for caption, shares, top in maps],
            columns=list(zip(names, _column_pictures(comparison), strict=True)),
        )
    )


def comparison_picture(comparison: Comparison) -> str:
    """The distances of pairs of columns, as a separate SVG file."""
    caption = "PRIVATE (looks at real records): total variation distance of pairs of columns"
    return alone(shade_map(comparison.real.schema.names, comparison.pair_distances(), caption))


def _column_pictures(comparison: Comparison) -> list[str]:
    """Shares of each column's values, all along the same axis."""
    bars = []
    for place, column in enumerate(comparison.real.schema.columns):
        real, synthetic = (
            records.counts(place) / len(records) for records in (comparison.real, comparison.synthetic)
        )
        bars.append(most_frequent(column.labels(), real, synthetic))
    top = max((float(max(real.max(), synthetic.max())) for _, real, synthetic in bars), default=1.0)
    letters = max((len(label) for labels, _, _ in bars for label in labels), default=0)
    return [side_by_side(labels, real, synthetic, top, letters) for labels, real, synthetic in bars]
