"""A reply leaves only after its record: the daemon is held in the very system call that sends the reply, and killed there."""

HELD_US = 400_000


def test_AnIdWhoseReplyWasJustSentIsNotIssuedAgainAfterAKill(daemon):
    with daemon.connect() as client:
        assert client.next() == 1
    # Killed again and again in the moment in which a client has its ID and the daemon has done nothing since.
    for last in range(2, 5):
        daemon.kill()
        daemon.prefix = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=write",
                         "-e", f"inject=write:delay_exit={HELD_US}"]
        daemon.start()
        with daemon.connect() as client:
            got = client.next()
            daemon.kill()
        daemon.prefix = []
        assert got == last
        daemon.start()
