"""The version that packaging/build-deb.sh gives to a commit, on a small package of its own that dpkg-buildpackage really builds."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "build-deb.sh"
DEBIAN = {
    "control": "Source: seqd\nMaintainer: nobody <nobody@seqd.example>\nRules-Requires-Root: no\nStandards-Version: 4.6.2\n\n"
    "Package: seqd\nArchitecture: all\nDescription: a test\n A test.\n",
    "changelog": "seqd (0.1.0-1) unstable; urgency=medium\n\n  * A test.\n\n"
    " -- nobody <nobody@seqd.example>  Sat, 21 Nov 2026 12:00:00 +0000\n",
    "source/format": "3.0 (quilt)\n",
    "rules": "#!/usr/bin/make -f\n%:\n\t@:\nbinary: binary-indep\nbinary-indep:\n"
    "\tmkdir -p debian/seqd/DEBIAN\n\tdpkg-gencontrol -pseqd -Pdebian/seqd\n\tdpkg-deb --root-owner-group -b debian/seqd ..\n",
}


class Versions(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.tree = pathlib.Path(scratch.name) / "tree"
        (self.tree / "packaging" / "debian" / "source").mkdir(parents=True)
        shutil.copy(SCRIPT, self.tree / "packaging")
        for name, text in DEBIAN.items():
            (self.tree / "packaging" / "debian" / name).write_text(text)
        (self.tree / "packaging" / "debian" / "rules").chmod(0o755)
        (self.tree / ".gitignore").write_text("/build\n")
        self.run_here("git", "init", "-q")
        self.run_here("git", "add", ".")
        self.commit()

    def run_here(self, *command):
        done = subprocess.run(command, cwd=self.tree, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def git(self, *command):
        return self.run_here("git", "-c", "user.name=nobody", "-c", "user.email=nobody@seqd.example", *command)

    def commit(self):
        self.git("commit", "-q", "--allow-empty", "-m", "A test.")

    def build(self):
        """Versions in the names of the packages."""
        self.said = self.run_here("packaging/build-deb.sh", "0.1.0", "build/deb")
        return [path.name.split("_")[1] for path in (self.tree / "build" / "deb").glob("*.deb")]

    def test_ACommitBeforeTheTagIsEarlierThanTheRelease(self):
        (version,) = self.build()
        self.assertRegex(version, r"^0\.1\.0~git\d{8}\.\d{6}\.[0-9a-f]{7}-1$")
        self.run_here("dpkg", "--compare-versions", version, "lt", "0.1.0-1")

    def test_ACommitBehindTheTagIsLaterThanTheRelease(self):
        self.git("tag", "v0.1.0")
        self.commit()
        (version,) = self.build()
        self.assertRegex(version, r"^0\.1\.0\+git\d{8}\.\d{6}\.[0-9a-f]{7}-1$")
        self.run_here("dpkg", "--compare-versions", version, "gt", "0.1.0-1")

    def test_TheSameCommitIsBuiltOnce(self):
        self.assertEqual(len(self.build()), 1)
        self.build()
        self.assertIn("has the packages of", self.said)
        self.commit()
        self.build()
        self.assertNotIn("has the packages of", self.said)

    # As a release is made: the packages are tested, then the commit gets its tag.
    def test_ACommitThatWasBuiltBeforeItGotItsTagBecomesTheRelease(self):
        for kind in ((), ("-a", "-m", "A release.")):
            with self.subTest(kind):
                self.commit()
                self.assertNotEqual(self.build(), ["0.1.0-1"])
                self.git("tag", "-f", *kind, "v0.1.0")
                self.assertEqual(self.build(), ["0.1.0-1"])


if __name__ == "__main__":
    unittest.main()
