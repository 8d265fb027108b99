# make        build the library, the command line and the benches (build/)
# make test   install what is missing, build, run all tests and lints
# make demo   install what is missing, build, run the main job and leave something to look at
# make soak   the tests with their full counts
# make peers  install the engines Knuckle is measured against
# make bench  the peers installed, run every bench (table; bench/results/*.json, *.svg)
# make docs   renew the pages that are written by commands (docs/cli.md, docs/scenes.md)
# make wasm   the engine as WebAssembly (viewer/engine/dist/knuckle.wasm)
# make viewer the page of `knuckle view` with the engine inside (viewer/dist/view.html)
# make viewer-test   its tests, in node and in a real Chromium
.PHONY: all deps test soak demo peers bench docs wasm viewer viewer-test
all: deps
	@scripts/build.sh release

deps:
	@scripts/deps.sh

test: deps
	@scripts/test.sh

soak: deps
	@KN_EFFORT=$${KN_EFFORT:-20} scripts/test.sh

demo: all
	@scripts/demo.sh

peers:
	@scripts/peers.sh

bench: deps peers all
	@scripts/bench.sh

docs: all
	@build/knuckle help --markdown > docs/cli.md
	@build/gallery docs

wasm:
	@viewer/engine/build.sh

viewer: wasm
	@scripts/viewer.sh

viewer-test: all viewer
	@scripts/viewer.sh test
