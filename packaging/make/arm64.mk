# `make arm64`: seqd for arm64, built by the cross compiler and run by qemu, in a Debian 12 of its own. Needs root.

PACKAGES_ARM64 := mmdebstrap systemd-container util-linux file

.PHONY: arm64
arm64: | $(call packages,ARM64) ## cross-build for arm64 into build/arm64, and run it by qemu (needs root)
	@tests/machine/arm64.sh build/arm64 $(filter-out g++ pkg-config,$(PACKAGES_BUILD))
