"""Arithmetic on the results: {row: {side: [measurement of each round]}}. A measurement has requests_per_s, ids_per_s, and of the
latency p50_us, p99_us and p999_us, unless the side measures none."""

import statistics
from typing import List, Optional

LATENCIES = ("p50_us", "p99_us", "p999_us")
KEPT = ("requests_per_s", "ids_per_s", *LATENCIES, "unused")


def column(measurements: list, field: str) -> List[float]:
    return [measurement[field] for measurement in measurements]


def has(measurements: list, field: str) -> bool:
    return bool(measurements) and all(field in measurement for measurement in measurements)


def median(measurements: list, field: str) -> float:
    return statistics.median(column(measurements, field))


def ratios(result: dict, field: str = "requests_per_s", peer: str = "redis") -> List[float]:
    """seqd in terms of the peer, round by round."""
    return [ours / theirs for ours, theirs in zip(column(result["seqd"], field), column(result[peer], field))]


def short(value: float) -> str:
    """Three digits, and a letter for the thousands."""
    for limit, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k"), (1, "")):
        if value >= 0.9995 * limit:
            return f"{value / limit:.3g}{letter}"
    return f"{value:.3g}"


def times(factor: float) -> str:
    return f"{factor:,.0f}x" if factor >= 1000 else f"{factor:.3g}x"


def spread(measurements: list, field: str) -> str:
    """minimum / median / maximum"""
    values = column(measurements, field)
    return " / ".join(short(value) for value in (min(values), statistics.median(values), max(values)))


def kept(measurement: dict) -> dict:
    return {field: measurement[field] for field in KEPT if field in measurement}


def require(results: dict, rows: list) -> Optional[str]:
    """What is missing of the rows, in words."""
    for row in rows:
        for side in row.sides:
            if not results.get(row.key, {}).get(side):
                return f"the figures have no {side} in the row {row.key}: measure with `make bench`"
    return None
