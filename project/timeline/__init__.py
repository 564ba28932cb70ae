"""The pictures of the home page: the last and the next 24 hours, drawn on the server as SVG.

`reading` asks the rows, `layout` and `charts` turn rows into shapes without asking anything, and the templates under
admin/home/ draw the shapes.
"""

from datetime import datetime
from typing import Any

from project.timeline.charts import charts_of
from project.timeline.layout import timeline_of
from project.timeline.reading import read
from project.timeline.window import window_around

__all__ = ["pictures"]


def pictures(now: datetime, *, with_quotas: bool) -> dict[str, Any]:
    """Return the timeline and the charts beside it, by the viewer's clocks, with a fixed number of queries.

    Args:
        with_quotas: whether the viewer may see quotas, and so their resets.
    """
    window = window_around(now)
    rows = read(window, with_quotas=with_quotas)
    return {
        "timeline": timeline_of(rows, window),
        "charts": charts_of(rows, window),
    }
