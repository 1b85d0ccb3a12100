"""The page that compares synthetic records with real ones, for readers who may see both."""

from __future__ import annotations

from crowdveil.evaluation.association import mean_difference
from crowdveil.evaluation.comparison import Comparison
from crowdveil.report.charts import alone
from crowdveil.report.record_charts import shade_map, side_by_side
from crowdveil.report.release_pages import environment

PAIRS_SHOWN = 10


def comparison_page(comparison: Comparison) -> str:
    """The page with all figures and charts of a comparison."""
    names, figures = comparison.real.schema.names, comparison.to_dict()
    real, synthetic = comparison.associations
    maps = [
        ("Total variation distance of each pair; of one column on the diagonal", comparison.pair_distances()),
        ("Cramér's V of each pair: real records", real),
        ("Cramér's V: synthetic records", synthetic),
        ("Cramér's V: absolute difference", abs(real - synthetic)),
    ]
    return (
        environment()
        .get_template("records.html")
        .render(
            figures=figures,
            worst=sorted(figures["pairs"], key=lambda pair: -pair["tvd"])[:PAIRS_SHOWN],
            difference=mean_difference(real, synthetic),
            maps=[(caption, shade_map(names, shares, caption)) for caption, shares in maps],
            columns=[(name, _column_picture(comparison, place)) for place, name in enumerate(names)],
        )
    )


def comparison_picture(comparison: Comparison) -> str:
    """The distances of pairs of columns, as a separate SVG file."""
    caption = "PRIVATE (looks at real records): total variation distance of pairs of columns"
    return alone(shade_map(comparison.real.schema.names, comparison.pair_distances(), caption))


def _column_picture(comparison: Comparison, place: int) -> str:
    labels = comparison.real.schema.columns[place].labels()
    real, synthetic = (
        records.counts(place) / len(records) for records in (comparison.real, comparison.synthetic)
    )
    return side_by_side(labels, real, synthetic)
