# Builds the generated trainer from the sources beside it. Needs a C compiler, zlib and LLVM's
# libomp (Debian: gcc zlib1g-dev libomp-19-dev); for images libjpeg-dev and libpng-dev, for .zst files
# libzstd-dev, for sqlite libsqlite3-dev.
CC   = gcc
OMP  = $(dir $(lastword $(sort $(wildcard /usr/lib/llvm-*/lib/libomp.so))))
ARCH = -march=native

FLAGS   = -std=gnu11 -I. -Iruntime
include libraries.mk

SOURCES = $(filter-out $(OMITTED),$(wildcard runtime/*.c runtime/*/*.c))
RUNTIME = $(SOURCES:.c=.o)

include units.mk
OBJECTS = $(UNITS:.c=.o)

# With these gcc and clang round alike on all paths, so that any number of threads gives the same bits.
VERSION   := $(shell $(CC) --version)
OWN_FLAGS := $(if $(findstring Free Software,$(VERSION)),$(GCC_FLAGS))
CONTRACT  := -ffp-contract=$(if $(findstring clang,$(VERSION)),on,fast)

# As wide as there are: gcc and clang take half of them where they expect a lower clock.
WIDE := $(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),-mprefer-vector-width=512)

C_FILES = $(filter %.c,$(LINKED))
OTHERS  = $(filter-out %.c,$(LINKED))

trainer: $(OBJECTS) $(C_FILES:.c=.o) $(OTHERS) $(RUNTIME)
	$(CC) -o $@ $^ -Wl,-rpath,'$$ORIGIN/linked' $(OMP)libomp.so -Wl,-rpath,$(OMP) $(LIBRARIES) -lz -lm -ldl -lpthread

$(OBJECTS) $(C_FILES:.c=.o): %.o: %.c
	$(CC) $(FLAGS) -O3 $(OWN_FLAGS) $(ARCH) $(WIDE) $(CONTRACT) -fno-math-errno -fno-trapping-math -fwrapv -c -o $@ $<

runtime/product/%.o: runtime/product/%.c
	$(CC) $(FLAGS) -O2 $(ARCH) $(WIDE) $(CONTRACT) -fno-math-errno -fno-trapping-math -fwrapv -c -o $@ $<

runtime/%.o: runtime/%.c
	$(CC) $(FLAGS) -O2 -fopenmp -c -o $@ $<

clean:
	rm -f trainer $(OBJECTS) $(RUNTIME)
