# `make run`: the daemon in the foreground, with the embedded store. SOCKET= STATE= CONFIG= choose others.
# The witness, which tells a restart from a copy of the state, has to lie on a tmpfs and belong to one user and state directory.

SOCKET ?= build/run/seqd.sock
STATE ?= build/run/state
CONFIG ?=

.PHONY: run
run: $(SEQD) $(SEQCTL_BIN) ## build and run the daemon in the foreground (SOCKET=, STATE=, CONFIG=)
	@packaging/run.sh $(SEQD) $(SEQCTL_BIN) '$(SOCKET)' '$(STATE)' '$(CONFIG)'
