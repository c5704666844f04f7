#!/bin/bash
# After a reboot of a system with the packages. Runs inside of the container.
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

AfterARebootTheSocketIsThereAndTheNumbersGoOn() {
  equal "$(property ActiveState seqd.socket)" active "the socket"
  equal "$(seqctl next orders)" $(($(cat /exchange/last-id) + 1)) "the ID after a reboot"
  holds "$(journalctl --sync; journalctl --no-pager -b -o verbose -u seqd.service)" "STATE_HOW=clean$" "the journal"
}

check AfterARebootTheSocketIsThereAndTheNumbersGoOn
finish
