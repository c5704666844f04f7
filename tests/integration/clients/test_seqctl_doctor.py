"""seqctl doctor on real daemons: what is good, what is bad and what to do, and what a stranger is told."""

import json
import os
import re
import shutil
import subprocess

import harness
from disks import NotShown
from servers.patience import PROGRAM_SECONDS
from watching import environment_of


def findings_of(done):
    by_subject = {}
    for finding in json.loads(done.stdout)["findings"]:
        by_subject.setdefault(finding["subject"], finding)
    return by_subject


def test_DoctorLooksAtARunningDaemon(daemon):
    daemon.seqctl("next", "orders")
    found = findings_of(daemon.seqctl("-o", "json", "doctor", expect=None))
    assert {found[subject]["level"] for subject in ("socket", "rights", "store", "sequences", "witness")} == {"ok"}
    assert found["daemon"]["level"] in ("ok", "warn")  # a busy machine answers slowly
    assert "and administer" in found["rights"]["text"]
    assert found["state"]["text"].startswith(str(daemon.state))  # found by the process
    assert found["witness"]["text"].startswith(f"{daemon.witness} ")
    elsewhere = findings_of(daemon.seqctl("-o", "json", "doctor", "--witness-dir", str(daemon.directory), expect=None))
    assert elsewhere["witness"]["level"] == "bad"
    assert found["clock"]["level"] in ("ok", "warn", "unknown") and "disk" in found and "unit" in found
    assert "bad" not in {finding["level"] for subject, finding in found.items() if subject not in ("state", "disk", "unit")}


def test_DoctorSaysWhatIsBadAndWhatToDo(make_daemon):
    daemon = make_daemon(sequences={"few": {"max_value": 3}}).start()
    daemon.seqctl("range", "few", "3")
    daemon.seqctl("next", "few", expect=1)
    text = daemon.seqctl("doctor", expect=1).stdout
    assert re.search(r"^bad +sequence +few is stopped: EXHAUSTED: .*\n +-> journalctl", text, re.MULTILINE)
    daemon.kill()
    found = findings_of(daemon.seqctl("-t", "0.1", "-o", "json", "doctor", expect=1))
    assert found["daemon"]["level"] == "bad" and found["daemon"]["remedy"]
    daemon.socket.unlink()
    assert findings_of(daemon.seqctl("-t", "0.1", "-o", "json", "doctor", expect=1))["socket"]["level"] == "bad"


def doctor_of_a_stranger(daemon):
    """What user and group 65534 are told; where the clone is may be closed to them."""
    if os.getuid() != 0:
        raise NotShown("another user can be tried by root only")
    seqctl = daemon.short / "seqctl"
    shutil.copy(harness.SEQCTL, seqctl)
    daemon.short.chmod(0o755)
    done = subprocess.run([str(seqctl), "-o", "json", "doctor"], env=environment_of(daemon.socket), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=False, user=65534, group=65534, extra_groups=[])
    assert done.stderr == ""
    return done.returncode, findings_of(done)


def test_DoctorTellsAStrangerWhatTheStrangerMayDo(make_daemon):
    daemon = make_daemon(daemon={"socket_mode": "0666"}).start()
    code, found = doctor_of_a_stranger(daemon)
    assert code == 0 and found["socket"]["level"] == "warn"
    assert found["rights"]["text"].endswith("and may not administer")


def test_DoctorNeverAdvisesToBecomeAMemberOfRoot(make_daemon):
    daemon = make_daemon(daemon={"socket_mode": "0660"}).start()
    code, found = doctor_of_a_stranger(daemon)
    assert code == 1 and found["socket"]["level"] == "bad" and found["daemon"]["remedy"] == "see socket"
    assert "usermod" not in found["socket"]["remedy"]
    os.chown(daemon.socket, 0, 65533)
    _, found = doctor_of_a_stranger(daemon)
    assert found["socket"]["remedy"].startswith("usermod -aG 65533 ")
