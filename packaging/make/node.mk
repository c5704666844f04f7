# `make test-node`: the client for Node.js on the real daemon, mongod, mongoose, aws-sdk and DynamoDB Local. N= chooses one file (N=session
# runs client-lib/node/tests/session.test.js). KILLS=, CALLS= and IDS= make it longer.

NODE_CLIENT := client-lib/node
# The nodejs of others than Debian has npm inside.
PACKAGES_NODE := nodejs $(if $(shell command -v npm),,npm) util-linux
PACKAGES_NODEBENCH := $(PACKAGES_NODE) redis-server

N ?=
NODE_KILLS := $(if $(filter command environment%,$(origin KILLS)),$(KILLS),20)

# What the lock names, each verified by its digest; none of their scripts runs.
NODE_MODULES := $(NODE_CLIENT)/node_modules/.package-lock.json
$(NODE_MODULES): $(NODE_CLIENT)/package-lock.json | $(call packages,NODE)
	@cd $(NODE_CLIENT) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: test-node bench-node pack-node
test-node: $(SEQD) $(NODE_MODULES) | $(call packages,NODE) $(call packages,TEST) ## the client for Node.js (N=session: one file)
	@cd $(NODE_CLIENT) && BUILD=$(abspath $(BUILD)) KILLS=$(NODE_KILLS) $(PYTHON) -B ../../tests/integration/servers/shared_memory.py node --test --test-reporter=./tests/support/reporter.mjs $(if $(N),tests/$(N).test.js)

bench-node: $(SEQD) $(NODE_MODULES) | $(call packages,NODEBENCH) ## the client for Node.js beside ioredis, in one run
	@cd $(NODE_CLIENT) && BUILD=$(abspath $(BUILD)) node bench/speed.mjs

pack-node: | $(call packages,NODE) ## the package of the client for Node.js: build/clients/seqd-VERSION.tgz
	@mkdir -p build/clients
	@npm pack --silent --pack-destination build/clients ./$(NODE_CLIENT)
