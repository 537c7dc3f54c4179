# SPDX-License-Identifier: MIT
# neso: `make run` builds and runs the fused softmax; `make test` tests. Only gcc (or clang), libc6-dev and make are needed.
# `make CC=aarch64-linux-gnu-gcc` builds for another machine; the names of the other tools follow from CC.
# `make V=1` shows the commands.
BUILD   ?= build
CC      ?= gcc
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
SAN     ?=
VERSION  = 0.1
SONAME   = libneso.so.0
LDLIBS   = -lm -ldl -lpthread
STRICT   = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
# Without these flags, padding adds 65 KB to the library and saves no time; inlining functions that are not declared
# inline, threading jumps, and copying the tests of loops, add 150 KB and save 6 % of the time from source to PTX; the
# last five optimisations add 8 KB. clang refuses the names in the last line.
DENSE    = -fno-align-functions -fno-align-jumps -fno-align-loops -fno-inline-functions -fno-inline-functions-called-once \
           $(if $(findstring clang,$(CC)),-Wno-ignored-optimization-argument,-fno-thread-jumps -fno-tree-ch \
           -fno-tree-slp-vectorize -fno-tree-dominator-opts -fno-caller-saves -fno-tree-pre -fno-tree-loop-im)
OURS     = -std=c11 -D_DEFAULT_SOURCE $(STRICT) -fPIC -fvisibility=hidden -fno-asynchronous-unwind-tables -ffunction-sections $(DENSE) -ffp-contract=off -I. -MMD -MP $(SAN)

# With CC=aarch64-linux-gnu-gcc, the tools are aarch64-linux-gnu-objcopy and so on.
CROSS   := $(if $(findstring -gcc,$(notdir $(CC))),$(firstword $(subst -gcc, ,$(CC)))-)
OBJCOPY ?= $(CROSS)objcopy
STRIP   ?= $(CROSS)strip
ifneq ($(CROSS),)
AR = $(CROSS)ar
LD = $(CROSS)ld
endif

FOLDERS  = $(sort $(dir $(wildcard $(foreach r,ir frontend opt codegen runtime,$r/*.[ch] $r/*/*.[ch] $r/*/*/*.[ch]))))
COMMAND  = $(wildcard runtime/command/*.c runtime/command/*/*.c runtime/manual/*.c)
SOURCES  = $(filter-out $(COMMAND),$(sort $(wildcard $(FOLDERS:%=%*.c))))
TEXTS    = $(patsubst %,$(BUILD)/%.c,frontend/prelude.py frontend/libdevice.py frontend/python/library.py \
           runtime/host/modules.py runtime/host/standard.py)
PAGE     = $(patsubst %,$(BUILD)/runtime/command/inspect/%.o,inspect.html inspect.js inspect_text.js inspect_views.js)
OBJECTS  = $(SOURCES:%.c=$(BUILD)/%.o) $(TEXTS:%.c=%.o) $(BUILD)/build_id.o
LINK     = $(CC) $(SAN) $(LDFLAGS)

$(if $(V),,$(eval .SILENT:))
SAY      = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,echo '$(1)';)
all: $(BUILD)/neso $(BUILD)/libneso.so $(BUILD)/libneso.a

# -- the library and the command --

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call SAY,cc $<)$(CC) $(CFLAGS) $(OURS) -c $< -o $@

$(BUILD)/%.o: $(BUILD)/%.c
	$(CC) $(CFLAGS) $(OURS) -c $< -o $@

# Converts a text to a C array: prelude.py becomes prelude_py[], with a 0 at the end. In Python, comments, except
# headings, become empty lines, and a level of indentation becomes a tab, which saves 9 KB.
$(BUILD)/%.c: % Makefile
	@mkdir -p $(@D)
	{ echo 'extern const char $(subst .,_,$(*F))[]; const char $(subst .,_,$(*F))[] = {'; \
	  $(if $(filter %.py,$<),sed -e '/^ *#/{/^# -- /!s/.*//;}' -e ':a' -e 's/^\(\t*\)    /\1\t/;ta',cat) $< | od -An -v -tx1 | sed 's/ \([0-9a-f][0-9a-f]\)/(char)0x\1, /g'; echo '0};'; } > $@

# Identifies the compiler in keys of the cache by a digest of its source.
$(BUILD)/build_id.c: $(SOURCES) $(wildcard $(FOLDERS:%=%*.h) $(FOLDERS:%=%*.py))
	@mkdir -p $(@D)
	{ echo '#include "runtime/cache.h"'; printf 'const char compiler_build[] = "'; \
	  cat $^ | sha256sum | cut -c 1-40 | tr -d '\n'; echo '";'; } > $@

