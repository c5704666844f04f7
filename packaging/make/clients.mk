# The clients of other languages: `make test-clients` tests each on the real daemon, `make clients` builds their packages. Their
# libraries come from PyPI, npm and the Go module proxy, so neither is a part of `make test`.

.PHONY: clients test-clients
clients: wheel pack-node ## packages of the clients for Python and Node.js, in build/clients; Go's is used by its path

test-clients: $(SEQD) $(SEQCTL_BIN) $(BUILD)/old_code | $(call packages,TEST) ## the clients for Python, Node.js and Go
	@$(PYTHON) -B tests/summary.py \
	  'Python client' '$(PART) test-python' \
	  'Node.js client' '$(PART) test-node' \
	  'Go client' '$(PART) test-go'
