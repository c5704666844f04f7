#!/usr/bin/python3
"""Runs a command beside real servers, MongoDB and DynamoDB Local, and ends with its exit status:

    with_mongo.py [--mongo-only] -- command...

  SEQD_TEST_MONGO_URI         one server alone
  SEQD_TEST_MONGO_RS_URI      a replica set of three with authentication (user and password in the URI); a member that the
                              command kills is started again
  SEQD_TEST_MONGO_SECURE_URI  one server with TLS and authentication (user and password in the URI)
  SEQD_TEST_MONGO_STRANGER    a file with a certificate authority which did not sign that server's certificate
  SEQD_TEST_DYNAMO_ENDPOINT   Amazon's DynamoDB Local; not with --mongo-only, as its start takes a machine for itself
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
from dynamodb_local import DynamoServer
from mongod import Mongod, ReplicaSet, die_with_parent
from mongod_binary import ServerNotAvailable
from shared_memory import take_own


def run(command: list, servers: ReplicaSet, environment: dict) -> int:
    try:
        child = subprocess.Popen(command, env=environment, preexec_fn=die_with_parent)
    except OSError as error:
        sys.exit(f"with_mongo: {command[0]}: {error.strerror}")
    while True:
        try:
            status = child.wait(0.1)
            return status if status >= 0 else 128 - status
        except subprocess.TimeoutExpired:
            servers.restart_dead()


def main() -> int:
    command = sys.argv[1:]
    mongo_only = command[:1] == ["--mongo-only"]
    if mongo_only:
        command = command[1:]
    if command[:1] == ["--"]:
        command = command[1:]
    if not command:
        print(__doc__, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are ended and their data removed
    take_own()
    opened = []
    try:
        began = time.monotonic()
        alone = Mongod(name="alone")
        opened.append(alone)
        secure = Mongod(name="secure", tls=True, auth=True)
        opened.append(secure)
        # Most of these tests ask a store once: a busy machine is to begin no election under them.
        servers = ReplicaSet(auth=True, election_ms=8000)
        opened.append(servers)
        dynamo = None
        if not mongo_only:
            dynamo = DynamoServer()
            opened.append(dynamo)
            dynamo.spawn()
        servers.start()
        alone.start()
        secure.start()
        if dynamo:
            dynamo.wait()
        print(f"with_mongo: {len(opened) + len(servers.nodes) - 1} servers ready after {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
        environment = dict(os.environ, SEQD_TEST_MONGO_URI=alone.uri(), SEQD_TEST_MONGO_RS_URI=servers.uri(),
                           SEQD_TEST_MONGO_SECURE_URI=secure.uri(),
                           SEQD_TEST_MONGO_STRANGER=str(secure.certificates.stranger))
        if dynamo:
            environment["SEQD_TEST_DYNAMO_ENDPOINT"] = dynamo.endpoint()
        return run(command, servers, environment)
    except ServerNotAvailable as error:
        print(f"with_mongo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        for server in opened:
            server.close()


if __name__ == "__main__":
    sys.exit(main())
