# neso: `make run` builds and runs the fused softmax; `make test` tests. Nothing but gcc (or clang) and make is needed.
BUILD   ?= build
CC      ?= gcc
VERSION  = 0.1
STRICT   = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
CFLAGS  ?= -O2 -g
SAN     ?=
NCFLAGS  = -std=c11 -D_DEFAULT_SOURCE $(STRICT) -fPIC -fvisibility=hidden -fno-asynchronous-unwind-tables -ffunction-sections -falign-functions=4 -ffp-contract=off -I. -MMD -MP $(SAN)
# gcc pads before the targets of jumps and before loops, which costs the library 28 KB and gains nothing here; clang does not.
PADDING := $(shell $(CC) -Werror -fno-align-jumps -fno-align-labels -fno-align-loops -c -x c -o /dev/null /dev/null 2>/dev/null && echo -fno-align-jumps -fno-align-labels -fno-align-loops)
NCFLAGS += $(PADDING)
PREFIX  ?= /usr/local
LDLIBS   = -lm -ldl -lpthread

ROOMS    = ir frontend opt codegen runtime runtime/emulator
COMMAND  = runtime/main.c runtime/statistics.c $(wildcard runtime/command_*.c)
SOURCES  = $(filter-out $(COMMAND),$(sort $(foreach r,$(ROOMS),$(wildcard $(r)/*.c))))
TEXTS    = $(patsubst %.py,$(BUILD)/%_py.c,$(wildcard frontend/*.py runtime/*.py))
OBJECTS  = $(SOURCES:%.c=$(BUILD)/%.o) $(TEXTS:%.c=%.o) $(BUILD)/build_id.o
CPLUSPLUS := $(shell command -v $(CXX) 2>/dev/null)
APIS     = $(patsubst tests/api/%.c,$(BUILD)/tests/api_%,$(wildcard tests/api/*.c)) \
           $(if $(CPLUSPLUS),$(patsubst tests/api/%.cpp,$(BUILD)/tests/api_%,$(wildcard tests/api/*.cpp)))
UNITS    = $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/*.c)) \
           $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz_%,$(filter-out %/replay.c %/mutate.c,$(wildcard tests/fuzz/*.c)))

all: $(BUILD)/neso $(BUILD)/libneso.so $(BUILD)/libneso.a

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(NCFLAGS) -c $< -o $@

# What is written in Python, as an array of its bytes, without what only a reader needs: comments but the headings of
# sections, empty lines, blanks around operators, and all but one blank a level of indentation; and packed.
SHORTEN = /^$(HASH) -- /b; /^ *($(HASH)|$$)/d; s/  $(HASH) .*//; /^import triton$$/d; \
          s/^import triton.language as tl/&\nfrom triton import jit as j/; s/^@triton.jit/@j/; \
          :a; s/^(\t*)    /\1\t/; ta; y/\t/ /; /["']/!s/ ?([-+*\/%=<>!&|^,:]+) /\1/g
HASH    = \#

$(BUILD)/%_py.c: %.py frontend/pack.awk Makefile
	@mkdir -p $(@D)
	{ echo 'extern const unsigned char $(*F)_py[];'; echo 'const unsigned char $(*F)_py[] = {'; \
	  sed -E "$$SHORTEN" $< | LC_ALL=C awk -f frontend/pack.awk; echo '};'; } > $@
$(BUILD)/%_py.c: export SHORTEN := $(SHORTEN)

# The page of `neso inspect`, likewise.
$(BUILD)/runtime/command_page.c: runtime/inspect.html
	@mkdir -p $(@D)
	{ echo '#include "runtime/command_inspect.h"'; echo 'const char inspect_page[] = {'; \
	  od -An -v -tx1 $< | sed 's/ \([0-9a-f][0-9a-f]\)/(char)0x\1, /g'; echo '0};'; } > $@

$(BUILD)/runtime/command_page.o: $(BUILD)/runtime/command_page.c
	$(CC) $(CFLAGS) $(NCFLAGS) -c $< -o $@

# Which compiler this is, for the keys of the cache: a digest of its source.
$(BUILD)/build_id.c: $(SOURCES) $(foreach r,$(ROOMS),$(wildcard $(r)/*.h $(r)/*.py))
	@mkdir -p $(@D)
	{ echo '#include "runtime/cache.h"'; printf 'const char compiler_build[] = "'; \
	  cat $^ | sha256sum | cut -c 1-40 | tr -d '\n'; echo '";'; } > $@

$(BUILD)/build_id.o: $(BUILD)/build_id.c
	$(CC) $(CFLAGS) $(NCFLAGS) -c $< -o $@

$(TEXTS:%.c=%.o): %.o: %.c
	$(CC) $(CFLAGS) $(NCFLAGS) -c $< -o $@

# What computes or launches, and what the compiler does most (arenas, maps, text), is built as CFLAGS say; the rest small, as far
# as this compiler knows how.
HOT = $(filter-out %_race.c %_overflow.c,$(wildcard runtime/interpreter*.c)) runtime/launch.c runtime/tensor.c \
      $(wildcard ir/scalar*.c) $(patsubst %,ir/%.c,smallfloat arena map text) \
      $(patsubst %,runtime/emulator/%.c,exec arith float warp memory shared wgmma)
SMALL := $(foreach f,-Os -Oz -fno-inline-functions-called-once -fno-move-loop-invariants -fno-caller-saves -fipa-pta,\
           $(shell $(CC) -Werror $f -c -x c -o /dev/null /dev/null 2>/dev/null && echo $f))
$(patsubst %.c,$(BUILD)/%.o,$(filter-out $(HOT),$(SOURCES))): NCFLAGS += $(SMALL)

$(BUILD)/inner.a: $(OBJECTS)
	@rm -f $@
	ar rcs $@ $^

# What the library exports is what neso.h marks; the archive is one object with everything else made local.
$(BUILD)/neso.o: $(OBJECTS)
	$(LD) -r -o $@ $^
	objcopy --wildcard --keep-global-symbol='neso_*' $@

$(BUILD)/libneso.a: $(BUILD)/neso.o
	@rm -f $@
	ar rcs $@ $^

# Packed, the addresses in tables take 160 KB less; a linker or C library from before 2022 does not know how.
PACKED = $(shell echo 'int main(void) { return 0; }' | $(CC) -x c - -fPIE -pie -Wl,-z,pack-relative-relocs,--fatal-warnings \
                 -o $(BUILD)/packed 2>/dev/null && $(BUILD)/packed && echo -Wl,-z,pack-relative-relocs)

$(BUILD)/libneso.so: $(OBJECTS)
	$(CC) $(SAN) $(LDFLAGS) $(PACKED) -shared -Wl,--gc-sections -Wl,-soname,libneso.so -Wl,-z,defs -Wl,-z,noseparate-code $^ $(LDLIBS) -o $@

$(BUILD)/neso: $(COMMAND:%.c=$(BUILD)/%.o) $(BUILD)/runtime/command_page.o $(BUILD)/libneso.a
	$(CC) $(SAN) $(LDFLAGS) -no-pie $^ $(LDLIBS) -o $@

# Made from the op table, hence linked with the inner objects; for a machine with a GPU, or the emulator.
$(BUILD)/gpu_%: $(BUILD)/tests/gpu/%.o $(BUILD)/inner.a
	$(CC) $(SAN) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/gpu_insns: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/gpu/insns_*.c))

# Examples of embedding: they see neso.h and the archive, nothing else.
$(BUILD)/tests/api_%: tests/api/%.c $(BUILD)/libneso.a
	@mkdir -p $(@D)
	$(CC) -std=c11 $(STRICT) $(SAN) $(CFLAGS) -Iruntime $< $(BUILD)/libneso.a $(LDLIBS) -o $@

$(BUILD)/tests/api_%: tests/api/%.cpp $(BUILD)/libneso.a
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror $(SAN) $(CFLAGS) -Iruntime $< $(BUILD)/libneso.a $(LDLIBS) -o $@

$(BUILD)/bench/%: bench/%.c $(BUILD)/libneso.a
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_DEFAULT_SOURCE $(STRICT) $(CFLAGS) -Iruntime $< $(BUILD)/libneso.a $(LDLIBS) -o $@

$(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(BUILD)/inner.a
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/tests/statistics: $(BUILD)/runtime/statistics.o
# It gives the emulator PTX with a line left out.
$(BUILD)/tests/emulator_deletions: LDFLAGS += -Wl,--wrap=emulator_load

# A fuzz target over its corpus, and under the fuzzer: `make fuzz-parse && build/fuzz/fuzz_parse tests/fuzz/parse`.
$(BUILD)/tests/fuzz_%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/replay.o $(BUILD)/inner.a
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) $^ $(LDLIBS) -o $@

BENCH = $(patsubst %,$(BUILD)/runtime/%.o,statistics command_bench_judge command_bench_pair command_bench_report command_bench_rules command_bench_set)
$(BUILD)/tests/fuzz_baseline $(BUILD)/fuzz_baseline: $(BENCH)

FUZZED   = SAN="-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all" CFLAGS="-O1 -gline-tables-only"
FUZZERS  = $(filter-out replay mutate,$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c)))
fuzz-%:
	$(MAKE) BUILD=$(BUILD)/fuzz CC=clang $(FUZZED) $(BUILD)/fuzz/fuzz_$*
fuzzers:
	$(MAKE) BUILD=$(BUILD)/fuzz CC=clang $(FUZZED) $(FUZZERS:%=$(BUILD)/fuzz/fuzz_%)

ifneq ($(findstring fuzz,$(BUILD)),)
$(BUILD)/fuzz_%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/mutate.o $(BUILD)/inner.a
	$(CC) -fsanitize=fuzzer,address,undefined $^ $(LDLIBS) -o $@
endif

# Random kernels, judged by two devices that share no code: `make random N=10000 SEED=1`. Not among the units: see tests/random/main.c.
RANDOM_OBJECTS = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/random/*.c))
$(BUILD)/random_kernels: $(RANDOM_OBJECTS) $(BUILD)/inner.a
	$(CC) $(SAN) $(LDFLAGS) $^ $(LDLIBS) -o $@

# What tests/run asks of assembled kernels; it knows nothing of neso.
$(BUILD)/machine_code: tests/machine_code.c Makefile
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_DEFAULT_SOURCE $(STRICT) -O1 $< -o $@

units: $(UNITS) $(BUILD)/random_kernels $(BUILD)/gpu_ops $(BUILD)/gpu_dots $(BUILD)/gpu_insns $(BUILD)/machine_code
api: $(APIS)

run: all
	$(BUILD)/neso run --verbose --keep-ptx $(BUILD) tests/programs/announcement_softmax.py

test: all units api
	tests/check

test-fast: all units
	tests/run --fast

test-all: all units api
	tests/check --all

N ?= 10000
random: $(BUILD)/random_kernels
	$(BUILD)/random_kernels $(N) $(SEED)

bench: all $(BUILD)/bench/compile
	$(BUILD)/bench/compile $(BUILD)/neso

# Everything as one file: `make amalgamation && cc -c build/neso.c`.
amalgamation: $(BUILD)/neso.c $(BUILD)/neso.h
$(BUILD)/neso.c: runtime/amalgamate.awk $(SOURCES) $(TEXTS) $(BUILD)/build_id.c
	awk -f $^ > $@
$(BUILD)/neso.h: runtime/neso.h
	cp $< $@

install: all
	install -d $(PREFIX)/bin $(PREFIX)/lib/pkgconfig $(PREFIX)/include
	install -m 755 $(BUILD)/neso $(PREFIX)/bin
	install -m 644 $(BUILD)/libneso.so $(BUILD)/libneso.a $(PREFIX)/lib
	install -m 644 runtime/neso.h $(PREFIX)/include
	printf '%s\n' 'prefix=$(PREFIX)' 'Name: neso' 'Description: Triton kernels to PTX' 'Version: $(VERSION)' \
	  'Cflags: -I$${prefix}/include' 'Libs: -L$${prefix}/lib -lneso' 'Libs.private: $(LDLIBS)' > $(PREFIX)/lib/pkgconfig/neso.pc

format:
	clang-format -i $$(git ls-files '*.c')

clean:
	rm -rf $(BUILD)

.PHONY: all fuzzers units api run test test-fast test-all random bench amalgamation install format clean
.SECONDARY:
-include $(OBJECTS:.o=.d) $(COMMAND:%.c=$(BUILD)/%.d) $(wildcard $(BUILD)/tests/*/*.d)
