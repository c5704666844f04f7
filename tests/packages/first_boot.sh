#!/bin/bash
# Installation, the first ID, upgrade and downgrade under load, removal, purge and installation again. Runs inside of the
# container as root; run.sh boots it.
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"
# shellcheck source=tests/service/load.sh
source "$(dirname "$0")/load.sh"
# shellcheck source=tests/packages/apt.sh
source "$(dirname "$0")/apt.sh"

enabled() { systemctl is-enabled "$1" || true; }

TheVersionBeforeIsInstalledFromItsFiles() {
  apt install /packages/before/*.deb
  equal "$(version_of seqd)" "$(cat /exchange/before)" "the version"
  equal "$(dpkg --audit)" "" "what dpkg complains about"
  equal "$(property ActiveState seqd.socket) $(enabled seqd.socket)" "active enabled" "the socket"
  equal "$(property ActiveState) $(enabled seqd.service)" "inactive disabled" "the service before its first client"
  equal "$(stat -c '%U:%G %a' /run/seqd.sock)" "root:seqd 660" "the socket file"
  equal "$(stat -c '%U:%G %a' /var/lib/seqd)" "seqd:seqd 700" "the state directory"
  equal "$(dpkg-query -W -f '${Conffiles}' seqd | awk '{ print $1 }' | xargs)" /etc/seqd/seqd.toml "the conffiles"
  equal "$(systemd-analyze --man=no --recursive-errors=no verify seqd.service seqd.socket seqd-purge@orders.timer 2>&1)" "" "what systemd says about the units"
}

# In a line, "# 1" behind a command is what it prints.
TheFirstIdsAreTakenByTheLinesOfTheReadme() {
  [ "$(wc -l </exchange/readme.sh)" -ge 4 ]
  bash -euo pipefail /exchange/readme.sh >/tmp/readme.said
  cat /tmp/readme.said
  equal "$(head -n 1 /tmp/readme.said)" 1 "the first ID"
  active
}

# Of the packages of this version, whose daemon has SQLite alone.
TheDaemonNeedsNeitherDriversNorANetwork() {
  local needed
  needed=$(dpkg-query -W -f '${Depends}' seqd)
  if grep -E 'mongoc|bson|curl' <<<"$needed"; then echo "seqd depends on it"; return 1; fi
  equal "$(property PrivateNetwork) $(property RestrictAddressFamilies)" "yes AF_UNIX" "the network"
  systemd-analyze security --no-pager --threshold=6 seqd.service | tail -n 1
  holds "$(seqctl doctor)" "^ok +hardening" "the doctor"
}

# A conffile that changes with each comment of the sample would stop unattended upgrades.
TheConfigurationIsSmallAndWhatExplainsItIsBesideIt() {
  [ "$(wc -l </etc/seqd/seqd.toml)" -le 10 ] || { echo "the conffile is the sample"; return 1; }
  [ -n "$(find /usr/share/doc/seqd -name 'seqd.toml*')" ] || { echo "no sample"; return 1; }
  [ -n "$(find /usr/share/doc/seqd -name 'MIGRATION*')" ] || { echo "no MIGRATION"; return 1; }
  holds "$(dpkg-query -W -f '${Recommends}' seqd)" "sqlite3" "what backups and downgrades need"
}

ManualsAndCatalogueAreFound() {
  local page
  for page in "8 seqd" "5 seqd.toml" "1 seqctl" "3 libseqd"; do
    # shellcheck disable=SC2086 # two words
    man --pager=cat $page 2>&1 | grep -q "SEE ALSO" || { echo "no page: $page"; return 1; }
  done
  holds "$(journalctl --sync; journalctl --no-pager -x -u seqd.service)" "^(--|░░) Subject: seqd: started" "journalctl -x"
}

ShellsCompleteCommandsAndTheNamesOfSequences() {
  local shell
  seqctl next shop:receipts
  for shell in bash zsh fish; do
    /usr/bin/python3 -B /exchange/typing.py "$shell" || { echo "$shell completes nothing"; return 1; }
  done
}

TheTestsOfThePackageAreGood() {
  local test
  for test in first-id library; do
    AUTOPKGTEST_TMP=$(mktemp -d) /exchange/autopkgtest/"$test" || { echo "$test ended with $?"; return 1; }
  done
}

# change SEQUENCE DIRECTORY: other packages, while the load goes on; another process of the new program serves it.
change() {
  local process
  process=$(property MainPID)
  more_ids "$1"
  apt install --allow-downgrades "/packages/$2"/*.deb
  more_ids "$1"
  equal "$(version_of seqd) $(version_of seqd-tools) $(version_of libseqd0)" "$(printf '%s ' "$(cat "/exchange/$2")"{,,} | sed 's/ $//')" "the versions"
  [ "$(property MainPID)" != "$process" ] || { echo "the daemon was not restarted"; return 1; }
  equal "$(readlink "/proc/$(property MainPID)/exe")" /usr/sbin/seqd "the program that runs"
}
to_now() { change "$1" now; }
to_before() { change "$1" before; }

AnUpgradeUnderLoadRefusesNobodyAndLosesNoId() {
  echo '# a line of the administrator' >>"$config"
  under_load upgrade to_now
  figures upgrade
  equal "$(tail -n 1 "$config")" '# a line of the administrator' "the configuration"
  equal "$(property ActiveState seqd.socket) $(enabled seqd.socket)" "active enabled" "the socket"
  seqctl audit upgrade
}

ADowngradeUnderLoadDoesNeitherWhereTheFormatsAreTheSame() {
  under_load downgrade to_before
  figures downgrade
  seqctl audit downgrade
}

AnUpgradeLeavesWhatWasDisabledAsItIs() {
  systemctl disable --now seqd.socket seqd.service
  apt install /packages/now/*.deb
  equal "$(property ActiveState seqd.socket) $(enabled seqd.socket)" "inactive disabled" "the socket"
  equal "$(property ActiveState)" inactive "the service"
  systemctl enable --now seqd.socket
  seqctl next orders
}

# What must be true of an ID now, in a file: the next one follows it.
remember() { seqctl next orders >/exchange/last-id; }
goes_on() { equal "$(seqctl next orders)" $(($(cat /exchange/last-id) + 1)) "the ID $1"; }

# After a downgrade from a version that is still to come.
ALogOfALaterVersionIsRefusedWithWordsAndKept() {
  local mark sums log
  remember
  systemctl stop seqd.socket seqd.service
  mkdir -m 0700 /var/tmp/this-version
  cp -a /var/lib/seqd/log.? /var/tmp/this-version
  /usr/bin/python3 -B /exchange/later_log.py /var/lib/seqd 9
  sums=$(sha256sum /var/lib/seqd/log.?)
  mark=$(cursor)
  if systemctl start seqd.service; then echo "it started"; return 1; fi
  equal "$(property ActiveState) $(property ExecMainStatus)" "failed 65" "the service"
  holds "$(journal_since "$mark" -o cat)" "log.[01] is of version 9 and this seqd reads versions 1 to [0-9]+\. Install the seqd that wrote it, or a later one\." "the journal"
  equal "$(sha256sum /var/lib/seqd/log.?)" "$sums" "the log"
  for log in log.0 log.1; do cat "/var/tmp/this-version/$log" >"/var/lib/seqd/$log"; done
  systemctl reset-failed seqd.service
  systemctl start seqd.socket
  goes_on "with the log of this version"
}

ARemovalStopsEverythingAndKeepsStateAndConfiguration() {
  local mark
  systemctl enable --now seqd-purge@tickets.timer
  remember
  mark=$(cursor)
  apt remove seqd
  [ ! -e /usr/sbin/seqd ] && [ ! -e /run/seqd.sock ]
  ! pidof seqd || { echo "it still runs"; return 1; }
  # All entries: journalctl 252 leaves out the first one that matches if the entry of the cursor does not.
  holds "$(journalctl --sync; journalctl --no-pager --after-cursor="$mark" -o verbose)" "MESSAGE_ID=2c7d1c6b0f6a4a4c9a0c2be1c0a7d102" "the journal"
  equal "$(property ActiveState seqd-purge@tickets.timer)" inactive "the timer"
  [ -e /etc/seqd/seqd.toml ] && [ -e /var/lib/seqd/sequences.db ]
  apt install /packages/now/*.deb
  goes_on "after a removal"
  holds "$(journal_since "$mark" -o verbose)" "STATE_HOW=clean$" "the journal"
}

# As on a disk of its own. (A symbolic link is none of the directories that systemd prepares.)
AStateDirectoryThatIsMountedIsServedAndKept() {
  remember
  systemctl stop seqd.socket
  mv /var/lib/seqd /srv/seqd
  mkdir /var/lib/seqd
  mount --bind /srv/seqd /var/lib/seqd
  systemctl start seqd.socket
  goes_on "from the other place"
  remember
  apt purge seqd
  holds "$(cat /tmp/apt.said)" "^seqd: the state was kept" "what the purge says"
  [ -e /srv/seqd/sequences.db ]
  apt install /packages/now/*.deb
  goes_on "from the other place, after a purge"
  equal "$(stat -c '%U:%G %a' /var/lib/seqd)" "seqd:seqd 700" "the state directory"
  systemctl stop seqd.socket
  umount /var/lib/seqd
  rmdir /var/lib/seqd
  mv /srv/seqd /var/lib/seqd
  systemctl start seqd.socket
}

APurgeKeepsTheStateAndSaysSo() {
  remember
  apt purge seqd
  cat /tmp/apt.said
  holds "$(cat /tmp/apt.said)" "^seqd: the state was kept" "what the purge says"
  [ ! -e /etc/seqd ] || { echo "/etc/seqd is there"; return 1; }
  equal "$(find /etc/systemd -name 'seqd*')" "" "what is left of the units"
  equal "$(stat -c '%U %a' /var/lib/seqd)" "seqd 700" "the state directory"
  apt install /packages/now/*.deb
  equal "$(property ActiveState seqd.socket) $(enabled seqd.socket)" "active enabled" "the socket"
  goes_on "after a purge"
}

APurgeOfAnEmptyStateLeavesNothing() {
  remember
  systemctl stop seqd.socket
  mkdir -m 0700 /var/tmp/aside
  find /var/lib/seqd -mindepth 1 -maxdepth 1 -exec mv {} /var/tmp/aside \;
  mv /var/lib/seqd-mark /var/tmp/mark  # it says that there is a state
  apt purge seqd seqd-tools libseqd0 libseqd-dev
  equal "$(find /etc /usr /var/lib /run -name '*seqd*' ! -path '/var/lib/dpkg/*' ! -path '/run/systemd/*' ! -path '/var/lib/systemd/*')" "" "what is left"
  apt install /packages/now/*.deb
  rm -rf /var/lib/seqd-mark
  mv /var/tmp/mark /var/lib/seqd-mark
  find /var/tmp/aside -mindepth 1 -maxdepth 1 -exec mv {} /var/lib/seqd \;
  goes_on "of a state that was put back after an orderly stop"
}

check TheVersionBeforeIsInstalledFromItsFiles
SHOW=1 check TheFirstIdsAreTakenByTheLinesOfTheReadme
SHOW=1 check TheDaemonNeedsNeitherDriversNorANetwork
check TheConfigurationIsSmallAndWhatExplainsItIsBesideIt
check ManualsAndCatalogueAreFound
check ShellsCompleteCommandsAndTheNamesOfSequences
check TheTestsOfThePackageAreGood
SHOW=1 check AnUpgradeUnderLoadRefusesNobodyAndLosesNoId
SHOW=1 check ADowngradeUnderLoadDoesNeitherWhereTheFormatsAreTheSame
check AnUpgradeLeavesWhatWasDisabledAsItIs
check ALogOfALaterVersionIsRefusedWithWordsAndKept
check ARemovalStopsEverythingAndKeepsStateAndConfiguration
check AStateDirectoryThatIsMountedIsServedAndKept
SHOW=1 check APurgeKeepsTheStateAndSaysSo
check APurgeOfAnEmptyStateLeavesNothing
seqctl next orders >/exchange/last-id
finish
