# shellcheck shell=bash
# Minimal Debian 12 systems. The network, the certificates and the sources of packages are those of this machine.

# What this machine knows about reaching others: apt's settings of it.
settings_of_apt() { apt-config dump --format '%F "%v";%n' Acquire | grep -vE '^Acquire::(Changelogs|IndexTargets|Languages|CompressionTypes|GzipIndexes)' || true; }

# make_base TAR PACKAGE,... [ARCHITECTURE,...]: a tar of a system with these packages, unless it is there; of these architectures,
# the first of which is that of the system.
make_base() {
  local sources=() file
  [ ! -e "$1" ] || return 0
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
    if [ -s "$file" ] && grep -q bookworm "$file"; then sources+=("$file"); fi
  done
  mkdir -p "$(dirname "$1")"
  settings_of_apt >"$1.apt.conf"
  mmdebstrap --variant=minbase --include="$2" --aptopt="$1.apt.conf" ${3:+"--architectures=$3"} bookworm "$1.unfinished.tar" "${sources[@]}" >"$1.log" 2>&1 ||
    { tail -n 30 "$1.log" >&2; exit 1; }
  mv "$1.unfinished.tar" "$1"
}

# unpack_base TAR ROOT: in place of what is there.
unpack_base() {
  rm -rf --one-file-system "$2"
  mkdir -p "$2"
  tar -C "$2" --numeric-owner --exclude './dev/*' -xf "$1"
}

# reach ROOT: the system reaches what this machine reaches, with the arguments of systemd-nspawn that are put into the array `reaching`.
reach() {
  local path name value
  settings_of_apt >"$1/etc/apt/apt.conf.d/90reach"
  for path in /usr/local/share/ca-certificates /etc/pip.conf /etc/npmrc; do
    [ ! -e "$path" ] || { mkdir -p "$1$(dirname "$path")"; cp -rT "$path" "$1$path"; }
  done
  reaching=(--resolv-conf=replace-host)
  while IFS='=' read -r name value; do
    reaching+=("--setenv=$name=$value")
    # A folder of this machine, not a file that the machine makes itself.
    case $value in /etc/*) ;; /*) [ ! -d "$value" ] || reaching+=("--bind-ro=$value") ;; esac
  done < <(env | grep -iE '^(https?_proxy|no_proxy|PIP_[A-Z_]+|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|GOPROXY|GOSUMDB|npm_config_[a-z_]+)=' || true)
}
