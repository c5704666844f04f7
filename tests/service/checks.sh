# shellcheck shell=bash
# What both boots share: a check is a function that says why it fails; nothing here sleeps for a fixed time.

export config=/etc/seqd/seqd.toml

# wait_for SECONDS COMMAND...: until it succeeds. The seconds are those of an idle machine; a busy one gets five times as much.
wait_for() {
  local deadline=$((SECONDS + 5 * $1))
  shift
  until "$@"; do [ "$SECONDS" -lt "$deadline" ] || { echo "waited in vain for: $*"; return 1; }; sleep 0.02; done
}

# Its own patience is that of an idle machine. (runuser, timeout and the like call the program itself.)
seqctl() { case " $* " in *" --timeout "* | *" decommission "*) command seqctl "$@" ;; *) command seqctl --timeout 60 "$@" ;; esac; }

equal() { [ "$1" = "$2" ] || { echo "$3: expected '$2', found '$1'"; return 1; }; }
holds() { grep -qE -- "$2" <<<"$1" || { echo "$3: no line matches '$2' in:"; tail -n 12 <<<"$1"; return 1; }; }
property() { systemctl show -P "$1" "${2:-seqd.service}"; }
active() { [ "$(property ActiveState)" = active ]; }
restarted_from() { [ "$(property NRestarts)" -gt "$1" ] && active; }

# The service's journal since a cursor.
cursor() { journalctl --sync; journalctl -n 0 --show-cursor | sed -n 's/^-- cursor: //p'; }
journal_since() { journalctl --sync; journalctl --no-pager --after-cursor="$1" -u seqd.service "${@:2}"; }

# check FUNCTION: runs it in a shell of its own, counts and says how it ended. Its name says what must happen.
check() {
  local passed failed said status
  read -r passed failed </exchange/score
  # Not as the condition of an if: there, bash would go on after a failed line of the function.
  said=$(set -euo pipefail; "$1" 2>&1)
  status=$?
  if [ "$status" -eq 0 ]; then
    echo "ok   $1"
    passed=$((passed + 1))
  else
    echo "FAIL $1: $said"
    failed=$((failed + 1))
  fi
  [ -z "${SHOW:-}" ] || echo "$said"
  echo "$passed $failed" >/exchange/score
}

finish() {
  journalctl --sync
  journalctl --no-pager -o short-precise -u seqd.service -u seqd.socket >>/exchange/journal.txt
  touch /exchange/finished
}
