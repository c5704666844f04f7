"""Certificates for one test: an authority and a server certificate for loopback, made by openssl when they are needed."""

import subprocess
from pathlib import Path
from typing import NamedTuple


class Certificates(NamedTuple):
    authority: Path  # what a client trusts
    server: Path  # certificate and key in one file
    stranger: Path  # an authority that signed nothing


def make_certificates(folder: Path) -> Certificates:
    folder.mkdir(parents=True, exist_ok=True)

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    def authority(name: str) -> None:
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")

    authority("authority")
    authority("stranger")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n", encoding="ascii")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=127.0.0.1",
            "-keyout", "server.key", "-out", "server.csr")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial",
            "-days", "2", "-extfile", "names", "-out", "server.crt")
    server = folder / "server.pem"
    server.write_bytes((folder / "server.crt").read_bytes() + (folder / "server.key").read_bytes())
    return Certificates(folder / "authority.pem", server, folder / "stranger.pem")
