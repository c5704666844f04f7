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

check AfterARebootTheNumbersGoOnWithoutAHole
check StateAndWitnessBelongToTheDaemonAlone
finish
