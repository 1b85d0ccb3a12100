"""The page that shows how close synthetic records come to real ones, for whoever may see both."""

from __future__ import annotations

from crowdveil.evaluation.association import mean_difference
from crowdveil.evaluation.comparison import Comparison
from crowdveil.report.charts import alone
from crowdveil.report.record_charts import shade_map, side_by_side
from crowdveil.report.release_pages import environment

PAIRS_SHOWN = 10


def comparison_page(found: Comparison) -> str:
    """All figures and pictures."""
    names, told = found.real.schema.names, found.to_dict()
    real, synthetic = found.associations
    maps = [
        ("Total variation distance of each pair; of one column on the diagonal", found.pair_distances()),
        ("Cramér's V of each pair: real records", real),
        ("Cramér's V: synthetic records", synthetic),
        ("Cramér's V: absolute difference", abs(real - synthetic)),
    ]
    return (
        environment()
        .get_template("records.html")
        .render(
            told=told,
            worst=sorted(told["pairs"], key=lambda pair: -pair["tvd"])[:PAIRS_SHOWN],
            difference=mean_difference(real, synthetic),
            maps=[(caption, shade_map(names, shares, caption)) for caption, shares in maps],
            columns=[(name, _column_picture(found, place)) for place, name in enumerate(names)],
        )
    )


def comparison_picture(found: Comparison) -> str:
    """The distances of pairs alone, as a file of its own."""
    caption = "PRIVATE (looks at real records): total variation distance of pairs of columns"
    return alone(shade_map(found.real.schema.names, found.pair_distances(), caption))


def _column_picture(found: Comparison, place: int) -> str:
    labels = found.real.schema.columns[place].labels()
    real, synthetic = (records.counts(place) / len(records) for records in (found.real, found.synthetic))
    return side_by_side(labels, real, synthetic)
