# make        build the library, the command line and the benches (build/)
# make test   install what is missing, build, run all tests and lints
# make demo   install what is missing, build, run the main job and leave something to look at
# make soak   the tests with their full counts
# make tsan   the tests that use threads under the thread sanitizer
# make peers  install the engines Knuckle is measured against, and build what the benches load of them
# make bench  the peers installed, run every bench (table; bench/results/*.json, *.svg)
# make docs   renew the pages that are written by commands (docs/cli.md, docs/scenes.md), the map of the source and of
#             a step and the curves (docs/pictures), and the C API reference (build/api/index.html)
# make install [PREFIX=/usr/local] [DESTDIR=]   library, headers, command line, manual pages, completions
# make uninstall [DESTDIR=]                     what the last `make install` put there
# make deb    a Debian package in build/package
# make site   the documents as a site that needs no network: tutorial, Python and C API, physics, gallery (build-site/html/index.html)
# make wheel    the Python package as a wheel that needs no compiler (build-wheel/dist)
# make hashes   the golden hashes over compilers, optimisation, instruction sets, aarch64, WebAssembly, threads, locales, Python (docs/hashes.md)
# make coverage branches of the core that the tests take, by layer, and the gate
# make nightly  what takes long: all of the above that `make test` leaves out, the sanitizers of threads and of memory, every model verified, the campaign, the fuzzers,
#               the wheel in a fresh Debian, the site, a study on Ray, recordings through Rerun; every part, then which failed
# make wasm   the engine as WebAssembly (viewer/engine/dist/knuckle.wasm)
# make viewer the page of `knuckle view` with the engine inside (viewer/dist/view.html)
# make viewer-test   its tests, in node and in a real Chromium
.PHONY: all deps test soak tsan demo peers bench docs install uninstall deb wheel site hashes coverage nightly wasm viewer viewer-test
all: deps
	@scripts/build.sh release

deps:
	@scripts/deps.sh

test: deps
	@scripts/test.sh

soak: deps
	@KN_EFFORT=$${KN_EFFORT:-20} scripts/test.sh

tsan: deps
	@scripts/tsan.sh

demo: all
	@scripts/demo.sh

peers: all
	@scripts/peers.sh

bench: deps peers all
	@scripts/bench.sh

docs: all
	@build/knuckle help --markdown > docs/cli.md
	@build/knuckle help --troubles > docs/troubles.md
	@build/gallery docs
	@scripts/map.py
	@scripts/figures.sh
	@scripts/api.sh build/api

PREFIX ?= /usr/local
install: all
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)" > build/install.log || { cat build/install.log; exit 1; }
	@echo "installed under $(DESTDIR)$(PREFIX); make uninstall removes it"

uninstall:
	@DESTDIR="$(DESTDIR)" scripts/uninstall.sh

deb: all
	@cd build && cpack --config CPackConfig.cmake -B package > package.log 2>&1 || { cat package.log; exit 1; }
	@ls build/package/*.deb

wheel: deps viewer
	@scripts/wheel.sh

site: all
	@scripts/site.sh

hashes: deps
	@scripts/hashes.sh

coverage: deps
	@scripts/coverage.sh

nightly: all
	@scripts/nightly.sh

wasm:
	@viewer/engine/build.sh

viewer: wasm
	@scripts/viewer.sh

viewer-test: all viewer
	@scripts/viewer.sh test
