# SPDX-License-Identifier: MIT
# The front door only; meson.build builds. demo, stock, test and bench do their
# own set-up on Debian. BUILD is the build folder, SETUP goes to meson setup.
BUILD ?= build
SETUP ?=
# Where Debian says what is installed.
PACKAGES ?= /var/lib/dpkg/status

all: build

# A store that HOLDFAST_URL names may be a module.
demo: setup-build configure
	@meson compile -C $(BUILD) \
		$(or $(if $(HOLDFAST_URL),demo),holdfast:executable contend:executable)
	BUILD=$(BUILD) examples/demo.sh

# Draws what it tells, too.
stock: setup-build configure
	@meson compile -C $(BUILD) $(or $(if $(HOLDFAST_URL),shop),stock:executable)
	$(BUILD)/examples/stock --svg $(BUILD)/stock.svg

test: setup-test build
	tools/run_tests.sh $(BUILD)

# STORE adds all that tests that store.
check: setup-test build
	tools/check.sh $(BUILD) $(STORE)

bench: setup-test build
	BUILD=$(BUILD) bench/run.sh

analyze: setup-ci build
	BUILD=$(BUILD) tools/analyze.sh

soak: setup-test build
	BUILD=$(BUILD) tests/soak.sh

# SECONDS for all targets together; needs clang.
fuzz: setup-test
	tests/fuzz/run.sh $(or $(SECONDS),60)

configure: $(BUILD)/build.ninja

# Again when something was installed since, as by the set-up of test in what
# demo has configured: what was not found before may be there now.
$(BUILD)/build.ninja: $(wildcard $(PACKAGES))
	@meson setup $(if $(wildcard $@),--reconfigure) $(BUILD) $(SETUP)

build: configure
	@meson compile -C $(BUILD)

install: build
	meson install -C $(BUILD) --no-rebuild
	@test -n "$(DESTDIR)" || test "$$(id -u)" != 0 || ldconfig

format:
	tools/format.sh

clean:
	rm -rf $(BUILD)

setup-build setup-test setup-ci:
	@tools/setup.sh $(@:setup-%=%)

.PHONY: all analyze check demo stock test bench soak fuzz configure build install format \
	clean setup-build setup-test setup-ci
.NOTPARALLEL:
