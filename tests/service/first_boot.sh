#!/bin/bash
# The first boot after an installation: users, socket activation, restarts of every kind, reload, journal, credentials.
# Runs inside of the container as root; run.sh boots it.
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"
units=/usr/lib/systemd/system

InstallationIsMadeReadyByTheToolsOfTheSystem() {
  ldconfig
  systemd-sysusers
  journalctl --update-catalog
  systemctl daemon-reload
  getent passwd seqd
  cat "$config" >/exchange/sample.toml
  systemctl start seqd.socket
  equal "$(property ActiveState)" inactive "the service before its first client"
  equal "$(stat -c '%U:%G %a' /run/seqd.sock)" "root:seqd 660" "the socket"
}

TheFirstClientStartsTheDaemon() {
  equal "$(seqctl next orders)" 1 "the first ID"
  active
  equal "$(stat -c %U "/proc/$(property MainPID)")" seqd "the user"
}

AUserOutsideOfTheGroupIsRefused() {
  local said
  ! said=$(runuser -u nobody -- seqctl next orders 2>&1) || { echo "nobody got an ID"; return 1; }
  holds "$said" "Permission denied; members of the group $(stat -c %g /run/seqd.sock) may connect" "what the user is told"
  usermod -a -G seqd games
  equal "$(runuser -u games -- seqctl next orders)" 2 "the ID of a member of the group"
}

status_line() { systemctl status --no-pager seqd | sed -n 's/^ *Status: //p'; }
status_tells_of_issued_ids() { status_line | grep -qE '[1-9][0-9]* sequences?, [1-9][0-9]* IDs? issued'; }
StatusShowsOneUsefulLine() {
  wait_for 10 status_tells_of_issued_ids
  status_line
}

# The calls of the README and the examples that it links to, built as a user would with what was installed.
ProgramsTakeIdsByTheInstalledLibrary() {
  local id
  id=$(seqctl next userid)
  # shellcheck disable=SC2046 # several words
  gcc -Wall -Wextra -Werror -o /tmp/take-c /exchange/readme.c $(pkg-config --cflags --libs libseqd)
  equal "$(/tmp/take-c)" $((id + 1)) "the ID taken in C"
  # shellcheck disable=SC2046
  gcc -Wall -Wextra -Werror -o /tmp/example-c /exchange/example.c $(pkg-config --cflags --libs libseqd)
  equal "$(/tmp/example-c examples-c | head -n 1)" "one ID: 1" "the ID taken by the example in C"
  # shellcheck disable=SC2046
  g++ -std=c++17 -Wall -Wextra -Werror -o /tmp/take-cpp /exchange/example.cc $(pkg-config --cflags --libs libseqd)
  equal "$(/tmp/take-cpp examples | head -n 1)" "one ID: 1" "the ID taken in C++"
}

# Four clients that take IDs without a pause; at the end every ID from the first to the last was issued once.
FourRestartsUnderLoadRefuseNobodyAndLoseNoId() {
  under_load restarts four_restarts
}
four_restarts() {
  for _ in 1 2 3 4; do
    systemctl restart seqd
    more_ids "$1"
  done
}

ThreeKillsUnderLoadLoseNoId() {
  under_load kills three_kills
}
three_kills() {
  for _ in 1 2 3; do
    local before
    before=$(property NRestarts)
    kill -KILL "$(property MainPID)"
    wait_for 10 restarted_from "$before"
    more_ids "$1"
  done
}

AKilledDaemonComesBackByItselfWithoutAHole() {
  local before id
  id=$(seqctl next orders)
  before=$(property NRestarts)
  kill -KILL "$(property MainPID)"
  wait_for 10 restarted_from "$before"
  equal "$(seqctl next orders)" $((id + 1)) "the ID after kill -9"
}

AFrozenDaemonIsKilledByTheWatchdogAndComesBack() {
  local id before mark pid
  id=$(seqctl next orders)
  mkdir -p /etc/systemd/system/seqd.service.d
  printf '[Service]\nWatchdogSec=2s\n' >/etc/systemd/system/seqd.service.d/watchdog.conf
  systemctl daemon-reload
  systemctl restart seqd
  mark=$(cursor)
  wait_for 20 active # a starved daemon may have met the watchdog already
  before=$(property NRestarts)
  pid=$(property MainPID)
  [ "$pid" -gt 1 ] # 0 would be this script
  kill -STOP "$pid"
  wait_for 20 restarted_from "$before"
  holds "$(journal_since "$mark" -o cat)" "Watchdog timeout" "the journal"
  equal "$(seqctl next orders)" $((id + 1)) "the ID after the watchdog"
  rm /etc/systemd/system/seqd.service.d/watchdog.conf
  systemctl daemon-reload
  systemctl restart seqd
}

