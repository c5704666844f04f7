#!/bin/bash
# The image of packaging/containers/Containerfile, built by podman of the packages in DEBS, and the lines of daemon/doc/CONTAINERS.md
# that try it: what stands behind "#" is what a line prints. The image that it begins with is a Debian 12 made here.
# usage: image.sh DEBS VERSION     (needs root)
set -euo pipefail
cd "$(dirname "$0")/../.."
debs=$(realpath "$1") version=$2
# shellcheck source=tests/machine/boot.sh
source tests/machine/boot.sh
# shellcheck source=tests/machine/debian.sh
source tests/machine/debian.sh
as_root "$0" "$@"

work=$PWD/build/image
image=registry.example/seqd:$version
mkdir -p "$work"
# A storage of its own, and no more than a container of another one can do: no limits are raised, no network is made.
cat >"$work/podman" <<SCRIPT
#!/bin/bash
verb=\$1
shift
case \$verb in run) set -- --network=none --ulimit=nofile=1024:1024 --ulimit=nproc=1000:1000 "\$@" ;; esac
exec "$(command -v podman)" --root="$work/storage" --runroot="$work/run" --tmpdir="$work/tmp" --storage-driver=vfs \\
  --cgroup-manager=cgroupfs --runtime=runc "\$verb" "\$@"
SCRIPT
chmod +x "$work/podman"
PATH=$work:$PATH
hash -r

witness=$(mktemp -d /dev/shm/seqd-image-XXXXXX) # in memory, as /run of a host is
clean() {
  podman rm -f -t 0 seqd >/dev/null 2>&1 || true
  podman volume rm -f seqd-state seqd-socket >/dev/null 2>&1 || true
}
trap 'clean; rm -rf "$witness"' EXIT
clean

make_base "$work/base.tar" ca-certificates
podman image exists docker.io/library/debian:12-slim || podman import -q "$work/base.tar" docker.io/library/debian:12-slim >/dev/null
settings_of_apt >"$work/reach.conf"
reaching=(-v "$work/reach.conf:/etc/apt/apt.conf.d/90reach:ro")
[ ! -d /usr/local/share/ca-certificates ] || reaching+=(-v /usr/local/share/ca-certificates:/usr/local/share/ca-certificates:ro)
timeout --kill-after=10 2400 podman build -q --isolation=chroot --network=host --pull=never "${reaching[@]}" \
  -f packaging/containers/Containerfile -t "$image" "$debs" >"$work/build.log" 2>&1 ||
  { tail -n 30 "$work/build.log" >&2; echo "image: the build failed" >&2; exit 1; }
echo "image: $(podman image inspect -f '{{.Size}}' "$image") bytes, of $(podman image inspect -f '{{.Size}}' docker.io/library/debian:12-slim) that the Debian has"

passed=0
modules=$(podman run --rm "$image" --version | grep -c '^module [a-z]*: /usr/lib/seqd/[a-z]*\.so$' || true)
[ "$modules" -eq 2 ] || { echo "FAIL image: it has $modules modules, not 2" >&2; exit 1; }
passed=$((passed + 1))
lines=$(sed -n "/^To try it on one machine/,/^.make test-image/s,^    ,,p" daemon/doc/CONTAINERS.md |
  sed ":joined;/\\\\\$/{N;s/\\\\\n *//;b joined};s,/run/seqd-witness,$witness,")
[ "$(wc -l <<<"$lines")" -ge 8 ] || { echo "image: CONTAINERS.md has no lines that try the image" >&2; exit 1; }
while IFS= read -r line; do
  expected=
  case $line in *'    # '*) expected=${line##*'    # '} ;; esac
  said=$(timeout --kill-after=10 120 bash -c "${line%%'    # '*}" 2>"$work/said" </dev/null) || { cat "$work/said" >&2; podman logs seqd >&2 || true; echo "FAIL image: $line" >&2; exit 1; }
  if [ -n "$expected" ] && [ "$said" != "$expected" ]; then
    podman logs seqd >&2 || true
    echo "FAIL image: $line; it printed $said" >&2
    exit 1
  fi
  passed=$((passed + 1))
done <<<"$lines"
echo "image: $passed passed, 0 failed"
