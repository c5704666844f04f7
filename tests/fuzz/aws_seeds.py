#!/usr/bin/python3
"""Writes what credentials of Amazon are read from as seeds: a byte that chooses the environment, and the text.

Usage: aws_seeds.py TARGET FOLDER
"""
import json
import pathlib
import sys

KEYS = {"AccessKeyId": "ASIAID", "SecretAccessKey": "secret"}
EXPIRATION = "2026-11-26T15:04:05Z"
METADATA = json.dumps({"Code": "Success", **KEYS, "Token": "token", "Expiration": EXPIRATION})
STS = json.dumps({"AssumeRoleWithWebIdentityResponse": {"AssumeRoleWithWebIdentityResult": {
    "Credentials": {**KEYS, "SessionToken": "token", "Expiration": 1.795705445e9}}}})
PROFILES = [
    "[default]\naws_access_key_id = a\naws_secret_access_key = b\naws_session_token = c # remark\n",
    "[profile ids]\nregion = x\ns3 =\n  region = y\ncredential_process = /bin/x \"a b\" 'c' d\\ e\n",
    "[default]\nrole_arn = arn:aws:iam::123456789012:role/ids\nweb_identity_token_file = /token\n",
    "[default]\nsso_session = x\n[profile default]\nrole_arn = arn:x\nsource_profile = y\n",
]
ADDRESSES = ["http://127.0.0.1:80/x", "http://[::1]:9/", "http://169.254.170.2/v2", "https://example.com", "/v2/credentials"]


def main() -> None:
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    error = json.dumps({"Error": {"Code": "AccessDenied", "Message": "no"}})
    answers = [f"200 {METADATA}", f"200 {STS}", f"403 {error}", "200 token\n200 ids\n200 " + METADATA]
    texts = [METADATA, STS, error, EXPIRATION, *PROFILES, *answers]
    texts += [f"{address}\n{answer}" for address in ADDRESSES for answer in answers]
    for choice in (0, 1, 2, 2 | 8, 16, 32, 64, 128):
        for number, text in enumerate(texts):
            (folder / f"{choice:03}-{number:02}").write_bytes(bytes([choice]) + text.encode())


main()