AGoodReloadIsApplied() {
  printf '[limits]\nmax_count = 7\n' >"$config"
  systemctl reload seqd
  equal "$(seqctl range orders 7 | awk '{ count += $2 } END { print count }')" 7 "a range of 7"
  local said
  ! said=$(seqctl range orders 8 2>&1) || { echo "a range of 8 was given"; return 1; }
  holds "$said" TOO_LARGE "the error"
}

ABadReloadFailsLoudlyAndChangesNothing() {
  local mark pid
  pid=$(property MainPID)
  mark=$(cursor)
  printf '[limits]\nmax_count = "many"\n' >"$config"
  ! systemctl reload seqd || { echo "systemctl reload was content"; return 1; }
  holds "$(journal_since "$mark" -o cat)" "seqd.toml:2.*max_count" "the journal"
  equal "$(property MainPID)" "$pid" "the process"
  seqctl range orders 7 >/dev/null
  ! seqctl range orders 8 2>/dev/null || { echo "the old limit is gone"; return 1; }
}

AHangupSignalReloadsToo() {
  local mark
  mark=$(cursor)
  printf '[limits]\nmax_count = 9\n' >"$config"
  systemctl kill --kill-whom=main -s HUP seqd
  # shellcheck disable=SC2317 # wait_for calls it
  nine() { seqctl range orders 9 >/dev/null 2>&1; }
  wait_for 10 nine
}

TheJournalHasMessageIdsAndFields() {
  local entry
  journalctl --sync
  entry=$(journalctl --no-pager -o verbose -u seqd.service MESSAGE_ID=2c7d1c6b0f6a4a4c9a0c2be1c0a7d105 -n 1)
  holds "$entry" "^ +MESSAGE_ID=2c7d1c6b0f6a4a4c9a0c2be1c0a7d105" "a lease in the journal"
  holds "$entry" "^ +SEQUENCE=" "a lease in the journal"
  holds "$entry" "^ +PRIORITY=6" "a lease in the journal"
  echo "$entry"
}

TheJournalExplainsItself() {
  holds "$(journalctl --no-pager -x -u seqd.service)" "^(--|░░) Subject: seqd: started" "journalctl -x"
}

AStopIsOrderlyAndTheNextStartGoesOn() {
  local id mark
  id=$(seqctl next orders)
  mark=$(cursor)
  systemctl stop seqd
  equal "$(property Result)" success "the result of the stop"
  holds "$(journal_since "$mark" -o verbose)" "MESSAGE_ID=2c7d1c6b0f6a4a4c9a0c2be1c0a7d102" "the journal"
  equal "$(seqctl next orders)" $((id + 1)) "the ID after a stop, from a daemon that its client started"
  holds "$(journal_since "$mark" -o verbose)" "STATE_HOW=(clean|witness)$" "the journal"
}

AWrongConfigurationStopsTheStartAndIsNotTriedAgain() {
  local mark
  mark=$(cursor)
  printf '[limits]\nmax_cuont = 7\n' >"$config"
  ! systemctl restart seqd || { echo "it started"; return 1; }
  holds "$(journal_since "$mark" -o cat)" "seqd.toml:2.*max_cuont" "the journal"
  equal "$(property ExecMainStatus)" 78 "the exit code"
  equal "$(property ActiveState)" failed "the state"
  ! timeout 20 seqctl ping || { echo "somebody answers"; return 1; }
}

