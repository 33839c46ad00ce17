# flowc: `make demo` trains the first example, `make check` runs the tests. `make help` lists all.

CC      = gcc
SAN     =
CLANG   = clang-19
LLVM    = /usr/lib/llvm-19
PREFIX  = /usr/local
DESTDIR =
OPTIMISE = -O2 -g1

MAKEFLAGS += -j$(shell nproc)
comma := ,
BUILD := build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
ifneq ($(SAN),)
CC       = $(CLANG)
OPTIMISE = -O1 -g1 -fno-omit-frame-pointer -fsanitize=$(SAN) $(if $(findstring undefined,$(SAN)),-fno-sanitize-recover=undefined)
endif

WARNINGS = -Wall -Wextra -Werror=format-nonliteral
CFLAGS   = -std=gnu11 $(OPTIMISE) $(WARNINGS) -I. -I$(BUILD)
VERSION  := 0.1
say = $(if $(V),,@echo "  $(1) $@";)

HOME_DIR  := $(BUILD)/share/flowc
SOURCES   := $(wildcard lang/*.c lang/base/*.c compiler/*/*.c)
OBJECTS   := $(SOURCES:%.c=$(BUILD)/%.o) $(BUILD)/lang/lexer.o $(BUILD)/lang/parser.tab.o
LIBRARY   := $(filter-out $(BUILD)/compiler/driver/%,$(OBJECTS))
RUNTIME   := $(wildcard runtime/*.c runtime/source/*.c runtime/sink/*.c runtime/format/*.c runtime/decode/*.c runtime/encode/*.c runtime/device/*.c runtime/text/*.c)
RUNTIME_OBJECTS := $(RUNTIME:%.c=$(BUILD)/%.o)
# Of runtime/product, an object for each kind of processor that flowc compiles for (toolchain.c).
PRODUCTS  := $(wildcard runtime/product/*.c)
LEVELS    := $(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),x86-64-v4 x86-64-v3 x86-64,armv8-a)
PRODUCT_OBJECTS := $(foreach level,$(LEVELS),$(PRODUCTS:%.c=$(BUILD)/%-$(level).o))
SIMULATED := $(BUILD)/lib/flowc/simulated/libcuda.so.1
SHARED    := $(wildcard lang/std/*.flow lang/errors/*.md compiler/codegen/templates/* runtime/*.[ch] runtime/*/*.c runtime/*/*.h runtime/*/*.def) compiler/ops/kernel.h

.PHONY: all demo check check-long fuzz bench check-gpu bench-gpu bless format check-format check-layers install clean help packages libraries test-packages long-packages test-programs
.DELETE_ON_ERROR:
# Objects of tests stay when what they were linked to is made.
.SECONDARY:

all: $(BUILD)/flowc $(BUILD)/lib/flowc/libflowrt.a $(SIMULATED) $(HOME_DIR)/.made ## build the compiler and its runtime

# ---- what the build needs ---------------------------------------------------------------------

packages: ## install what is missing, saying what and why (Debian)
	@tests/packages $(if $(SAN),sanitizers)

# ---- the compiler -----------------------------------------------------------------------------

$(BUILD)/flowc: $(OBJECTS) $(BUILD)/lib/flowc/libflowrt.a
	$(call say,link)$(CC) $(OPTIMISE) -o $@ $^ -lm -ldl -lpthread

$(BUILD)/lang/parser.tab.c $(BUILD)/lang/parser.tab.h &: lang/parser.y | packages
	@mkdir -p $(@D)
	$(call say,bison)bison -Wall -Werror -o $(BUILD)/lang/parser.tab.c --header=$(BUILD)/lang/parser.tab.h $<

$(BUILD)/lang/lexer.c $(BUILD)/lang/lexer.h &: lang/lexer.l $(BUILD)/lang/parser.tab.h | packages
	@mkdir -p $(@D)
	$(call say,flex)flex --header-file=$(BUILD)/lang/lexer.h -o $(BUILD)/lang/lexer.c $<

GENERATED := -Wno-unused-function -Wno-sign-compare -Wno-unused-but-set-variable
$(BUILD)/lang/lexer.o $(BUILD)/lang/parser.tab.o: CFLAGS += -I$(BUILD)/lang $(GENERATED)
$(BUILD)/lang/%.o: CFLAGS += -I$(BUILD)/lang
$(BUILD)/compiler/driver/%.o $(BUILD)/compiler/balance/times.o: CFLAGS += -DFLOWC_VERSION='"$(VERSION)"'
$(BUILD)/compiler/codegen/kernel_text.o: CFLAGS += $(if $(SAN),-DFLOWC_CHECKS_KEYS)
$(BUILD)/compiler/driver/%.o: CFLAGS += -DFLOWC_LLVM='"$(LLVM)"' -DFLOWC_SANITIZE='"$(SAN)"'

$(BUILD)/%.o: $(BUILD)/%.c
	$(call say,cc)$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/%.o: %.c $(BUILD)/lang/parser.tab.h $(BUILD)/lang/lexer.h
	@mkdir -p $(@D)
	$(call say,cc)$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

