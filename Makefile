# make demo      one MPI program with and without the library, side by side
# make lib       build/out/libcmpi.so and build/out/cmpi
# make test      everything; the last line counts
# make apps      programs of others in full (tests/apps), installed if missing; long
# make vm        two emulated machines that share a memory device (tests/vm), as
#                root; installs what is missing; long
# make race      the pure-Go packages under the race detector
# make fuzz      every fuzz target for FUZZTIME (5s)
# make lint      gofmt, go vet, staticcheck
# make bench     all measurements, minutes; BENCHFLAGS='--quick' for a taste,
#                OSU_DIR=dir to run installed OSU micro-benchmarks instead of ours
# make install   to PREFIX (/usr/local), below DESTDIR if given: library, command,
#                headers, pkg-config file, manual pages, completion of shells
# make clean     remove build/out

PREFIX  ?= /usr/local
DESTDIR ?=
FUZZTIME ?= 5s
BENCHFLAGS ?=

GO  ?= go
OUT := build/out
VERSION := $(shell cat build/VERSION)
LDFLAGS := -s -w -X main.version=$(VERSION)
# What the library and the command are made of; the Go tool knows what to rebuild.
GO_BUILD := $(GO) build -trimpath

# Not "go run", which would print a line of its own after the closing one.
TESTSUM := $(GO) build -o $(OUT)/testsum ./build/testsum && $(OUT)/testsum -fuzztime $(FUZZTIME)

.DEFAULT_GOAL := lib
.PHONY: lib library command demo test apps vm race fuzz lint bench install clean

lib: library command

library:
	$(GO_BUILD) -buildmode=c-shared -ldflags='-s -w' -o $(OUT)/libcmpi.so ./shim
	@rm -f $(OUT)/libcmpi.h # generated; the documented headers are in c/include

command:
	$(GO_BUILD) -ldflags='$(LDFLAGS)' -o $(OUT)/cmpi ./cmd/cmpi

demo: lib
	@$(OUT)/cmpi demo --out $(OUT)/demo

test: lib
	@$(TESTSUM)

apps: lib
	build/setup --apps
	$(GO) test -count=1 -timeout 120m -v ./tests/apps -full

vm:
	$(GO) run ./tests/vm

race:
	@$(TESTSUM) race

fuzz:
	@$(TESTSUM) fuzz

lint:
	@$(TESTSUM) lint

bench: lib
	$(OUT)/cmpi bench --out $(OUT)/bench $(if $(OSU_DIR),--osu-dir '$(OSU_DIR)') $(BENCHFLAGS)

install: lib
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/lib/pkgconfig' '$(DESTDIR)$(PREFIX)/include'
	install -m 755 $(OUT)/cmpi '$(DESTDIR)$(PREFIX)/bin/cmpi'
	install -m 755 $(OUT)/libcmpi.so '$(DESTDIR)$(PREFIX)/lib/libcmpi.so'
	install -m 644 c/include/*.h '$(DESTDIR)$(PREFIX)/include/'
	$(OUT)/cmpi man '$(DESTDIR)$(PREFIX)/share/man/man1'
	install -d '$(DESTDIR)$(PREFIX)/share/bash-completion/completions' '$(DESTDIR)$(PREFIX)/share/zsh/site-functions' \
		'$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d'
	$(OUT)/cmpi completion bash >'$(DESTDIR)$(PREFIX)/share/bash-completion/completions/cmpi'
	$(OUT)/cmpi completion zsh >'$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_cmpi'
	$(OUT)/cmpi completion fish >'$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/cmpi.fish'
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' build/cmpi.pc.in >'$(DESTDIR)$(PREFIX)/lib/pkgconfig/cmpi.pc'

clean:
	rm -rf $(OUT)
