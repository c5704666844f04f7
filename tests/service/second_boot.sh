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
}

StateAndWitnessBelongToTheDaemonAlone() {
  equal "$(stat -c '%U %a' /var/lib/seqd)" "seqd 700" "the state directory"
  equal "$(stat -c '%U %a' /run/seqd)" "seqd 700" "the runtime directory"
}

check AfterARebootTheNumbersGoOnWithoutAHole
check StateAndWitnessBelongToTheDaemonAlone
finish
