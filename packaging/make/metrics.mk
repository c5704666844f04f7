# `make test-metrics`: the metrics of a real daemon, read by a real Prometheus, its alert rules and its dashboard. Prometheus
# is unpacked, not installed: its package would start a server. PROMETHEUS= names a directory that has bin/prometheus and
# bin/promtool already.

PROMETHEUS ?= build/prometheus/usr
PACKAGES_METRICS := apt dpkg

export PROMETHEUS

$(PROMETHEUS)/bin/promtool: | $(call packages,METRICS)
	@packaging/unpack-package.sh prometheus $(patsubst %/usr,%,$(PROMETHEUS))
	@touch $@

.PHONY: test-metrics
test-integration: $(PROMETHEUS)/bin/promtool
test-metrics: $(INTEGRATION_BINARIES) $(PROMETHEUS)/bin/promtool | $(call packages,TEST) ## metrics, alert rules and dashboard, with a real Prometheus
	@$(INTEGRATION) $(addprefix tests/integration/service/,test_metrics.py test_monitoring.py test_outage_drill.py)
