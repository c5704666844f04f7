# The Python client (client-lib/python): `make test-python` tests it with Debian's python3 on the real daemon; T= chooses one file
# (T=restart runs test_restart.py), K= tests by name, KILLS= and CALLS= how long the long ones are. Newer frameworks come from PyPI
# into build/frameworks, by their digests. `make wheel` builds the package into build/clients, `make bench-python` measures beside redis-py.

PYTHON_CLIENT := client-lib/python
PACKAGES_PYTHON := python3 python3-msgpack python3-pytest python3-pymongo python3-sqlalchemy python3-greenlet python3-aiosqlite \
  python3-django python3-gevent python3-eventlet mypy python3-venv python3-pip python3-setuptools python3-wheel
PACKAGES_PYTHON_BENCH := python3 python3-msgpack python3-redis redis-server
PYTHON_KILLS ?= 20
PYTHON_CALLS ?= 100000

.PHONY: test-python wheel bench-python
test-python: $(SEQD) $(SEQCTL_BIN) $(LIBSEQD_SO) | $(call packages,PYTHON) ## the Python client on the real daemon (PYTHON_KILLS=, PYTHON_CALLS=)
	@BUILD=$(BUILD) KILLS=$(PYTHON_KILLS) CALLS=$(PYTHON_CALLS) PYTHON=$(PYTHON) $(PYTHON_CLIENT)/run-tests.sh \
	  $(if $(K),-k '$(K)') $(if $(T),$(PYTHON_CLIENT)/tests/test_$(T).py)

wheel: | $(call packages,PYTHON) ## the Python client as a wheel in build/clients
	@mkdir -p build/clients
	@rm -rf build/clients/python
	@cp -r $(PYTHON_CLIENT) build/clients/python
	@$(PYTHON) -m pip wheel --quiet --no-index --no-build-isolation --no-deps --wheel-dir build/clients build/clients/python
	@rm -rf build/clients/python
	@ls build/clients/*.whl

bench-python: $(SEQD) $(LIBSEQD_SO) | $(call packages,PYTHON_BENCH) ## the Python client beside redis-py
	@SEQD_BIN=$(SEQD) $(PYTHON) -B $(PYTHON_CLIENT)/bench.py
