# shellcheck shell=bash
# Load on the service while something is done to it: four clients of libseqd that take IDs without a pause, and one that
# only connects, again and again, to see whether anybody is refused.

# The clients' files hold eight bytes an ID.
enough_ids() { [ "$(cat "$1".ids* | wc -c)" -ge 64000 ]; }

# under_load SEQUENCE FUNCTION: FUNCTION gets the name of the sequence.
under_load() {
  local sequence=$1 log=/tmp/load-$1 clients knocker status=0
  # A cold start is no part of this, and the group makes the clients ordinary users.
  seqctl next "$sequence" >"$log.single"
  /exchange/kill_client --socket /run/seqd.sock --name "$sequence" --clients 4 --depth 16 --duration-s 3600 --log "$log.ids" \
    >"$log.said" 2>&1 &
  clients=$!
  /usr/bin/python3 -B /exchange/knocking.py /run/seqd.sock >"$log.knocked" 2>&1 &
  knocker=$!

  set +e
  (set -e; "$2" "$sequence")
  status=$?
  set -e

  wait_for 30 enough_ids "$log" || status=1
  kill -TERM "$clients"
  wait "$clients" || { echo "the clients ended with $?: $(tail -n 5 "$log.said")"; status=1; }
  kill -TERM "$knocker"
  wait "$knocker" || { echo "somebody was refused: $(cat "$log.knocked")"; status=1; }
  /usr/bin/python3 -B /exchange/every_id_once.py "$log.single" "$log".ids* || status=1
  return "$status"
}

# The load goes on: an ID is issued, and so is one more after it by somebody else.
more_ids() { seqctl next "$1" >>"/tmp/load-$1.single"; }