$(BUILD)/inner.a: $(OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

# The library exports only what neso.h marks. The archive has one object, in which all other symbols are local.
$(BUILD)/neso.o: $(OBJECTS)
	$(LD) -r -o $@ $^
	$(OBJCOPY) --wildcard --keep-global-symbol='neso_*' $@

$(BUILD)/libneso.a: $(BUILD)/neso.o
	@rm -f $@
	$(AR) rcs $@ $^

# Packed relocations of tables save 170 KB. C libraries from before 2022 cannot read packed relocations, so a small
# program tests whether they work.
PACKED   = $(shell echo 'int main(void) { return 0; }' | $(CC) -x c - -fPIE -pie -Wl,-z,pack-relative-relocs,--fatal-warnings \
                   -o $(BUILD)/packed 2>/dev/null && $(BUILD)/packed && echo -Wl,-z,pack-relative-relocs)
$(BUILD)/libneso.so: $(OBJECTS)
	$(call SAY,link $@)$(LINK) $(PACKED) -shared -Wl,--gc-sections -Wl,-soname,$(SONAME) -Wl,-z,defs $^ $(LDLIBS) -o $@
	ln -sf libneso.so $(BUILD)/$(SONAME)

$(BUILD)/neso: $(COMMAND:%.c=$(BUILD)/%.o) $(PAGE) $(BUILD)/libneso.a
	$(call SAY,link $@)$(LINK) $^ $(LDLIBS) -o $@

include tests/rules.mk

units: $(UNITS) $(patsubst %,$(BUILD)/%,random_kernels gpu_ops gpu_dots gpu_insns machine_code)
api: $(APIS)
run: all
	@$(BUILD)/neso run --keep-ptx $(BUILD) tests/programs/announcement_softmax.py
	@echo "All checks hold. The PTX of each specialization is in $(BUILD)/*.ptx."
test: all units api ; tests/check
test-fast: all units ; tests/run --fast
test-all: all units api ; tests/check --all
# `make random N=10000 SEED=1`: random kernels, judged by two devices that share no code.
random: $(BUILD)/random_kernels
	$(BUILD)/random_kernels $(or $(N),10000) $(SEED)
bench: all $(BUILD)/bench/compile
	$(BUILD)/bench/compile $(BUILD)/neso
format: ; clang-format -i $$(git ls-files '*.c')
clean: ; rm -rf $(BUILD)

# -- the manual: neso.md, a page for man, and neso.html where one of three Debian packages is found --
MANUAL  ?= $(BUILD)/manual
manual: all
	runtime/manual/make.sh $(BUILD)/neso $(MANUAL)

# -- Python --

# The extension that launches kernels. It uses Python's stable ABI (3.9 and later), and is not linked with libneso.
PYTHON  ?= python3
LAUNCHES = runtime/python/neso/_launch.abi3.so
python: $(LAUNCHES)
$(LAUNCHES): $(wildcard runtime/python/neso/extension/*.[ch]) runtime/neso.h
	headers=$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))') && \
	if [ ! -e $$headers/Python.h ]; then echo 'make python needs Python.h (Debian: python3-dev); without it launches go through ctypes'; exit 1; fi; \
	$(CC) $(CFLAGS) -std=c11 $(filter-out -Wpedantic,$(STRICT)) -fPIC -fvisibility=hidden -shared -I. -I$$headers $(filter %.c,$^) -o $@
wheel: all
	$(PYTHON) runtime/python/build_wheel.py $(BUILD)

# -- distribution --

# All sources as one file: `make amalgamation && cc -c build/neso.c`.
amalgamation: $(BUILD)/neso.c
$(BUILD)/neso.c: runtime/amalgamate.awk $(SOURCES) $(TEXTS) $(BUILD)/build_id.c
	cp runtime/neso.h $(BUILD)
	awk -f $^ > $@

# Makes PREFIX absolute, because neso.pc contains it. bash expands the tilde of PREFIX=~/.local, but zsh and dash do
# not.
override PREFIX := $(abspath $(patsubst ~/%,$(HOME)/%,$(PREFIX)))
ROOT = $(DESTDIR)$(PREFIX)
install: all
	install -d $(addprefix $(ROOT)/,bin include lib/pkgconfig lib/cmake/neso)
	install -m 755 $(BUILD)/neso $(ROOT)/bin
	install -m 755 $(BUILD)/libneso.so $(ROOT)/lib/libneso.so.$(VERSION)
	$(STRIP) $(ROOT)/bin/neso $(ROOT)/lib/libneso.so.$(VERSION)
	ln -sf libneso.so.$(VERSION) $(ROOT)/lib/$(SONAME)
	ln -sf $(SONAME) $(ROOT)/lib/libneso.so
	install -m 644 $(BUILD)/libneso.a $(ROOT)/lib
	install -m 644 runtime/neso.h runtime/neso.hpp $(ROOT)/include
	install -m 644 runtime/neso-config.cmake $(ROOT)/lib/cmake/neso
	sed 's/@VERSION@/$(VERSION)/' runtime/neso-config-version.cmake >$(ROOT)/lib/cmake/neso/neso-config-version.cmake
	$(if $(CROSS),,$(foreach x,help_--man:man/man1/neso.1 completion_bash:bash-completion/completions/neso completion_zsh:zsh/site-functions/_neso \
	  completion_fish:fish/vendor_completions.d/neso.fish,install -d $(ROOT)/share/$(dir $(word 2,$(subst :, ,$x))) && \
	  $(BUILD)/neso $(subst _, ,$(word 1,$(subst :, ,$x))) > $(ROOT)/share/$(word 2,$(subst :, ,$x)) &&) true)
	printf '%s\n' 'prefix=$(PREFIX)' 'Name: neso' 'Description: Triton kernels to PTX' 'Version: $(VERSION)' \
	  'Cflags: -I$${prefix}/include' 'Libs: -L$${prefix}/lib -lneso' 'Libs.private: $(LDLIBS)' > $(ROOT)/lib/pkgconfig/neso.pc
uninstall:
	rm -f $(addprefix $(ROOT)/share/,man/man1/neso.1 bash-completion/completions/neso zsh/site-functions/_neso fish/vendor_completions.d/neso.fish)
	rm -f $(addprefix $(ROOT)/,bin/neso include/neso.h include/neso.hpp $(addprefix lib/,libneso.a libneso.so $(SONAME) libneso.so.$(VERSION) pkgconfig/neso.pc cmake/neso/neso-config.cmake cmake/neso/neso-config-version.cmake))

.PHONY: all fuzzers units api run test test-fast test-all random bench python wheel amalgamation manual install uninstall format clean
.SECONDARY:
-include $(OBJECTS:.o=.d) $(COMMAND:%.c=$(BUILD)/%.d) $(wildcard $(BUILD)/tests/*/*.d)
