"""What the service counts about itself: routes, statuses and times; never a campaign or a person."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, PlatformCollector, ProcessCollector

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)

REQUESTS = Counter(
    "crowdveil_requests_total",
    "Requests by route and status.",
    ["method", "route", "status"],
    registry=REGISTRY,
)
SECONDS = Histogram(
    "crowdveil_request_seconds",
    "How long requests took.",
    ["route"],
    buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    registry=REGISTRY,
)
REPORTS = Counter(
    "crowdveil_reports_total", "Reports by what became of them.", ["outcome"], registry=REGISTRY
)
