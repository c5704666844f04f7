"""The credentials of a DynamoDB store, from every source, on a real DynamoDB Local behind a front that checks each signature: they
are found, replaced before they expire and when they are refused, and nothing is lost or said meanwhile."""

import pytest

from accounting import Ledger
from clients import drain
from rpc import RpcError
from servers.aws import CONTAINER_TOKEN, FAULTS, ROLE, WEB_TOKEN, amazon
from servers.dynamodb_local import dynamodb
from servers.mongod import expect_soon

TABLE, KEY, NUMBER = "NextId", "NextKey", "NextId"
SHORT = 6.0  # seconds that keys last


@pytest.fixture(scope="module")
def dynamo():
    with dynamodb() as server:
        yield server


@pytest.fixture
def site(dynamo, request):
    """An account of the test's own, with its tables."""
    name = "test" + "".join(letter for letter in request.node.name if letter.isalnum())[-40:]  # its parameter is at the end
    caller = dynamo.caller(name)
    caller.create_table(TABLE, KEY)
    with amazon(dynamo.port, caller.authorization, SHORT) as servers:
        yield servers
        assert not servers.front.badly_signed
    caller.close()


def settings(site, scratch, **environment) -> dict:
    """A daemon with no other source than these variables; its ranges are short, so it asks the service often."""
    nothing = {name: "" for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONFIG_FILE")}
    return {"stores": {"aws": {"type": "dynamodb", "endpoint": site.front.url(), "instances_table": TABLE, "instances_key": KEY,
                               "timeout": "2s"}},
            "defaults": {"lease_min": 1, "lease_max": 10, "max_available": 10},
            "sequences": {"orders": {"collection": TABLE, "key_field": KEY, "counter_field": NUMBER, "meaning": "last"}},
            "environment": {**nothing, "HOME": str(scratch), "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", **environment}}


def of_instance(site, _) -> dict:
    return {"AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": site.sources.url()}


def of_container(site, scratch) -> dict:
    (scratch / "container-token").write_text(CONTAINER_TOKEN + "\n")
    return {"AWS_CONTAINER_CREDENTIALS_FULL_URI": site.sources.url("/container"),
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(scratch / "container-token")}


def of_web_identity(site, scratch) -> dict:
    (scratch / "web-token").write_text(WEB_TOKEN)
    return {"AWS_WEB_IDENTITY_TOKEN_FILE": str(scratch / "web-token"), "AWS_ROLE_ARN": ROLE, "AWS_ENDPOINT_URL_STS": site.sources.url()}


SOURCES = {"IMDS": of_instance, "ECS": of_container, "STS": of_web_identity}


def take_until(client, ledger: Ledger, condition) -> None:
    """IDs one after the other, each of which may need a lease, or be refused as long as there are no credentials."""
    def taken() -> bool:
        try:
            ledger.add([client.next("orders", timeout_ms=1_000)])
        except RpcError as error:
            assert error.code in ("UNAVAILABLE", "STORE_REFUSED"), error
        return condition()
    expect_soon("what the IDs are taken for", taken)


def assert_silent(site, daemon) -> None:
    journal = daemon.stderr(-1)
    assert not [secret for secret in (*site.account.secrets(), WEB_TOKEN, CONTAINER_TOKEN, "hunter2") if secret in journal]


@pytest.mark.limit(180)
@pytest.mark.parametrize("source", SOURCES)
def test_CredentialsAreReplacedBeforeTheyExpire(site, make_daemon, scratch, source):
    daemon = make_daemon(**settings(site, scratch, **SOURCES[source](site, scratch))).start()
    ledger = Ledger("orders")
    with daemon.connect() as client:
        take_until(client, ledger, lambda: len(set(site.front.served)) >= 4)
    assert {key[4:-4] for key in site.front.served} == {source}
    daemon.restart()
    ledger.add(drain(daemon, "orders"))
    ledger.assert_complete(1, ledger.highest() + 1)
    assert f"AWS credentials ASIA{source}0000 from " in daemon.stderr(-1)
    assert_silent(site, daemon)


@pytest.mark.limit(180)
@pytest.mark.parametrize("error", ["ExpiredTokenException", "UnrecognizedClientException"])
def test_RefusedCredentialsAreReplacedAtOnceAndNoIdIsLost(site, make_daemon, scratch, error):
    site.account.seconds = 3_600
    daemon = make_daemon(**settings(site, scratch, **of_instance(site, scratch))).start()
    ledger = Ledger("orders")
    with daemon.connect() as client:
        for life in range(2):
            take_until(client, ledger, lambda: len(set(site.front.served)) > life)
            site.account.revoke_all(error)
        take_until(client, ledger, lambda: len(set(site.front.served)) == 3)
    assert set(site.front.refused) == {error}
    daemon.restart()
    ledger.add(drain(daemon, "orders"))
    ledger.assert_complete(1, ledger.highest() + 1)


@pytest.mark.limit(240)
@pytest.mark.parametrize("source", SOURCES)
def test_ASourceThatMisbehavesIsNamedAndAskedAgain(site, make_daemon, scratch, source):
    site.account.seconds = 3_600
    daemon = make_daemon(**settings(site, scratch, **SOURCES[source](site, scratch)))
    for fault in (*FAULTS, "hang"):
        site.sources.fault = fault
        daemon.start()
        with daemon.connect() as client:
            assert client.error("next", "orders", {"timeout_ms": 500}).code == "UNAVAILABLE", fault
            expect_soon(f"the cause of {fault}", lambda client=client: "there are no AWS credentials: " in str(client.call("status")))
        assert daemon.running()
        assert "/redirected" not in " ".join(site.sources.asked), "a redirection was followed"
        assert_silent(site, daemon)
        daemon.terminate()
    site.sources.fault = "error"
    with daemon.start().connect() as client:
        client.error("next", "orders", {"timeout_ms": 500})
        site.sources.fault = ""
        assert client.next("orders", timeout_ms=60_000) == 1
    assert not site.front.refused, "a request was sent without credentials"


@pytest.mark.limit(120)
def test_TheOldCredentialsServeWhileTheirSourceIsAway(site, make_daemon, scratch):
    site.account.seconds = 20
    daemon = make_daemon(**settings(site, scratch, **of_instance(site, scratch))).start()
    ledger = Ledger("orders")
    with daemon.connect() as client:
        ledger.add([client.next("orders", timeout_ms=30_000)])
        site.sources.fault = "error"
        expect_soon("a refresh that fails", lambda: "the present ones are used" in daemon.stderr(-1))
        served = len(site.front.served)
        take_until(client, ledger, lambda: len(site.front.served) > served)
        take_until(client, ledger, lambda: "there are no AWS credentials: " in str(client.call("status")))
        site.sources.fault = ""
        take_until(client, ledger, lambda: len(set(site.front.served)) == 2)
    ledger.assert_no_duplicate()
    assert_silent(site, daemon)


def test_WithoutCredentialsTheCauseNamesEverySource(site, make_daemon, scratch):
    daemon = make_daemon(**settings(site, scratch)).start()
    with daemon.connect() as client:
        assert client.error("next", "orders", {"timeout_ms": 500}).code == "UNAVAILABLE"
        expect_soon("the cause", lambda: "there are no AWS credentials: " in str(client.call("status")))
        said = str(client.call("status"))
    for word in ("environment: AWS_ACCESS_KEY_ID", "web identity: AWS_WEB_IDENTITY_TOKEN_FILE", "shared files: there is no profile",
                 "container: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "instance metadata: AWS_EC2_METADATA_DISABLED"):
        assert word in said and word in daemon.stderr(-1), word
    assert not site.front.served and not site.front.refused


def test_WhatTheConfigurationNamesComesFirst(site, make_daemon, scratch):
    site.account.seconds = 3_600
    key = site.account.issue("FILE")
    (scratch / "keys").write_text(f"[default]\naws_access_key_id = {key.id}\naws_secret_access_key = {key.secret}\n"
                                  f"aws_session_token = {key.token}\n")
    options = settings(site, scratch, **of_instance(site, scratch), AWS_ACCESS_KEY_ID="AKIDNOBODY", AWS_SECRET_ACCESS_KEY="hunter2")
    options["stores"]["aws"]["aws_credentials_file"] = str(scratch / "keys")
    with make_daemon(**options).start().connect() as client:
        assert client.next("orders", timeout_ms=30_000) == 1
    assert set(site.front.served) == {key.id} and not site.front.refused
