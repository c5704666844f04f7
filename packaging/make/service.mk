# `make test-service`: seqd as a service of a real systemd, booted in a container over a throwaway copy of this system.

.PHONY: test-service captures
test-service: all $(BUILD)/tools/kill_client | $(call packages,TEST) $(call packages,INSTALL) ## seqd in a booted systemd (needs root)
	@tests/service/run.sh $(BUILD)

# `make captures`: the output of seqctl in daemon/doc/OPERATING.md, of a daemon of this build.
PACKAGES_CAPTURES := tmux python3-msgpack util-linux

captures: $(SEQD) $(SEQCTL_BIN) | $(call packages,CAPTURES) ## what seqctl prints in OPERATING.md, made again on a real terminal (needs root)
	@$(PYTHON) -B tests/captures/captures.py $(SEQD) $(SEQCTL_BIN)
