#!/bin/bash
# A host whose store is MongoDB, whose module is a package of its own: upgraded under load, upgraded to what would not start, and
# without the module. Runs inside of the container as root.
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"
# shellcheck source=tests/service/load.sh
source "$(dirname "$0")/load.sh"
# shellcheck source=tests/packages/apt.sh
source "$(dirname "$0")/apt.sh"

server_answers() { /usr/bin/python3 -c "import socket; socket.create_connection(('127.0.0.1', 27017), 5)" 2>/dev/null; }
failed() { [ "$(property ActiveState)" = failed ]; }
program() { readlink "/proc/$(property MainPID)/exe"; }
process() { property MainPID; }

# fresh DIRECTORY: as it would be where only these packages were ever installed.
fresh() {
  systemctl stop seqd.socket seqd.service 2>/dev/null || true
  apt purge 'seqd*' libseqd0 libseqd-dev
  rm -rf /var/lib/seqd /var/lib/seqd-mark /run/seqd
  apt install "/packages/$1"/*.deb
}

# host_before DATABASE: with the version before, and the store in MongoDB.
host_before() {
  fresh before
  apt install /packages/before-modules/seqd-mongodb_*.deb
  printf '[store.central]\ntype = "mongodb"\nuri = "mongodb://127.0.0.1:27017/"\ndatabase = "%s"\n[sequence_defaults]\nstore = "central"\n' "$1" >"$config"
  seqctl next orders
  equal "$(program)" /usr/sbin/seqd "the program that runs"
}

AServerRuns() {
  apt install --allow-downgrades /packages/before/*.deb /packages/before-modules/*.deb # with the libraries that it needs, too
  install -d /var/tmp/mongod
  systemd-run -q --unit=mongod /exchange/mongod --dbpath /var/tmp/mongod --bind_ip 127.0.0.1
  wait_for 60 server_answers
}

AnUpgradeRestartsTheDaemonOnce() {
  host_before first
  under_load first first_upgrade
  figures first
  seqctl audit first
}
first_upgrade() {
  local mark before
  before=$(process)
  mark=$(cursor)
  apt install /packages/now/*.deb /packages/modules/seqd-mongodb_*.deb
  more_ids "$1"
  [ "$(process)" != "$before" ] || { echo "the daemon was not restarted"; return 1; }
  equal "$(program)" /usr/sbin/seqd "the program that runs"
  equal "$(journal_since "$mark" -o cat JOB_TYPE=start JOB_TYPE=restart | grep -c '^Starting' || true)" 1 "the starts"
}

AnUpgradeThatWouldNotStartLeavesTheDaemonAsItIs() {
  local before
  host_before third
  before=$(process)
  printf '[limits]\nmax_depth = 8\n' >>"$config" # which there was once
  apt install /packages/now/*.deb /packages/modules/seqd-mongodb_*.deb
  cat /tmp/apt.said
  equal "$(process)" "$before" "the process after the upgrade"
  equal "$(program)" "/usr/sbin/seqd (deleted)" "the program that runs"
  holds "$(cat /tmp/apt.said)" "^seqd: THE RUNNING DAEMON \(process $before\) WAS NOT RESTARTED" "what the upgrade says"
  holds "$(cat /tmp/apt.said)" "^seqd:   .*max_depth: there is no such option" "what the upgrade says"
  seqctl next orders
  sed -i '/^\[limits\]$/,$d' "$config"
  systemctl restart seqd
  equal "$(program)" /usr/sbin/seqd "the program that runs"
  seqctl next orders
}

TheDropInOfTheModuleOpensTheNetwork() {
  equal "$(property PrivateNetwork)" no "the network"
  holds "$(property RestrictAddressFamilies)" "AF_INET6" "the families"
  systemd-analyze security --no-pager --threshold=14 seqd.service | tail -n 1
  holds "$(seqctl doctor)" "^ok +hardening .*with the network that a drop-in opens" "the doctor"
}

AStartWithoutTheModuleNamesThePackageAndClientsWaitForIt() {
  local mark client before
  before=$(process)
  mark=$(cursor)
  apt remove seqd-mongodb
  holds "$(cat /tmp/apt.said)" "^seqd-mongodb: the running daemon \(process $before\)" "what the removal says"
  equal "$(process)" "$before" "the process"
  seqctl next orders >/exchange/last-id
  if systemctl restart seqd; then echo "it started"; return 1; fi
  equal "$(property ExecMainStatus)" 78 "the exit code"
  holds "$(journal_since "$mark" -o cat)" "mongodb\.so.*apt install seqd-mongodb" "the journal"
  seqctl --timeout 300 next orders >/tmp/waited &
  client=$!
  wait_for 60 failed
  apt install /packages/modules/seqd-mongodb_*.deb
  wait "$client"
  equal "$(cat /tmp/waited)" $(($(cat /exchange/last-id) + 1)) "the ID of the client that waited"
}

shut_off() { [ "$(readlink "/proc/$(property MainPID)/ns/net")" != "$(readlink /proc/1/ns/net)" ]; }
ADaemonThatStartsBeforeSystemdKnowsTheDropInIsRestarted() {
  local before
  fresh now
  printf '[store.central]\ntype = "mongodb"\nuri = "mongodb://127.0.0.1:27017/"\ndatabase = "second"\n[sequence_defaults]\nstore = "central"\n' >"$config"
  dpkg --unpack /packages/modules/seqd-mongodb_*.deb
  systemctl start seqd
  shut_off || { echo "it has the network already"; return 1; }
  before=$(process)
  systemctl daemon-reload
  holds "$(seqctl doctor || true)" "^bad +network" "the doctor"
  dpkg --configure seqd-mongodb
  [ "$(process)" != "$before" ] || { echo "the daemon was not restarted"; return 1; }
  if shut_off; then echo "it still has no network"; return 1; fi
  equal "$(seqctl next orders)" 1 "the first ID"
  holds "$(seqctl doctor)" "^ok +unit" "the doctor afterwards"
}

TheTestOfTheModulesIsGood() {
  apt install /packages/modules/*.deb
  /exchange/autopkgtest/modules
}

serves() { /usr/bin/python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9464/metrics', timeout=20).read()" 2>/dev/null; }
AnUpgradeNamesTheDropInOfAPortOfMetrics() {
  fresh before
  printf '[daemon]\nmetrics_address = "127.0.0.1:9464"\n' >"$config"
  seqctl next orders
  apt install /packages/now/*.deb
  seqctl next orders
  equal "$(property PrivateNetwork)" yes "the network"
  if serves; then echo "the port is open without a network"; return 1; fi
  sed -n 's/^seqd:   //p' /tmp/apt.said >/tmp/lines
  equal "$(wc -l </tmp/lines)" 2 "the lines to run"
  bash -euo pipefail /tmp/lines
  seqctl next orders
  wait_for 20 serves
}

check AServerRuns
SHOW=1 check AnUpgradeRestartsTheDaemonOnce
SHOW=1 check AnUpgradeThatWouldNotStartLeavesTheDaemonAsItIs
SHOW=1 check TheDropInOfTheModuleOpensTheNetwork
check AStartWithoutTheModuleNamesThePackageAndClientsWaitForIt
check ADaemonThatStartsBeforeSystemdKnowsTheDropInIsRestarted
check TheTestOfTheModulesIsGood
check AnUpgradeNamesTheDropInOfAPortOfMetrics
finish
