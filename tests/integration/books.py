"""The books of one sequence, held against what clients received: by `audit`, `gaps` and `explain` every ID is issued, available,
a gap, or in a lease that was given up and that the store knows of. Nothing is allowed for."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, Iterable, List, Optional, Set

import msgpack

from accounting import Ledger, journalled_gaps
from servers.patience import PROGRAM_SECONDS

AT_ONCE = 50  # below what the daemon lets wait
# Runs where the daemon runs, which may see other file systems.
LOOK_UP = """
import json, sqlite3, sys
database = sqlite3.connect(sys.argv[1], timeout=10)
query = "SELECT first, after FROM lease WHERE token = ? AND state = 'granted'"
print(json.dumps({token: database.execute(query, (bytes.fromhex(token),)).fetchone() for token in sys.argv[2:]}))
"""


def given_up_leases(stderr: Path, name: str) -> List[str]:
    """The tokens of the leases whose outcome the journal says is not known."""
    return re.findall(r'gap_untraceable: a lease of at most \d+ IDs of "' + re.escape(name) + r'" .* lease=([0-9a-f]{32})',
                      stderr.read_text(errors="replace"))


def ids_of_gaps(client, name: str) -> List[int]:
    ids: List[int] = []
    after = 0
    while True:
        page = client.call("gaps", name, {"after": after, "limit": 1000})
        for gap in page["gaps"]:
            after = gap["number"]
            if gap["first"] is not None:
                ids.extend(range(gap["first"], gap["first"] + gap["count"]))
        if not page["more"]:
            assert page["dropped_ids"] == 0
            return ids


def explained(client, name: str, numbers: Iterable[int]) -> Dict[int, str]:
    """What `explain` answers for each of them."""
    wanted = list(numbers)
    answers = {}
    for at in range(0, len(wanted), AT_ONCE):
        part = wanted[at:at + AT_ONCE]
        client.send(b"".join(msgpack.packb([0, number, "explain", [name, number]]) for number in part))
        answers.update({number: client.result(number)["answer"] for number in part})
    return answers


class Books:
    """Of a sequence with an embedded store that nobody else uses."""

    def __init__(self, name: str, store: Path):
        self.name = name
        self.store = store  # the file, as the daemon sees it
        self.given_up: Dict[str, Optional[range]] = {}

    def note(self, daemon) -> None:
        """After each start, because the store keeps the newest tokens only: where the leases are that were given up."""
        new = [token for token in given_up_leases(daemon.stderr_file, self.name) if token not in self.given_up]
        if not new:
            return
        found = subprocess.run([*daemon.prefix, sys.executable, "-c", LOOK_UP, str(self.store), *new], check=True, timeout=PROGRAM_SECONDS,
                               capture_output=True, text=True).stdout
        self.given_up.update((token, range(*ids) if ids else None) for token, ids in json.loads(found).items())

    def untraced(self) -> Set[int]:
        return {number for ids in self.given_up.values() if ids is not None for number in ids}

    def unaccounted(self, daemon, ledger: Ledger, in_flight: int) -> int:
        """IDs that nobody can say anything about; and every sum has to come out. `in_flight`: replies that may have been lost."""
        self.note(daemon)
        assert "everything agrees" in daemon.seqctl("audit", self.name).stdout
        with daemon.connect(30) as client:
            ledger.add([client.next(self.name, timeout_ms=20_000)])
            lost = self.gaps(daemon, client)
            untraced = self.untraced()
            assert not any(ledger.seen[number] for number in untraced if number < len(ledger.seen))
            before = None
            while (audit := client.call("audit", self.name)) != before:  # the next range may just be fetched
                before = audit
                end = audit["store"]["next"]
                answers = explained(client, self.name, (number for number in ledger.missing(1, end)
                                                        if number not in lost and number not in untraced))
        available = [number for number, answer in answers.items() if answer == "available"]
        unread = [number for number, answer in answers.items() if answer == "issued"]
        assert len(unread) <= in_flight, f"{len(unread)} issued IDs reached nobody, {in_flight} replies were under way"
        assert audit["good"] and audit["unaccounted"] == 0, audit["problems"]
        leased = end - 1 - len(untraced)
        # Where the power is cut again before the log has a gap of the journal, its lease may be given up afterwards.
        lost -= untraced
        assert (audit["leased"], audit["issued"], audit["available"], audit["gaps"]) == \
            (leased, leased - len(lost) - len(available), len(available), len(lost)), \
            f"the next ID is {end}; given up: {self.given_up}; {len(untraced)} of these IDs in the store, {len(unread)} unread; {audit}"
        return len(answers) - len(available) - len(unread)

    def gaps(self, daemon, client) -> Set[int]:
        """As `gaps` lists them, which is what the journal said."""
        listed = ids_of_gaps(client, self.name)
        lost = set(listed)
        assert len(lost) == len(listed), "an ID is a gap twice"
        assert lost == {number for gap in journalled_gaps(daemon.stderr_file, self.name) for number in gap}
        return lost
