"""The table of tails on the page: how late the latest answers are while something else goes on in the daemon (tails.py)."""

import statistics
from typing import List, Tuple

from figures import short, spread

QUANTILES = ("p50_us", "p99_us", "p999_us")
MOST_RATIO = 1.5


def verdict(side: dict) -> Tuple[float, str]:
    """p999 beside that of the undisturbed daemon, the median of the rounds; and a word, none for that daemon itself."""
    if not side["ratios"]:
        return 1.0, ""
    ratio = statistics.median(side["ratios"])
    return ratio, "reached" if ratio <= MOST_RATIO else "MISSED"


def said(tails: dict) -> str:
    return ("Measured by `make bench-tails`: daemons that differ in one thing, under the same load one after the other (8 connections, one "
            f"request in flight on each), {tails['rounds']} rounds of {tails['seconds']:g} s, each beside one of the undisturbed daemon. "
            f"seqd {tails['seqd']}; load average before: {tails['load_before']}. The goal is a p999 of at most {MOST_RATIO:g} times that of "
            "the undisturbed daemon, as the median of the rounds. That it happened was checked in every round.")


def lines(tails: dict) -> List[List[str]]:
    """The head and the rows."""
    found = [["meanwhile", "happened", "p50, µs", "p99, µs", "p999, µs", "p999 / undisturbed", "verdict"]]
    for side in tails["sides"]:
        ratio, word = verdict(side)
        cells = []
        for quantile in QUANTILES:
            lowest, middle, highest = spread(side["results"], quantile).split(" / ")
            cells.append(f"**{middle}** ({lowest} - {highest})")
        happened = f"{short(sum(side['happened']))} {side['happens']}" if side["happens"] else ""
        found.append([side["title"], happened, *cells, f"{ratio:.2f}x" if word else "", word])
    return found
