# make        build the library, the command line and the benches (build/)
# make test   install what is missing, build, run all tests and lints
# make demo   install what is missing, build, run the main job and leave something to look at
.PHONY: all deps test demo
all: deps
	@cmake --preset release > /dev/null && cmake --build build

deps:
	@scripts/deps.sh

test: deps
	@scripts/test.sh

demo: all
	@echo "not yet"
