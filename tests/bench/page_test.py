#!/usr/bin/python3
"""The page says where seqd is behind, and only there; figures that lack a row are refused with words."""

import unittest

from figures import require, short, spread, times
from losses import comparisons, losses
from page import same_plot, where_seqd_loses, wrapped
from plots import all_plots
from rows import ROWS
from verdicts import verdicts


def results(**behind) -> dict:
    """Of two rounds in which all sides are equal, but for the peers named: those have twice the IDs/s in every row."""
    def one(side: str) -> dict:
        rate = 2000 if side in behind else 1000
        return {"requests_per_s": rate, "ids_per_s": rate, "p50_us": 10, "p99_us": 20, "p999_us": 30, "unused": 5}
    return {row.key: {side: [one(side), one(side)] for side in row.sides} for row in ROWS}


class PageTest(unittest.TestCase):
    def test_plots_are_the_same_but_for_what_differs_between_machines(self):
        plot = '<path d="M 312.015937 9.72" clip-path="url(#pb6f9b80259)"/> 5 rounds'
        self.assertTrue(same_plot(plot, plot))
        self.assertTrue(same_plot(plot, plot.replace("312.015937", "312.015938").replace("pb6f9b80259", "p7edaa8f47d")))
        for other in (plot.replace("312.015937", "312.015940"), plot.replace("5 rounds", "6 rounds"), plot.replace(" 9.72", ""), plot + " 1.5"):
            self.assertFalse(same_plot(plot, other), other)

    def test_equal_sides_are_no_loss(self):
        self.assertEqual(losses(results()), [])

    def test_peer_ahead_is_named_in_each_of_its_rows(self):
        found = losses(results(lmdb=True))
        self.assertEqual({one.row for one in found}, {row.key for row in ROWS if "lmdb" in row.sides})
        self.assertEqual({(one.peer, one.field, one.factor, one.rounds) for one in found}, {("lmdb", "ids_per_s", 2.0, 2)})
        said = where_seqd_loses({"results": results(lmdb=True), "rounds": 2})
        self.assertIn(f"in {len(found)} of {len(comparisons(results()))} comparisons", " ".join(said.split()))
        for one in found:
            self.assertIn(f"| `{one.row}` | IDs/s | LMDB |", said)

    def test_lower_latency_of_a_peer_is_a_loss(self):
        made = results()
        made["8x1"]["redis"][0]["p99_us"] = made["8x1"]["redis"][1]["p99_us"] = 10
        self.assertEqual([(one.row, one.field, one.factor) for one in losses(made)], [("8x1", "p99_us", 2.0)])

    def test_row_without_a_side_is_refused(self):
        made = results()
        made["hosts-8"]["mongod"] = []
        self.assertIn("no mongod in the row hosts-8", require(made, ROWS))
        self.assertIsNone(require(results(), ROWS))

    def test_missed_goal_is_called_so(self):
        words = {goal: word for goal, _, word in verdicts(results(redis=True), 25 * 1024)}
        self.assertEqual(words["8x1: at least 1.3x Redis"], "MISSED")
        self.assertEqual(words["resident memory after the run at most 24 MiB"], "MISSED")

    def test_plots_are_the_same_each_time(self):
        self.assertEqual(all_plots(results()), all_plots(results()))

    def test_numbers_are_short(self):
        self.assertEqual([short(value) for value in (0.5, 12.34, 999.7, 1500, 2.5e6, 1.2e9)],
                         ["0.5", "12.3", "1 k", "1.5 k", "2.5 M", "1.2 G"])
        self.assertEqual([times(factor) for factor in (0.12345, 2, 6213.4)], ["0.123x", "2x", "6,213x"])
        self.assertEqual(spread([{"p50_us": 3}, {"p50_us": 1}, {"p50_us": 2}], "p50_us"), "1 / 2 / 3")

    def test_long_text_is_wrapped(self):
        self.assertTrue(all(len(line) < 100 for line in wrapped("word " * 200).splitlines()))


if __name__ == "__main__":
    unittest.main()
