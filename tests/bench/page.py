#!/usr/bin/python3
"""`make bench-page`: daemon/doc/PERFORMANCE.md and the plots in daemon/doc/figures, made of the figures of one `make bench`.

    page.py FIGURES TAILS    writes them, and keeps the figures beside the plots; TAILS: of `make bench-tails`
    page.py --check    whether they are what the figures beside the plots say; measures nothing
"""

import json
import re
import sys
from pathlib import Path
from typing import Dict, List

import plots
import tails_table
from figures import has, median, require, short, spread, times
from losses import FIELDS, comparisons, losses, middle_unused, worst
from rows import BLOCK_ROWS, BY_KEY, DAEMON_ROWS, HOST_ROWS, LIBRARY_ROWS, RANGE_ROWS, ROWS, SEQUENCE_ROWS, SIDES, SPLIT_ROWS, THREAD_ROWS, Row
from verdicts import verdicts

DOCUMENTS = Path(__file__).resolve().parents[2] / "daemon" / "doc"
PAGE, FOLDER, FIGURES, TAILS = "PERFORMANCE.md", "figures", "latest.json", "tails.json"
IDLE_LOAD = 0.5  # what a machine with nothing else to do may have
AGAIN = "make bench-page FIGURES=daemon/doc/figures/latest.json TAILS=daemon/doc/figures/tails.json"

INTRODUCTION = """# Performance

seqd and other sources of IDs, measured in one run on one machine. `make bench` measures,
`make bench-page` writes this page and its plots from [the figures](figures/latest.json); those of the
[tails](#tails) are [apart](figures/tails.json). Do not edit it: `make lint` compares the page with
the figures.
"""

METHOD = """## Method

- A *row* is one load: connections, depth, IDs a request, placement. A *peer* is another source of
  IDs. The *sides* of a row are seqd and the peers, as the row measures them.
- A *round* measures each row once; within a row the sides follow each other, every second round in
  reverse. So all sides see the same minutes of the machine. Rounds: {rounds}, of {seconds:g} s for each
  measurement after a warm-up of 0.1 s (0.2 s with the load generator, 1 s for CosId).
- The tables show the medians of the rounds, with the lowest and the highest in parentheses. In the
  goals a ratio is the median of the ratios of the rounds; elsewhere it is the ratio of the medians.
- Placement: the rows name the CPUs. All threads and processes of a server are placed. CosId is
  never placed, since its JVM compiles and leases on threads of its own.
- "Survives" says after what end of the side no number comes twice. seqd ran as shipped, with its
  log and the embedded store; Redis without persistence; PostgreSQL with the settings of its package
  (fsync on); mongod as a standalone server, with write concern majority and journal; CosId with the
  default write concern.
- Rows named by connections and depth, sequences or hosts (`8x16`: 8 connections, 16 requests in
  flight on each) are measured by one load generator that speaks both wires
  (tests/tools/load.cc). The latency is that of a request.
- Rows named `library`, `threads` or `range` are measured by programs that link the library of the
  side (tests/bench/peers), one thread a connection: libseqd, hiredis, libpq, libmongoc, LMDB. Above
  depth 1 the latency is that of all requests that were sent together. LMDB and flock have no
  server and no pipelining.
- "seqd, blocks" takes IDs inside the program: `seqd_blocks_next` of all threads on one handle, of a
  sequence with `blocks = true` and leases and `max_unsynced` for hundreds of millions of IDs a
  second. Its rate is measured without a clock at each ID; then, as long, its latency with one,
  which is in it. In the rows named `block` the length of its blocks has a bound, which libseqd sets
  itself otherwise, and this side is what is compared with the peers; elsewhere ordinary requests
  are.
- "seqd, busy_poll" is a daemon with `busy_poll = "10ms"` and a program with `busy_poll_us`: each
  keeps its CPU busy while it waits for the other.
- CosId takes IDs one by one in its own process, from segments as long as the row's blocks (100 in
  the other rows). Its latency is not measured: reading a clock takes longer than an ID.
- In the rows of hosts, seqd is that many daemons that lease from one counter of mongod, each with
  one connection at depth 16. The peers are that many connections to one server, Redis at depth 16
  and mongod at depth 1, which has no pipelining.
"""


