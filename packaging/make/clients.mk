# The clients of other languages: `make test-clients` tests each on the real daemon, as `make test` does, too; `make clients` builds
# their packages. What their tests need besides Debian's packages comes from npm and the Go module proxy.

.PHONY: clients test-clients
clients: wheel pack-node ## packages of the clients for Python and Node.js, in build/clients; Go's is used by its path

test-clients: $(SEQD) $(SEQCTL_BIN) $(BUILD)/old_code $(BUILD)/$(LIBSEQD_SONAME) | $(call packages,TEST) ## the clients for Python, Node.js and Go
	@$(PYTHON) -B tests/summary.py \
	  'Python client' '$(PART) test-python' \
	  'Node.js client' '$(PART) test-node' \
	  'Go client' '$(PART) test-go'
