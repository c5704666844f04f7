# shellcheck shell=bash
# boot NAME: runs $exchange/NAME.sh as the only job of a real systemd booted in the tree $root, without a network, and shows what it said.
# $exchange is /exchange inside; its file "score" holds two numbers, of checks that passed and failed. The limits end what hangs.

boot() {
  rm -f "$exchange/finished"
  cat >"$root/etc/systemd/system/service-test.service" <<UNIT
[Unit]
DefaultDependencies=no
Requires=basic.target
After=basic.target
[Service]
Type=oneshot
TimeoutStartSec=720s
ExecStart=/bin/bash /exchange/$1.sh
StandardOutput=append:/exchange/$1.out
StandardError=append:/exchange/$1.out
# However the checks end, the container does.
ExecStopPost=/bin/systemctl exit
UNIT
  local status=0 passed failed
  timeout --kill-after=10 900 systemd-nspawn -q -D "$root" --boot --register=no --keep-unit --private-network \
    -M "seqd-service-$$" --bind="$exchange:/exchange" systemd.unit=service-test.service \
    </dev/null >"$exchange/$1.console" 2>&1 || status=$?
  cat "$exchange/$1.out" 2>/dev/null || true
  if [ ! -e "$exchange/finished" ]; then
    echo "FAIL $1: the checks did not come to their end (container status $status); its console said:"
    tail -n 25 "$exchange/$1.console"
    read -r passed failed <"$exchange/score"
    echo "$passed $((failed + 1))" >"$exchange/score"
  fi
}

# leave_overlay: unmounts $root and the scratch that it lies on.
leave_overlay() {
  umount "$root" 2>/dev/null || umount -l "$root" 2>/dev/null || true
  umount "$scratch" 2>/dev/null || umount -l "$scratch" 2>/dev/null || true
  rmdir "$scratch" 2>/dev/null || true # still busy, it goes with the machine
}

# enter_overlay LOWER: $root is a throwaway copy of the tree LOWER, and $exchange a folder beside it, both in memory.
enter_overlay() {
  scratch=$(mktemp -d)
  exchange=$scratch/exchange # what the container and we share
  root=$scratch/root
  mount -t tmpfs tmpfs "$scratch"
  trap leave_overlay EXIT
  mkdir "$scratch"/{upper,overlay-work,root,exchange}
  mount -t overlay overlay -o "lowerdir=$1,upperdir=$scratch/upper,workdir=$scratch/overlay-work" "$root"
  echo 0 0 >"$exchange/score"
}

# as_root PROGRAM ARGUMENT...: begins PROGRAM again by sudo unless this is root.
as_root() {
  [ "$(id -u)" -ne 0 ] || return 0
  command -v sudo >/dev/null && exec sudo -n --preserve-env "$@"
  echo "$1: a Debian of its own needs root" >&2
  exit 1
}