def wrapped(text: str) -> str:
    """Lines of at most 100 bytes."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= 100:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines)


def table(head: List[str], rows: List[List[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows]) + "\n"


def cell(measured: list, field: str) -> str:
    if not has(measured, field):
        return "-"
    lowest, _, highest = spread(measured, field).split(" / ")
    return f"**{short(median(measured, field))}** ({lowest} - {highest})"


def measured_table(results: dict, rows: List[Row]) -> str:
    lines = []
    for row in rows:
        ours = median(results[row.key][row.ours], "ids_per_s")
        for place, side in enumerate(row.sides):
            found = results[row.key][side]
            rate = "requests_per_s" if side == "floor" else "ids_per_s"
            ratio = "" if side in (row.ours, "floor") else times(ours / median(found, rate))
            lines.append([f"`{row.key}`" if place == 0 else "", SIDES[side].title, cell(found, rate), cell(found, "p50_us"),
                          cell(found, "p99_us"), ratio])
    return table(["row", "side", "IDs/s", "p50, µs", "p99, µs", "seqd / side"], lines)


def waits(results: dict, audit: dict) -> str:
    """What an ID of a block takes, and how long the latest of them wait, beside ordinary requests."""
    lines = []
    for row in [BY_KEY["library-1"], *THREAD_ROWS, *BLOCK_ROWS]:
        for side in ("seqd-blocks", "cosid", "seqd"):
            if side not in row.sides:
                continue
            found = results[row.key][side]
            taken = short(row.connections * 1e9 / median(found, "ids_per_s"))
            lines.append([f"`{row.key}`", SIDES[side].title, taken, *(cell(found, f"{one}_us") for one in ("p50", "p99", "p999"))])
    said = ("An ID of a block is taken without a request, until the block is used up: the next one is asked for when half of it is, "
            "and who needs it before it is there waits for it. Latencies have reading a clock in them. In this run "
            f"{short(audit['issued'])} IDs were issued from blocks and as ordinary ones of their sequence; "
            f"{audit['gaps']:,} are gaps, {audit['out']:,} were out at its end.")
    return wrapped(said) + "\n\n" + table(["row", "side", "ns an ID, in each thread", "p50, µs", "p99, µs", "p999, µs"], lines)


def legend(rows: List[Row]) -> str:
    return "\n".join(f"- `{row.key}`: {row.title()}, {row.placement()}" for row in rows) + "\n"


# What a reader asks first: a load in words, its row, and the peer to put seqd beside.
SUMMARY = (("one ID at a time, by library, on one CPU", "library-1", "seqd", ("redis", "postgresql-cache1", "mongod")),
           ("the same, program and server on a CPU each", "library-split", "seqd", ("redis",)),
           ("8 connections, 16 requests in flight on each", "8x16", "seqd", ("redis",)),
           ("the same, of 10,000 sequences", "sequences-10000", "seqd", ("redis",)),
           ("32 threads, a connection each", "threads-32", "seqd", ("redis", "postgresql-cache100")),
           ("8 hosts on one counter of mongod", "hosts-8", "seqd", ("redis", "mongod")),
           ("blocks: IDs taken inside the program", "library-1", "seqd-blocks", ("cosid",)))


def summary(results: dict) -> str:
    def rate(row: str, side: str) -> str:
        return f"{short(median(results[row][side], 'ids_per_s'))}/s"

    rows = [[what, rate(row, ours), "; ".join(f"{SIDES[peer].title} {rate(row, peer)}" for peer in peers)]
            for what, row, ours, peers in SUMMARY]
    cost = ("Medians of IDs/s; Redis ran without persistence. What seqd costs: IDs of hosts interleave, and a power loss makes the "
            "available IDs a gap. [Where seqd loses](#where-seqd-loses) has all that it loses, [Goals](#goals) what it should reach.")
    return "## Summary\n\n" + table(["load", "seqd", "beside"], rows) + "\n" + wrapped(cost) + "\n"


def machine(figures: dict) -> str:
    rows = [["CPU", figures["cpu"]], ["cores", str(figures["cpus"])], ["memory", f"{figures['memory_gib']} GiB"],
            ["kernel", f"Linux {figures['kernel']}"],
            ["load average before the run", str(figures["load_before"])], *([name, version] for name, version in figures["versions"].items())]
    disturbed = ("\n" + wrapped(f"Other programs ran on the machine: its load average was {figures['load_before']} before the run. "
                                "So compare these figures only with each other, and measure again on an idle machine.") + "\n"
                 if figures["load_before"] > IDLE_LOAD else "")
    return "## Machine and versions\n\n" + table(["what", "which"], rows) + disturbed


def goals(figures: dict) -> str:
    judged = verdicts(figures["results"], figures["memory_kib"]["end"])
    missed = [goal for goal, _, word in judged if word == "MISSED"]
    summary = f"{len(judged) - len(missed)} of {len(judged)} goals are reached or tied. " + (
        "Missed: " + "; ".join(missed) + "." if missed else "None is missed.")
    return "## Goals\n\n" + wrapped(summary) + "\n\n" + table(["goal", "measured", "verdict"], [list(one) for one in judged])


def where_seqd_loses(figures: dict) -> str:
    results, rounds = figures["results"], figures["rounds"]
    found, everything = losses(results), comparisons(results)
    said = (f"seqd's median is behind that of a peer in {len(found)} of {len(everything)} comparisons of IDs/s, p50 and p99. "
            "The largest factors of IDs/s: " + "; ".join(
                f"{SIDES[one.peer].title} {times(one.factor)} in `{one.row}` (survives {SIDES[one.peer].survives})"
                for one in worst(found)) + ". ")
    if any(one.peer == "cosid" for one in found):
        said += (f"CosId had {short(middle_unused(results, 'library-1'))} IDs leased and unissued when its program ended "
                 "(median of `library-1`); they are lost. seqd loses none at a stop or a crash. ")
    said += "Every row in which seqd is behind:"
    rows = [[f"`{one.row}`", FIELDS[one.field], SIDES[one.peer].title, short(one.ours), short(one.theirs), times(one.factor),
             f"{one.rounds} of {rounds}", SIDES[one.peer].survives] for one in found]
    return ("## Where seqd loses\n\n" + wrapped(said) + "\n\n"
            + table(["row", "measure", "peer", "seqd", "the peer", "the peer is better by", "in rounds", "the peer survives"], rows))


def section(results: dict, title: str, names: List[str], rows: List[Row]) -> str:
    pictures = [f"![{title}: {name}]({FOLDER}/{name}.svg)\n" for name in names]
    return "\n".join([f"## {title}\n", *pictures, legend(rows), measured_table(results, rows)])


def tails_section(tails: dict) -> str:
    head, *rows = tails_table.lines(tails)
    return "## Tails\n\n" + wrapped(tails_table.said(tails)) + "\n\n" + table(head, rows)


def page(figures: dict, tails: dict) -> str:
    results = figures["results"]
    one = [row for row in DAEMON_ROWS if row.connections == 1]
    connections = [BY_KEY[key] for key in plots.SERIES["connections"][0]]
    depths = [row for row in DAEMON_ROWS if row not in one and (row not in connections or row.key == "8x1")]
    return "\n".join([
        INTRODUCTION, summary(results), machine(figures), METHOD.format(**figures), goals(figures), where_seqd_loses(figures),
        section(results, "One ID at a time, by library", [plots.BARS], LIBRARY_ROWS[:1] + SPLIT_ROWS),
        section(results, "One connection", [], one),
        section(results, "Requests in flight", ["depth", "depth-library"], depths + LIBRARY_ROWS[1:]),
        section(results, "Connections", ["connections", "threads"], connections + THREAD_ROWS),
        section(results, "IDs a request", ["range"], RANGE_ROWS),
        section(results, "Blocks", ["block"], BLOCK_ROWS), waits(results, figures["blocks"]),
        section(results, "Sequences", ["sequences"], SEQUENCE_ROWS),
        section(results, "Hosts on one counter", ["hosts"], HOST_ROWS), tails_section(tails),
    ])


def made_of(text: str, tails_text: str) -> Dict[str, str]:
    """Every file below daemon/doc that these figures make, with its content."""
    figures = json.loads(text)
    missing = require(figures["results"], ROWS)
    if missing:
        sys.exit(f"bench-page: {missing}")
    try:
        text_of_page = page(figures, json.loads(tails_text))
    except KeyError as error:
        sys.exit(f"bench-page: the figures do not have {error}: measure with `make bench`")
    pictures = plots.all_plots(figures["results"])
    return {PAGE: text_of_page, f"{FOLDER}/{FIGURES}": text, f"{FOLDER}/{TAILS}": tails_text, **{f"{FOLDER}/{name}": content for name, content in pictures.items()}}


NUMBER = re.compile(r"-?\d+\.\d+")


def same_plot(made: str, kept: str) -> bool:
    """But for the last digit of coordinates, which differs between machines, and the names of clip paths, which are digests of them."""
    texts = [re.sub(r"\bp[0-9a-f]{10}\b", "clip", text) for text in (made, kept)]
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in texts]
    same_words = NUMBER.sub("", texts[0]) == NUMBER.sub("", texts[1])
    return same_words and all(abs(one - other) < 1.5e-6 for one, other in zip(*numbers))


def is_as_kept(name: str, content: str) -> bool:
    kept = (DOCUMENTS / name).read_text(encoding="utf-8")
    return same_plot(content, kept) if name.endswith(".svg") else content == kept


def check() -> int:
    folder = DOCUMENTS / FOLDER
    for name in (FIGURES, TAILS):
        if not (folder / name).exists():
            sys.exit(f"figures: {name} is missing: make bench bench-tails bench-page")
    made = made_of(*((folder / name).read_text(encoding="ascii") for name in (FIGURES, TAILS)))
    there = {f"{FOLDER}/{path.name}" for path in folder.iterdir()} | {PAGE}
    wrong = [name for name in sorted(there | made.keys())
             if name not in made or name not in there or not is_as_kept(name, made[name])]
    for name in wrong:
        print(f"daemon/doc/{name} is not what tests/bench/page.py makes of the figures: {AGAIN}")
    print(f"figures: {len(wrong)} complaints" if wrong else "figures: good")
    return 1 if wrong else 0


def main(arguments: List[str]) -> int:
    if arguments == ["--check"]:
        return check()
    sources = [Path(argument) for argument in arguments]
    for source in sources:
        if not source.exists():
            sys.exit(f"bench-page: there is no {source}: make bench bench-tails, or {AGAIN}")
    (DOCUMENTS / FOLDER).mkdir(exist_ok=True)
    for name, content in made_of(*(source.read_text(encoding="ascii") for source in sources)).items():
        (DOCUMENTS / name).write_text(content, encoding="utf-8")
    print(f"bench-page: daemon/doc/{PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
