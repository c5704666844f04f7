# `make deb`: Debian packages of what is committed, in build/deb. DEB_BUILD_OPTIONS= is dpkg-buildpackage's; without it the unit tests
# are left out, because `make test` has them. packaging/debian is what becomes debian/.

PACKAGES_DEB := build-essential debhelper dpkg-dev git $(PACKAGES_BUILD) $(PACKAGES_INSTALL)
PACKAGES_LINTIAN := lintian
PACKAGES_MACHINE := mmdebstrap systemd-container git util-linux python3
PACKAGES_IMAGE := mmdebstrap podman runc

.PHONY: deb lint-deb deb-reproducible test-packages test-image
deb: | $(call packages,DEB) ## Debian packages of the commit, in build/deb
	@packaging/build-deb.sh $(VERSION) build/deb

lint-deb: deb | $(call packages,LINTIAN) ## lintian on the packages; nothing is left to complain about
	@lintian --allow-root --pedantic --display-info --fail-on error,warning,info,pedantic build/deb/*.changes && echo "packages: good"

deb-reproducible: deb ## build the packages once more, elsewhere, and compare the bytes
	@TZ=Pacific/Chatham LANG=C packaging/build-deb.sh $(VERSION) build/deb-elsewhere/once-more
	@packaging/compare-debs.sh build/deb build/deb-elsewhere/once-more

# The clients of the load come with the build.
test-packages: deb $(BUILD)/tools/kill_client | $(call packages,DEB) $(call packages,MACHINE) ## the packages in a booted Debian 12: install, upgrade under load, purge (needs root)
	@$(PYTHON) -B tests/packages/build_deb_test.py
	@tests/packages/run.sh build/deb $(BUILD)/tools/kill_client

test-image: deb | $(call packages,IMAGE) ## the image of packaging/containers, built by podman of the packages, and tried (needs root)
	@tests/packages/image.sh build/deb $(VERSION)
