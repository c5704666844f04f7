"""The examples of packaging/containers: paths, options, commands and rights are those of the real daemon, and a pod made of
them by hand works: the same users, modes, mounts and arguments, in a mount namespace."""

import os
import re
import shlex
import subprocess

import pytest
import yaml

import harness
from disks import NotShown
from servers.patience import PROGRAM_SECONDS

FILES = harness.PROJECT / "packaging" / "containers"
PAGE = harness.PROJECT / "daemon" / "doc" / "CONTAINERS.md"
SAMPLE = harness.PROJECT / "packaging" / "seqd.toml"
DEPLOYMENTS = ["sidecar", "daemonset"]


def documents(name):
    return list(yaml.safe_load_all((FILES / f"{name}.yaml").read_text()))


def of_kind(name, *kinds):
    return [document for document in documents(name) if document["kind"] in kinds]


class Pod:
    """The pod of a file that has the daemon."""

    def __init__(self, name):
        self.workload = of_kind(name, "StatefulSet", "DaemonSet")[0]
        self.spec = self.workload["spec"]["template"]["spec"]
        (self.seqd,) = [one for one in self.all_containers() if one["name"] == "seqd"]
        (self.configuration,) = [one["data"]["seqd.toml"] for one in of_kind(name, "ConfigMap")]

    def all_containers(self):
        return self.spec.get("initContainers", []) + self.spec["containers"]

    def volumes(self):
        claims = {one["metadata"]["name"]: {"claim": one["spec"]} for one in self.workload["spec"].get("volumeClaimTemplates", [])}
        return {**claims, **{one["name"]: one for one in self.spec["volumes"]}}

    def option(self, name):
        """The value of an option of seqd's command line."""
        arguments = self.seqd["args"]
        return arguments[arguments.index(name) + 1] if name in arguments else None

    def volume_at(self, path):
        """The volume in which a path of the daemon's container lies."""
        mounts = {mount["mountPath"]: mount["name"] for mount in self.seqd["volumeMounts"]}
        while path not in mounts:
            assert path != "/", f"no volume holds it: {mounts}"
            path = os.path.dirname(path)
        return self.volumes()[mounts[path]]


@pytest.fixture(name="pod", params=DEPLOYMENTS)
def a_pod(request):
    return Pod(request.param)


def default_of(option):
    """As the sample says it, which is generated from the table of options."""
    return re.search(rf'^#?\s*{option} = "([^"]*)"', SAMPLE.read_text(), re.M).group(1)


def instructions():
    text = re.sub(r"\\\n", " ", (FILES / "Containerfile").read_text())
    return [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]


