# SPDX-License-Identifier: MIT
# tests/rules.mk: contains the rules that build test programs, fuzz targets and generators. The Makefile includes this file.
#
# Unit tests and tools are linked with the library's object files. Tests of the API are linked only with the archive,
# and include only neso.h.
USERS    = -std=c11 $(STRICT) $(SAN) $(CFLAGS) -Iruntime
RANDOM   = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/random/*.c))
FUZZERS  = $(filter-out replay mutate,$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c)))
UNITS    = $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/*.c)) $(FUZZERS:%=$(BUILD)/tests/fuzz_%)
CPP      = $(if $(shell command -v $(CXX)),$(wildcard tests/api/*.cpp))
APIS     = $(patsubst tests/api/%.c,$(BUILD)/tests/api_%,$(wildcard tests/api/*.c)) $(CPP:tests/api/%.cpp=$(BUILD)/tests/api_%)

$(BUILD)/gpu_insns: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/gpu/insns_*.c))
$(BUILD)/gpu_%: $(BUILD)/tests/gpu/%.o $(BUILD)/inner.a
	$(LINK) $^ $(LDLIBS) -o $@

$(BUILD)/tests/api_%: tests/api/%.c $(BUILD)/libneso.a
	@mkdir -p $(@D)
	$(CC) $(USERS) $< $(BUILD)/libneso.a $(LDLIBS) -o $@

$(BUILD)/tests/api_%: tests/api/%.cpp $(BUILD)/libneso.a
	@mkdir -p $(@D)
	$(CXX) $(patsubst -std=%,-std=c++17,$(USERS)) $< $(BUILD)/libneso.a $(LDLIBS) -o $@

$(BUILD)/bench/%: bench/%.c $(BUILD)/libneso.a
	@mkdir -p $(@D)
	$(CC) -D_DEFAULT_SOURCE $(USERS) $< $(BUILD)/libneso.a $(LDLIBS) -o $@

$(BUILD)/tests/statistics: $(BUILD)/runtime/command/bench/statistics.o
$(BUILD)/tests/emulator_deletions: LDFLAGS += -Wl,--wrap=emulator_load # the wrapper passes PTX without one of its lines to the emulator
$(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(BUILD)/inner.a
	@mkdir -p $(@D)
	$(LINK) $^ $(LDLIBS) -o $@

# Builds a fuzz target that runs on the files of its corpus. To run the fuzzer:
# `make fuzz-parse && build/fuzz/fuzz_parse tests/fuzz/parse`.
$(BUILD)/tests/fuzz_baseline $(BUILD)/fuzz_baseline: $(patsubst %,$(BUILD)/runtime/command/bench/%.o,statistics judge pair \
                              figure report rules set)
$(BUILD)/tests/fuzz_%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/replay.o $(BUILD)/inner.a
	@mkdir -p $(@D)
	$(LINK) $^ $(LDLIBS) -o $@

FUZZED   = SAN="-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all" CFLAGS="-O1 -gline-tables-only"
fuzz-%:
	$(MAKE) BUILD=$(BUILD)/fuzz CC=clang $(FUZZED) $(BUILD)/fuzz/fuzz_$*
fuzzers:
	$(MAKE) BUILD=$(BUILD)/fuzz CC=clang $(FUZZED) $(FUZZERS:%=$(BUILD)/fuzz/fuzz_%)
$(BUILD)/fuzz_%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/mutate.o $(BUILD)/inner.a
	$(CC) -fsanitize=fuzzer,address,undefined $^ $(LDLIBS) -o $@

$(BUILD)/random_kernels: $(RANDOM) $(BUILD)/inner.a
	$(LINK) $^ $(LDLIBS) -o $@

# The check of assembled kernels for tests/run; it is not linked with neso.
$(BUILD)/machine_code: tests/machine_code.c Makefile
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_DEFAULT_SOURCE $(STRICT) -O1 $< -o $@

