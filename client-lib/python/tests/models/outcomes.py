"""What became of rows that were written in one way. Runs in a process of its own, with one version of a framework."""

import json
import sys

import seqd

EACH, NONE, REFUSED = "a number each", "no number", "refused"


def judge(values):
    """values: of one column of all rows that the way wrote."""
    if values and all(value in (None, "") for value in values):
        return NONE
    if values and None not in values and "" not in values and len(set(values)) == len(values):
        return EACH
    return f"{len(values)} rows have {values}"


def observe(ways, refusals, version):
    """Prints {way: [result, text]} of all of them. ways: functions that return the values of each
    column, or the result itself; refusals: [(an error of the
    framework, who refuses)], the narrowest first."""
    seen = {"version": [version, ""]}
    for name, way in ways.items():
        try:
            found = way()
            results = {found} if isinstance(found, str) else {judge(values) for values in found}
            seen[name] = [results.pop() if len(results) == 1 else " and ".join(sorted(results)), ""]
        except seqd.SeqdError as error:
            seen[name] = [REFUSED, error.text]
        except Exception as error:  # pylint: disable=broad-except
            refused = (f"refused by {who}" for kind, who in refusals if isinstance(error, kind))
            seen[name] = [next(refused, type(error).__name__), str(error)]
    json.dump(seen, sys.stdout)


def collector():
    """A dictionary, and a decorator that puts functions into it by the name of a way."""
    ways = {}

    def way(name):
        def put(function):
            assert name not in ways
            ways[name] = function
            return function
        return put

    return ways, way
