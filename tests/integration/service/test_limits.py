"""Every limit over the socket: what lies at it works, what lies above it is refused."""

from rpc import Closed, RpcError, ids_of


def test_CountAtTheLimitWorksAndAboveIsTooLarge(make_daemon):
    daemon = make_daemon(limits={"max_count": 50}).start()
    with daemon.connect() as client:
        assert len(ids_of(client.call("range", "orders", 49))) == 49
        assert len(ids_of(client.call("range", "orders", 50))) == 50
        for count in (51, 2**31, 2**63, 2**64 - 1):
            error = client.error("range", "orders", count)
            assert error.code in ("TOO_LARGE", "BAD_REQUEST") and error.fault == 1
        assert client.next() == 100


def test_NameAtTheLimitWorksAndAboveIsTooLarge(make_daemon):
    daemon = make_daemon().start()
    with daemon.connect() as client:
        assert client.next("a" * 127) == 1
        assert client.next("a" * 128) == 1
        error = client.error("next", "a" * 129)
        assert (error.code, error.fault) == ("TOO_LARGE", 1)


def ping_of_size(size: int) -> bytes:
    head = b"\x94\x00\x07\xa4ping\x91"
    body = size - len(head) - 3
    return head + b"\xda" + body.to_bytes(2, "big") + b"x" * body


def test_FrameAtTheLimitWorksAndAboveCloses(make_daemon):
    daemon = make_daemon(limits={"max_request_size": 1024}).start()
    with daemon.connect() as client:
        for size in (1023, 1024):
            client.send(ping_of_size(size))
            assert client.read_reply() == (7, None, "pong")
        client.send(ping_of_size(1025))
        replies = client.rest()
        assert len(replies) == 1 and replies[0][1][1].startswith("TOO_LARGE: ")


def test_DepthAtTheLimitWorksAndAboveCloses(make_daemon):
    daemon = make_daemon().start()
    with daemon.connect() as client:
        # The request itself is one level and its parameters are the second.
        for inner in (2, 6):
            client.send(b"\x94\x00\x07\xa4ping\x91" + b"\x91" * (inner - 1) + b"\x90")
            assert client.read_reply() == (7, None, "pong")
        client.send(b"\x94\x00\x07\xa4ping\x91" + b"\x91" * 6 + b"\x90")
        replies = client.rest()
        assert len(replies) == 1 and replies[0][1][1].split(":")[0] in ("TOO_LARGE", "BAD_REQUEST")


def test_ConnectionsUpToTheLimitAreServedAndTheNextIsRefused(make_daemon):
    daemon = make_daemon(limits={"max_connections": 5}).start()
    clients = [daemon.connect() for _ in range(5)]
    assert [client.next() for client in clients] == [1, 2, 3, 4, 5]
    with daemon.connect() as surplus:
        replies = surplus.rest()
        assert all(error[1].startswith("BUSY: ") for _, error, _ in replies)
    clients.pop().close()
    assert served_when_there_is_room(daemon) == 6


def served_when_there_is_room(daemon) -> int:
    """Asks until a connection is accepted: the daemon learns of a close in its own time."""
    while True:
        with daemon.connect() as client:
            try:
                return client.next()
            except Closed:
                continue
            except RpcError as error:
                assert error.code == "BUSY", error


def test_MoreRequestsThanThePipelineLimitAreAllAnswered(make_daemon):
    daemon = make_daemon(limits={"max_requests_in_flight": 4}).start()
    with daemon.connect() as client:
        assert sorted(client.many("orders", 2000)) == list(range(1, 2001))


def test_SequencesAboveTheLimitAreBusy(make_daemon):
    daemon = make_daemon(limits={"max_sequences": 3}).start()
    with daemon.connect() as client:
        assert [client.next(name) for name in "ab"] == [1, 1]
        error = client.error("next", "c")  # the last place is for another user
        assert error.code == "BUSY" and "one user may not have all of them" in error.text
        assert client.next("a") == 2
        # An administrator makes room.
        assert client.call("drain", "b", {"remove": True})[0]["removed"]
        assert client.next("c") == 1