# When starts began, in microseconds of the system's own clock, as the journal received the lines: one of them may be late.
starts_since() { journalctl --sync; journalctl --no-pager -o json --after-cursor="$1" -u seqd.service JOB_TYPE=start |
  python3 -c "import json, sys
for line in sys.stdin:
    entry = json.loads(line)
    if entry['MESSAGE'].startswith('Starting'): print(entry['__MONOTONIC_TIMESTAMP'])"; }
tried() { [ "$(starts_since "$1" | wc -l)" -ge "$2" ]; }
pauses_of_at_least() { python3 -c "import sys
times = sorted(int(line) for line in sys.stdin)
assert all(after - before >= 4_500_000 for before, after in zip(times, times[1:])), times"; }
AClientThatWaitsIsServedOnceTheConfigurationIsRepairedAndTheSocketStays() {
  local mark client
  mark=$(cursor)
  seqctl --timeout 300 next waiting >/tmp/waited &
  client=$!
  wait_for 60 tried "$mark" 4
  equal "$(property ActiveState seqd.socket)" active "the socket while no start succeeds"
  starts_since "$mark" | pauses_of_at_least
  : >"$config"
  wait "$client"
  equal "$(cat /tmp/waited)" 1 "the ID of the client that waited"
  active
}

AStoreThatCannotBeOpenedIsTriedWithPausesAndNothingIsLost() {
  local mark last
  last=$(seqctl next orders)
  systemctl stop seqd
  mv /var/lib/seqd/sequences.db /var/lib/seqd/aside
  printf 'no database at all, and long enough to be looked at as one, which it is not' >/var/lib/seqd/sequences.db
  chown seqd: /var/lib/seqd/sequences.db
  mark=$(cursor)
  ! systemctl start seqd || { echo "it started"; return 1; }
  wait_for 60 tried "$mark" 3
  starts_since "$mark" | pauses_of_at_least
  mv /var/lib/seqd/aside /var/lib/seqd/sequences.db
  equal "$(seqctl --timeout 60 next orders)" $((last + 1)) "the ID when the file is back"
}

AnEmptyDirectoryInPlaceOfTheStateIsRefused() {
  local mark last
  last=$(seqctl next orders)
  systemctl stop seqd
  mkdir -m 0700 /srv/empty
  chown seqd: /srv/empty
  mount --bind /srv/empty /var/lib/seqd
  mark=$(cursor)
  ! systemctl start seqd || { echo "it started, and the next ID is $(seqctl next orders)"; return 1; }
  equal "$(property ExecMainStatus)" 78 "the exit code"
  holds "$(journal_since "$mark" -o cat)" "/var/lib/seqd has no log, but this host had one, according to /var/lib/seqd-mark/has-state" "the journal"
  equal "$(ls -A /srv/empty)" "" "what was made in the empty directory"
  umount /var/lib/seqd
  equal "$(seqctl --timeout 60 next orders)" $((last + 1)) "the ID when the state is back"
}

TheUriComesFromACredentialAndAWeakOneIsRefused() {
  local mark
  install -d -m 0700 /etc/credstore
  printf 'mongodb://127.0.0.1:9/?w=1\n' >/etc/credstore/mongodb-uri
  printf '[store.central]\ntype = "mongodb"\n' >"$config"
  mark=$(cursor)
  ! systemctl restart seqd || { echo "it started with w=1"; return 1; }
  equal "$(property ExecMainStatus)" 78 "the exit code"
  holds "$(journal_since "$mark" -o cat)" "(w=1|w:1|write concern|majority)" "the journal"
  # The same credential with a URI that is right: the start does not depend on whether the server answers.
  printf 'mongodb://127.0.0.1:9/\n' >/etc/credstore/mongodb-uri
  systemctl restart seqd
  local said
  for _ in 1 2 3; do # on a busy machine the client's own time-out may come first
    ! said=$(seqctl --timeout 2 next parcels 2>&1) || { echo "an ID without a server: $said"; return 1; }
    grep -q "TIMEOUT" <<<"$said" || break
  done
  holds "$said" "UNAVAILABLE" "the error"
  : >"$config"
  systemctl restart seqd
}

AStoreWhoseModuleIsMissingStopsTheStartAndNothingIsLost() {
  local mark last
  last=$(seqctl next orders)
  mv /usr/lib/seqd/mongodb.so /usr/lib/seqd/aside.so
  printf '[store.central]\ntype = "mongodb"\n' >"$config"
  mark=$(cursor)
  ! systemctl restart seqd || { echo "it started without its module"; return 1; }
  equal "$(property ExecMainStatus)" 78 "the exit code"
  holds "$(journal_since "$mark" -o cat)" "module mongodb: it is not installed.*/usr/lib/seqd/mongodb.so; apt install seqd-mongodb" "the journal"
  mv /usr/lib/seqd/aside.so /usr/lib/seqd/mongodb.so
  : >"$config"
  systemctl restart seqd
  equal "$(seqctl next orders)" $((last + 1)) "the ID of the embedded store"
}

# As the packages have it where no module is installed; `make install` brings the modules with their drop-ins.
WithoutNetworkTheEmbeddedStoreServes() {
  local id
  id=$(seqctl next orders)
  equal "$(property PrivateNetwork)" no "the network with the modules"
  mv "$units/seqd.service.d" /var/tmp/drop-ins
  systemctl daemon-reload
  systemctl restart seqd
  equal "$(property PrivateNetwork) $(property RestrictAddressFamilies)" "yes AF_UNIX" "the network without them"
  equal "$(seqctl next orders)" $((id + 1)) "the ID"
}

# page: that of the metrics, by TCP.
page() { python3 -c "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:9464/metrics', timeout=20).read().decode())" 2>/dev/null; }
serves() { page | grep -q '^seqd_build_info'; }
APortOfMetricsIsOpenedByTheDropInThatTheJournalNames() {
  local mark
  printf '[daemon]\nmetrics_address = "127.0.0.1:9464"\n' >"$config"
  mark=$(cursor)
  systemctl restart seqd
  seqctl next orders
  holds "$(journal_since "$mark" -o cat)" "metrics_address serves no metrics: .*copy 40-metrics-port.conf of /usr/share/doc/seqd" "the journal"
  install -D -m 0644 -t /etc/systemd/system/seqd.service.d /usr/share/doc/seqd/40-metrics-port.conf
  systemctl daemon-reload
  systemctl restart seqd
  seqctl next orders
  wait_for 20 serves
  rm -r /etc/systemd/system/seqd.service.d
  mv /var/tmp/drop-ins "$units/seqd.service.d"
  systemctl daemon-reload
  : >"$config"
  systemctl restart seqd
}

# The keys of the embedded store's counters of one sequence.
counters() { python3 -c "import sqlite3, sys
for (name,) in sqlite3.connect('/var/lib/seqd/sequences.db').execute(
    'SELECT name FROM sequence WHERE name LIKE ? ORDER BY name', (sys.argv[1] + '@%',)): print(name)" "$1"; }
OldPeriodsAreRemovedByTheUnitOfTheTimer() {
  printf '[sequence.tickets]\nperiod = "day"\nperiod_retention = "10d"\n' >"$config"
  systemctl restart seqd
  seqctl next tickets
  local today
  today=$(counters tickets)
  holds "$today" "^tickets@20[0-9]{2}-[0-9]{2}-[0-9]{2}$" "the counter of today"
  python3 -c "import sqlite3
with sqlite3.connect('/var/lib/seqd/sequences.db') as store:
    for day in range(1, 8): store.execute('INSERT INTO sequence VALUES (?, 9, ?)', (f'tickets@2020-01-0{day}', 'last'))"
  equal "$(counters tickets | wc -l)" 8 "the counters before"
  systemctl start seqd-purge@tickets.service
  equal "$(counters tickets)" "$today" "the counters that stayed"
  systemctl start seqd-purge@tickets.timer
  equal "$(property ActiveState seqd-purge@tickets.timer)" active "the timer"
  [ -n "$(property NextElapseUSecRealtime seqd-purge@tickets.timer)" ] || { echo "the timer waits for nothing"; return 1; }
  # One without periods has nothing that grows old, and the unit says so.
  ! systemctl start seqd-purge@orders.service || { echo "it was content with a sequence without periods"; return 1; }
  holds "$(journalctl --sync; journalctl --no-pager -o cat -u seqd-purge@orders.service)" "BAD_REQUEST.*orders.*no periods" "the journal"
  systemctl stop seqd-purge@tickets.timer
}

# shellcheck source=tests/service/load.sh
source "$(dirname "$0")/load.sh"
check InstallationIsMadeReadyByTheToolsOfTheSystem
check TheFirstClientStartsTheDaemon
check AUserOutsideOfTheGroupIsRefused
SHOW=1 check StatusShowsOneUsefulLine
check ProgramsTakeIdsByTheInstalledLibrary
check FourRestartsUnderLoadRefuseNobodyAndLoseNoId
check ThreeKillsUnderLoadLoseNoId
check AKilledDaemonComesBackByItselfWithoutAHole
check AFrozenDaemonIsKilledByTheWatchdogAndComesBack
check AGoodReloadIsApplied
check ABadReloadFailsLoudlyAndChangesNothing
check AHangupSignalReloadsToo
SHOW=1 check TheJournalHasMessageIdsAndFields
check TheJournalExplainsItself
check AStopIsOrderlyAndTheNextStartGoesOn
check AWrongConfigurationStopsTheStartAndIsNotTriedAgain
check AClientThatWaitsIsServedOnceTheConfigurationIsRepairedAndTheSocketStays
check AStoreThatCannotBeOpenedIsTriedWithPausesAndNothingIsLost
check AnEmptyDirectoryInPlaceOfTheStateIsRefused
check TheUriComesFromACredentialAndAWeakOneIsRefused
check AStoreWhoseModuleIsMissingStopsTheStartAndNothingIsLost
check WithoutNetworkTheEmbeddedStoreServes
check APortOfMetricsIsOpenedByTheDropInThatTheJournalNames
check OldPeriodsAreRemovedByTheUnitOfTheTimer
seqctl next orders >/exchange/last-id
finish