def test_TheConfigurationOfAnExampleIsValid(pod, scratch):
    secret = scratch / "uri"
    secret.write_text("mongodb://mongo.example/")
    secret.chmod(0o400)
    (path,) = re.findall(r'uri_file = "([^"]+)"', pod.configuration)
    assert "secret" in pod.volume_at(path)
    (scratch / "seqd.toml").write_text(pod.configuration.replace(path, str(secret)))
    arguments = pod.seqd["args"]
    checked = subprocess.run([harness.SEQD, "--config", scratch / "seqd.toml", "--check", *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=PROGRAM_SECONDS, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "warning" not in checked.stdout
    assert f"socket: {pod.option('--socket')}\n" in checked.stdout
    # Every node would count from 1 by itself.
    assert "sqlite" not in checked.stdout


def test_EveryPathOfTheDaemonIsOnTheVolumeThatItNeeds(pod):
    state = pod.volume_at(pod.option("--state-dir") or default_of("state_dir"))
    assert "claim" in state or "hostPath" in state, "the state has to outlive the container"
    if "claim" in state:
        assert state["claim"]["accessModes"] == ["ReadWriteOncePod"]
    else:
        assert pod.workload["spec"]["updateStrategy"]["rollingUpdate"]["maxSurge"] == 0
    # Without an option seqd takes /run/seqd where /run itself is in memory.
    witness = pod.option("--witness-dir")
    in_memory = pod.volume_at(witness or "/run")
    assert in_memory.get("emptyDir", {}).get("medium") == "Memory" or in_memory["hostPath"]["path"].startswith("/run/")
    assert in_memory is not state
    assert pod.option("--socket") in [one["value"] for one in pod.seqd["env"] if one["name"] == "SEQD_SOCKET"]
    assert "configMap" in pod.volume_at(os.path.dirname("/etc/seqd/seqd.toml"))
    mounted = {mount["name"] for one in pod.all_containers() for mount in one["volumeMounts"]}
    assert mounted == set(pod.volumes())


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_AProgramFindsTheSocketAndMayConnect(name):
    pod = Pod(name)
    (user,) = {one["spec"]["template"]["spec"]["containers"][0]["name"]: one for one in of_kind(name, "StatefulSet", "Deployment")}.values()
    spec = user["spec"]["template"]["spec"]
    (program,) = spec["containers"]
    (socket,) = [one["value"] for one in program["env"] if one["name"] == "SEQD_SOCKET"]
    (mount,) = program["volumeMounts"]
    assert socket == pod.option("--socket")
    # The directory, not the socket: a restart of the daemon makes another one.
    assert mount["mountPath"] == os.path.dirname(socket) and mount["readOnly"] is True
    volumes = {one["name"]: one for one in spec["volumes"]}
    assert volumes[mount["name"]].get("hostPath", {}).get("path") == pod.volume_at(socket).get("hostPath", {}).get("path")
    groups = [spec["securityContext"].get("fsGroup"), *spec["securityContext"].get("supplementalGroups", [])]
    assert pod.seqd["securityContext"]["runAsGroup"] in groups
    assert default_of("socket_mode") == "0660"


def test_TheDaemonHasNoMoreRightsThanItNeedsAndTimeToStop(pod):
    context = pod.seqd["securityContext"]
    assert context["runAsNonRoot"] and context["runAsUser"] != 0
    assert context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"]
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert pod.spec["automountServiceAccountToken"] is False
    stop = re.fullmatch(r"(\d+)s", default_of("stop_timeout"))
    assert pod.spec["terminationGracePeriodSeconds"] > 2 * int(stop.group(1))


def test_TheImageHasTheUserAndThePathsOfTheExamples(pod):
    image = dict(reversed([(word, rest) for word, rest in instructions()]))
    uid, gid = image["USER"].split(":")
    assert (int(uid), int(gid)) == (pod.seqd["securityContext"]["runAsUser"], pod.seqd["securityContext"]["runAsGroup"])
    assert pod.spec["securityContext"]["fsGroup"] == int(gid)
    assert yaml.safe_load(image["VOLUME"]) == [default_of("state_dir")]
    init, end, program = yaml.safe_load(image["ENTRYPOINT"])
    assert (init, end) == ("/usr/bin/tini", "--") and " tini " in image["RUN"]
    assert program.lstrip("/") in (harness.PROJECT / "packaging/debian/seqd.install").read_text().split()
    built = re.findall(r"^Package: (\S+)", (harness.PROJECT / "packaging/debian/control").read_text(), re.M)
    for pattern in image["COPY"].split()[:-1]:
        assert pattern.split("_")[0] in built


def test_ProbesAreCommandsThatARealDaemonAnswers(pod, daemon):
    daemon.seqctl("next", "orders")
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        program, *arguments = pod.seqd[probe]["exec"]["command"]
        assert program == "seqctl"
        daemon.seqctl(*arguments)
        waits = float(arguments[arguments.index("-t") + 1])
        assert pod.seqd[probe]["timeoutSeconds"] > waits, "the probe ends before seqctl says why"
    assert "--ready" in pod.seqd["readinessProbe"]["exec"]["command"]
    # No restart mends a store.
    assert "--live" in pod.seqd["livenessProbe"]["exec"]["command"]
    daemon.terminate()
    daemon.seqctl(*pod.seqd["livenessProbe"]["exec"]["command"][1:], expect=69)


def test_ThePageNamesEveryPathOfTheExamples(pod):
    page = PAGE.read_text()
    for mount in pod.seqd["volumeMounts"]:
        assert f"`{mount['mountPath']}`" in page, mount
    for name in sorted(FILES.iterdir()):
        assert f"packaging/containers/{name.name}" in page, name


# Makes the volumes as a kubelet does, mounts them, starts the daemon as its user, and asks it as the probes do and as programs of
# other users. The daemon is killed, runs again as a container that was started again, and ends in an orderly way.
POD = """set -e
umask 0022
mount -t tmpfs -o mode=0755 none /mnt
mkdir -p {root}/run {root}/lib
mount --bind {root}/run /run
mount --bind {root}/lib /var/lib
install -m 0755 {seqd} {seqctl} /mnt
export PATH=/mnt:$PATH {environment}
{volumes}
{mounts}
{prepare}
as() {{ user=$1 group=$2; shift 2; exec setpriv --reuid $user --regid $user --groups $group --no-new-privs --inh-caps=-all --bounding-set=-all "$@"; }}
for life in KILL TERM; do
  (as {uid} {gid} seqd --config /mnt/configuration/seqd.toml {arguments}) &
  daemon=$!
  (as {uid} {gid} seqctl -t 25 wait)
  (as {uid} {gid} {startup})
  (as 1000 {gid} seqctl next orders)
  (as {uid} {gid} {ready})
  if (as 1001 1001 seqctl -t 1 next orders) 2>/mnt/refused; then exit 8; fi
  (as {uid} {gid} seqctl -o json status)
  kill -$life $daemon
  wait $daemon || true
done
stat -c 'state %a %n' {state}
cat /mnt/refused
"""


def volume_commands(pod, scratch):
    """How each volume comes to be: an owner, a mode, and what is in it."""
    group = pod.spec["securityContext"]["fsGroup"]
    for name, volume in pod.volumes().items():
        place = f"/mnt/{name}"
        disk = scratch / f"volume-{name}"
        yield f"mkdir {place}"
        if "emptyDir" in volume:
            yield f"chmod 0777 {place}"
            if volume["emptyDir"].get("medium") == "Memory":
                yield f"mount -t tmpfs -o mode=0777 none {place}"
        elif "claim" in volume:
            yield f"mkdir {disk} && chown 0:{group} {disk} && chmod 2775 {disk} && mount --bind {disk} {place}"
        elif "hostPath" in volume:
            if not volume["hostPath"]["path"].startswith("/run/"):  # which is in memory, as /mnt is here
                yield f"mkdir {disk} && mount --bind {disk} {place}"
        elif "configMap" in volume:
            disk.write_text(pod.configuration)
            yield f"install -m 0644 {disk} {place}/seqd.toml"


def test_APodAsItIsWrittenIssuesIdsAndGoesOnAfterAKill(pod, scratch):
    if os.getuid() != 0:
        raise NotShown("a mount namespace is for root only")
    # The store is the only thing that is another one.
    pod.configuration = re.sub(r'type = "mongodb"\nuri_file = .*\n', 'type = "sqlite"\n', pod.configuration)
    assert "sqlite" in pod.configuration
    context = pod.seqd["securityContext"]
    # The image has no file system in memory at /run: what stands there is a directory of a disk.
    mounts = sorted((one for one in pod.seqd["volumeMounts"] if one["mountPath"] != "/etc/seqd"), key=lambda one: one["mountPath"].count("/"))
    prepare = [shlex.join([*one["command"], *one["args"]]) for one in pod.spec.get("initContainers", []) if one["name"] == "prepare"]
    state = pod.option("--state-dir") or default_of("state_dir")
    script = POD.format(
        root=scratch / "root", volumes="\n".join(volume_commands(pod, scratch)), prepare="\n".join(prepare), state=state,
        mounts="\n".join(f"mkdir -p {one['mountPath']} && mount --bind /mnt/{one['name']} {one['mountPath']}" for one in mounts),
        uid=context["runAsUser"], gid=context["runAsGroup"], seqd=harness.SEQD, seqctl=harness.SEQCTL, arguments=shlex.join(pod.seqd["args"]),
        environment=" ".join(f"{one['name']}={one['value']}" for one in pod.seqd["env"]),
        startup=shlex.join(pod.seqd["startupProbe"]["exec"]["command"]), ready=shlex.join(pod.seqd["readinessProbe"]["exec"]["command"]))
    ran = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script], stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, timeout=3 * PROGRAM_SECONDS, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = ran.stdout.splitlines()
    assert [line for line in lines if line.isdigit()] == ["1", "2"], ran.stdout
    assert lines.count("ready, 1 sequences in use") == 2
    assert '"state_how":"fresh"' in ran.stdout and '"state_how":"witness"' in ran.stdout, ran.stdout + ran.stderr
    # A directory that is made in a volume may have its setgid.
    assert re.search(rf"^state 2?700 {state}$", ran.stdout, re.MULTILINE), ran.stdout
    assert "Permission denied" in ran.stdout
    for warning in ("overlay", "tmpfs", "memory file system", "is writable by every user"):
        assert warning not in ran.stderr
