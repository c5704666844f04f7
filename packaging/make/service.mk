# `make test-service`: seqd as a service of a real systemd, booted in a container over a throwaway copy of this system.

.PHONY: test-service
test-service: all $(BUILD)/tools/kill_client | $(call packages,TEST) $(call packages,INSTALL) ## seqd in a booted systemd (needs root)
	@tests/service/run.sh $(BUILD)