# ---- the runtime, linked into generated programs ----------------------------------------------

$(BUILD)/runtime/%.o: runtime/%.c | packages
	@mkdir -p $(@D)
	$(call say,cc)$(CC) $(CFLAGS) -O2 -fPIC -ffunction-sections -fdata-sections $(if $(findstring team,$*),-fopenmp) -MMD -MP -c -o $@ $<

define product_rule
$(BUILD)/runtime/product/%-$(1).o: runtime/product/%.c | packages
	@mkdir -p $$(@D)
	$$(call say,cc)$$(CC) $$(CFLAGS) -march=$(1) $$(if $$(filter x86-64%,$(1)),-mprefer-vector-width=512) \
	    -ffp-contract=$$(if $$(findstring clang,$$(CC)),on,fast) -fno-math-errno -fno-trapping-math -fwrapv -fPIC -MMD -MP -c -o $$@ $$<
endef
$(foreach level,$(LEVELS),$(eval $(call product_rule,$(level))))

$(BUILD)/lib/flowc/libflowrt.a: $(RUNTIME_OBJECTS) $(PRODUCT_OBJECTS)
	@mkdir -p $(@D)
	$(call say,ar)rm -f $@ && ar rcs $@ $^

# A driver, an NVRTC and an NCCL for who has no GPU, found with LD_LIBRARY_PATH=build/lib/flowc/simulated.
STANDIN := $(wildcard runtime/device/standin/*.c runtime/device/simulated*.c runtime/device/fiber.c)

$(BUILD)/runtime/device/standin/%.o: CFLAGS += -fvisibility=hidden $(if $(SAN),-fno-sanitize=function)

$(SIMULATED): $(STANDIN:%.c=$(BUILD)/%.o) runtime/device/standin/exports.map
	@mkdir -p $(@D)
	$(call say,link)$(CC) $(OPTIMISE) -shared -Wl,--version-script=$(lastword $^) -o $(BUILD)/lib/flowc/libflowsimcuda.so $(filter %.o,$^) -ldl -lpthread
	@for name in libcuda.so.1 libnvrtc.so.13 libnvrtc.so.12 libnccl.so.2; do ln -sf ../libflowsimcuda.so $(@D)/$$name; done

# What flowc reads when it works: the library in .flow, templates, the runtime's sources.
$(HOME_DIR)/.made: $(SHARED) Makefile
	@rm -rf $(HOME_DIR) && mkdir -p $(HOME_DIR)
	@cp --parents $(SHARED) $(HOME_DIR)
	@touch $@

# ---- using it ---------------------------------------------------------------------------------

demo: all ## train examples/digits.flow on MNIST
	cd examples && $(abspath $(BUILD))/flowc run digits.flow

# Test programs: those of the runtime, those of the compiler, and the printer of golden tests.
TESTS := $(patsubst tests/runtime/%.c,$(BUILD)/tests/check/runtime-%,$(wildcard tests/runtime/*.c)) \
         $(patsubst tests/compiler/%.c,$(BUILD)/tests/check/%,$(wildcard tests/compiler/*.c)) \
         $(BUILD)/tests/check/codegen $(BUILD)/tests/check/programs $(BUILD)/tests/check/patterns $(BUILD)/tests/print
OMP   := $(LLVM)/lib/libomp.so -Wl,-rpath,$(LLVM)/lib

$(BUILD)/tests/check/runtime-%: tests/runtime/%.c $(wildcard tests/runtime/*.h) $(BUILD)/lib/flowc/libflowrt.a
	@mkdir -p $(@D)
	$(call say,cc)$(CC) $(CFLAGS) $(addprefix -Wl$(comma)--wrap=,$(WRAPPED)) -o $@ $< $(BUILD)/lib/flowc/libflowrt.a $(OMP) -Wl,-u,codec_zstd -l:libzstd.a -l:libsqlite3.a -l:libjpeg.a -l:libpng.a -lz -lm -ldl -lpthread

# A driver and an NVRTC of two GPUs, with faults on demand.
$(BUILD)/tests/check/runtime-gpus $(BUILD)/tests/check/runtime-gpu_train: $(BUILD)/tests/libgpustub.so

$(BUILD)/tests/libgpustub.so: tests/runtime/lib/gpu_stub.c runtime/device/launch.h
	@mkdir -p $(@D)
	$(call say,cc)$(CC) $(CFLAGS) -shared -fPIC -o $@ $<

$(BUILD)/tests/check/runtime-exhausted: WRAPPED = malloc calloc realloc aligned_alloc posix_memalign strdup free

LOADED   := tests/codegen/gpu.c tests/codegen/elements.c tests/codegen/threads.c tests/codegen/runtime.c tests/codegen/upper.c
COMPILED := $(patsubst %.c,$(BUILD)/%.o,$(LOADED) tests/codegen/compiled.c $(wildcard tests/graphs/*.c)) $(LIBRARY)

$(BUILD)/tests/compiler/asking.o: CFLAGS += -Iruntime -Icompiler/ops -Icompiler/codegen/templates
$(BUILD)/tests/check/%: $(BUILD)/tests/compiler/%.o $(COMPILED)
	@mkdir -p $(@D)
	$(call say,link)$(CC) $(OPTIMISE) -o $@ $^ -lm -ldl -lpthread

$(BUILD)/tests/check/codegen: $(BUILD)/tests/codegen/codegen.o $(COMPILED)
	@mkdir -p $(@D)
	$(call say,link)$(CC) $(OPTIMISE) -o $@ $^ -lm -ldl -lpthread

PROGRAMS := $(patsubst %.c,$(BUILD)/%.o,$(LOADED) $(wildcard tests/fuzz/programs/*.c)) $(LIBRARY)

$(BUILD)/tests/check/programs: $(PROGRAMS)
	@mkdir -p $(@D)
	$(call say,link)$(CC) $(OPTIMISE) -o $@ $^ -lm -ldl -lpthread

$(BUILD)/tests/check/patterns: $(BUILD)/tests/fuzz/patterns/main.o $(filter-out %/programs/main.o,$(PROGRAMS))
	@mkdir -p $(@D)
	$(call say,link)$(CC) $(OPTIMISE) -o $@ $^ -lm -ldl -lpthread

$(BUILD)/tests/print: tests/print.c $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,cc)$(CC) $(CFLAGS) -o $@ $< $(LIBRARY) -lm

libraries: $(BUILD)/libcompiler.a $(BUILD)/lib/flowc/libflowrt.a

$(BUILD)/libcompiler.a: $(LIBRARY)
	$(call say,ar)rm -f $@ && ar rcs $@ $^

test-packages: | packages
	@tests/packages check

long-packages:
	@tests/packages long

test-programs: test-packages all $(TESTS)

check: test-programs ## run the test suite (T=name: some of it; SAN=address,undefined or thread)
	@BUILD=$(BUILD) SAN=$(SAN) CC=$(CC) tests/run $(T)

check-long: long-packages test-programs ## the same with everything that takes long
	@BUILD=$(BUILD) SAN=$(SAN) CC=$(CC) LONG=1 tests/run $(T)

bless: test-programs ## make what golden tests print now their expectation (T=name)
	@BUILD=$(BUILD) BLESS=1 CC=$(CC) tests/run $(or $(T),golden)

fuzz: all ## fuzz each reader of foreign bytes (SECONDS_EACH=60)
	@BUILD=$(BUILD) tests/fuzz/run

bench: all ## measure beside the peers (W=digits-b64,…: some rows); writes build/bench.json
	@BUILD=$(BUILD) tests/bench/run $(W)

# SIMULATE=1: a little of both on the stand-in, to test how they are made.
check-gpu: all ## ops, graphs, random programs, kernels' times, exports, replicas, examples, compute-sanitizer on a real GPU; "not run" without one (T=part)
	@BUILD=$(BUILD) tests/gpu/run --here
	@$(MAKE) --no-print-directory test-programs
	@BUILD=$(BUILD) tests/gpu/pack
	@BUILD=$(BUILD) tests/gpu/run $(T)

bench-gpu: all ## measure a real GPU beside PyTorch, JAX, cuBLAS, and append that to build/gpu-results.md; "not run" without one (W=part)
	@BUILD=$(BUILD) tests/gpu/run --here
	@$(MAKE) --no-print-directory test-programs
	@BUILD=$(BUILD) tests/gpu/pack
	@BUILD=$(BUILD) $(or $(PYTHON),python3) tests/bench/gpu/bench.py $(W)

# Other tests show broken programs, or how programs are formatted.
FLOW_FILES = $(shell git ls-files 'examples/*.flow' 'lang/std/*.flow' 'tests/bench/*.flow' 'tests/programs/*.flow')

format: all ## format all C and .flow files
	@clang-format -i $(shell git ls-files '*.c' '*.h')
	@$(BUILD)/flowc fmt $(FLOW_FILES)

check-format: all
	@clang-format --dry-run --Werror $(shell git ls-files '*.c' '*.h')
	@! LC_ALL=C.UTF-8 grep -nE '^.{101}' $(shell git ls-files '*.c' '*.h')
	@$(BUILD)/flowc fmt --check $(FLOW_FILES)

check-layers: ## does every #include point down? is only what belongs there at the top?
	@tests/layers

install: all ## install under DESTDIR/PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/flowc $(DESTDIR)$(PREFIX)/share
	install -m755 $(BUILD)/flowc $(DESTDIR)$(PREFIX)/bin/
	install -m644 $(BUILD)/lib/flowc/libflowrt.a $(BUILD)/lib/flowc/libflowsimcuda.so $(DESTDIR)$(PREFIX)/lib/flowc/
	cp -r $(HOME_DIR) $(DESTDIR)$(PREFIX)/share/

clean: ## remove what was built
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
