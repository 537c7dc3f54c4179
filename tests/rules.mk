# SPDX-License-Identifier: MIT
# tests/rules.mk: how test programs, fuzz targets and generators are built; part of the Makefile.
#
# Unit tests and tools are linked with the inner objects; tests of the API only with the archive, and see only neso.h.
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
$(BUILD)/tests/emulator_deletions: LDFLAGS += -Wl,--wrap=emulator_load # it gives the emulator PTX with a line left out
$(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(BUILD)/inner.a
	@mkdir -p $(@D)
	$(LINK) $^ $(LDLIBS) -o $@

# Builds a fuzz target that runs over its corpus. For the fuzzer: `make fuzz-parse && build/fuzz/fuzz_parse tests/fuzz/parse`.
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

