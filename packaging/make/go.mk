# The Go client. `make test-go` runs its tests with a real daemon and MongoDB, also with the race detector; KILLS= is how often
# the daemon is killed (20). `make bench-go` measures it beside go-redis, `make fuzz-go` fuzzes its decoder for GO_SECONDS=.

PACKAGES_GO := golang-go gcc libc6-dev ca-certificates
GO ?= /usr/bin/go
GO_SECONDS ?= 60
GO_KILLS = $(if $(filter file undefined,$(origin KILLS)),20,$(KILLS))

.PHONY: test-go bench-go fuzz-go
test-go: $(SEQD) $(BUILD)/old_code $(BUILD)/$(LIBSEQD_SONAME) | $(call packages,TEST) $(call packages,GO) ## the Go client (KILLS= kills of the daemon)
	@KILLS=$(GO_KILLS) SEQD_BUILD=$(abspath $(BUILD)) $(PYTHON) -B tests/integration/servers/with_mongo.py --mongo-only -- \
	  client-lib/go/run-tests.sh $(GO)

bench-go: $(SEQD) | $(call packages,BENCH) $(call packages,GO) ## the Go client beside go-redis
	@cd client-lib/go/bench && SEQD_BUILD=$(abspath $(BUILD)) $(GO) run . 2>/dev/null

fuzz-go: $(SEQD) | $(call packages,GO) ## the decoder of the Go client, for GO_SECONDS= seconds
	@cd client-lib/go && SEQD_BUILD=$(abspath $(BUILD)) $(GO) test -run '^$$' -fuzz FuzzReply -fuzztime $(GO_SECONDS)s .
