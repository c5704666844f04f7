#!/bin/bash
# After a reboot: the runtime directory and the witness are gone, the state was left clean. Runs inside of the container.
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

AfterARebootTheNumbersGoOnWithoutAHole() {
  [ ! -e /run/seqd ] || { echo "/run was not emptied"; return 1; }
  # The container keeps no dynamic state but the disk's.
  systemctl start seqd.socket
  equal "$(seqctl next orders)" $(($(cat /exchange/last-id) + 1)) "the ID after a reboot"
  # The witness is gone: the numbers could only go on because the stop had marked the state clean.
  holds "$(journalctl --sync; journalctl --no-pager -b -o verbose -u seqd.service)" "STATE_HOW=clean$" "the journal"
}

StateAndWitnessBelongToTheDaemonAlone() {
  equal "$(stat -c '%U %a' /var/lib/seqd)" "seqd 700" "the state directory"
  equal "$(stat -c '%U %a' /run/seqd)" "seqd 700" "the runtime directory"
}

inactive() { [ "$(property ActiveState)" = inactive ]; }

ADecommissionedDaemonIsNotStartedAgainAndLeavesItsStoreAlone() {
  local last
  last=$(seqctl next orders)
  ! seqctl decommission || { echo "without --yes it did something"; return 1; }
  equal "$(seqctl next orders)" $((last + 1)) "the ID after a look"
  seqctl decommission --yes
  wait_for 20 inactive
  equal "$(property ExecMainStatus)" 80 "the exit code"
  equal "$(property Result)" success "the unit's result"
  equal "$(ls /var/lib/seqd)" sequences.db "the state directory"
  # What this boot knows of sequences.db stays with it.
  equal "$(find /run/seqd -type f ! -name '*.commits')" "" "the runtime directory"
  # The socket starts another instance for the next client, over the same counters.
  [ "$(seqctl next orders)" -gt $((last + 1)) ] || { echo "an ID came again"; return 1; }
  holds "$(journalctl --sync; journalctl --no-pager -b -o cat -u seqd.service)" "this instance is decommissioned" "the journal"
}

check AfterARebootTheNumbersGoOnWithoutAHole
check StateAndWitnessBelongToTheDaemonAlone
check ADecommissionedDaemonIsNotStartedAgainAndLeavesItsStoreAlone
finish
