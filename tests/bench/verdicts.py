"""The goals, and whether the results reach them."""

import statistics
from typing import List, Tuple

from figures import ratios
from rows import BY_KEY

MEMORY_KIB = 24 * 1024
AT_LEAST = [  # row, how many times the IDs/s of Redis, a later goal
    ("8x1", 1.3, False), ("8x1", 1.5, True), ("8x16", 2.0, False), ("8x16", 2.5, True), ("8x128", 2.0, False), ("8x128", 5.0, True),
    ("8x128-identity", 2.0, False), ("library-1", 1.1, False), ("library-16", 2.0, False), ("library-128", 3.0, False),
]
NO_WORSE = ("1x1-same", "1x1-split", "1x1-unpinned", "1x16-unpinned")
POLLED_P50_US = 10
NS_AT_MOST = [("threads-1", 2.5), ("threads-2", 5.0)]  # row, nanoseconds of a thread for an ID of its blocks
P50_AT_MOST = [("1x1-same", "floor", 1.25), ("1x1-split", "floor", 1.25), ("1x1-split", "redis", 0.95)]
NAMES = {"redis": "Redis", "floor": "the bare ping-pong"}

Verdict = Tuple[str, str, str]  # the goal, what was measured, a word


def word(reached: bool) -> str:
    return "reached" if reached else "MISSED"


def no_worse(results: dict, key: str) -> Verdict:
    """Of five rounds of two equal things one is ahead in all of them once in sixteen times: less is no difference."""
    found = ratios(results[key])
    lowest, ratio, highest = min(found), statistics.median(found), max(found)
    return (f"{key}: no worse than Redis", f"{ratio:.3f}x Redis ({lowest:.2f}-{highest:.2f})",
            "a tie" if ratio < 1 <= highest else word(ratio >= 1))


def at_least(results: dict, key: str, factor: float, later: bool) -> Verdict:
    ratio = statistics.median(ratios(results[key]))
    peer = "hiredis on Redis" if BY_KEY[key].driver == "library" else "Redis"
    return f"{key}: at least {factor:g}x {peer}{' (later goal)' if later else ''}", f"{ratio:.2f}x", word(ratio >= factor)


def p50_at_most(results: dict, key: str, peer: str, factor: float) -> Verdict:
    ratio = statistics.median(ratios(results[key], "p50_us", peer))
    return f"{key}: p50 at most {factor:g}x {NAMES[peer]}", f"{ratio:.2f}x", word(ratio <= factor)


def ns_at_most(results: dict, key: str, most: float) -> Verdict:
    threads = BY_KEY[key].connections
    taken = threads * 1e9 / statistics.median(measured["ids_per_s"] for measured in results[key]["seqd-blocks"])
    return f"{key} with blocks: at most {most:g} ns an ID{' in each thread' if threads > 1 else ''}", f"{taken:.2f} ns", word(taken <= most)


def polled(results: dict, key: str, most: float) -> Verdict:
    found = statistics.median(measured["p50_us"] for measured in results[key]["seqd-polling"])
    return f"{key} with busy_poll: p50 at most {most} µs", f"{found:.1f} µs", word(found <= most)


def range_rate(results: dict, key: str, least: float) -> Verdict:
    found = statistics.median(measured["ids_per_s"] for measured in results[key]["seqd"])
    return f"range(100): at least {least / 1e6:.0f} M IDs/s", f"{found / 1e6:.1f} M", word(found >= least)


def verdicts(results: dict, memory_kib: int) -> List[Verdict]:
    """Of the rows that were measured."""
    goals = [
        *((no_worse, key) for key in NO_WORSE),
        *((at_least, *goal) for goal in AT_LEAST),
        *((p50_at_most, *goal) for goal in P50_AT_MOST),
        (polled, "library-split", POLLED_P50_US),
        (range_rate, "8x16-range100", 100e6),
        *((ns_at_most, *goal) for goal in NS_AT_MOST),
    ]
    return [
        *(judge(results, key, *bounds) for judge, key, *bounds in goals if key in results),
        ("resident memory after the run at most 24 MiB", f"{memory_kib / 1024:.1f} MiB", word(memory_kib <= MEMORY_KIB)),
    ]
