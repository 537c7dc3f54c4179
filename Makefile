# neso: `make run` builds and runs the fused softmax; `make test` tests. Nothing but gcc (or clang) and make is needed.
BUILD   ?= build
CC      ?= gcc
VERSION  = 0.1
STRICT   = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
CFLAGS  ?= -O2 -g
SAN     ?=
NCFLAGS  = -std=c11 -D_DEFAULT_SOURCE $(STRICT) -fPIC -fvisibility=hidden -ffp-contract=off -I. -MMD -MP $(SAN)
LDLIBS   = -lm -ldl -lpthread

ROOMS    = ir frontend opt codegen runtime
SOURCES  = $(filter-out runtime/main.c,$(sort $(foreach r,$(ROOMS),$(wildcard $(r)/*.c))))
OBJECTS  = $(SOURCES:%.c=$(BUILD)/%.o)
UNITS    = $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/*.c))

all: $(BUILD)/neso $(BUILD)/libneso.so $(BUILD)/libneso.a

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(NCFLAGS) $(CFLAGS) -c $< -o $@

$(BUILD)/inner.a: $(OBJECTS)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(BUILD)/inner.a
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) $^ $(LDLIBS) -o $@

units: $(UNITS)

clean:
	rm -rf $(BUILD)

.PHONY: all units clean
.SECONDARY:
-include $(OBJECTS:.o=.d)
