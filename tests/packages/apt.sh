# shellcheck shell=bash
# Packages are installed as an administrator does who keeps a changed configuration; what apt says is in /tmp/apt.said.

apt() { DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold "$@" </dev/null >/tmp/apt.said 2>&1 || { cat /tmp/apt.said; return 1; }; }
version_of() { dpkg-query -W -f '${Version}' "$1"; }
# What the load of a sequence saw.
figures() { echo "$(cat "/tmp/load-$1.knocked"); $(tail -n 1 "/tmp/load-$1.said")"; }
