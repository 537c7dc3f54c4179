# SPDX-License-Identifier: MIT
# Tests `make amalgamation`: neso.c and neso.h compile without other files, as strict C11 and without a warning. The
# command linked with them prints the same PTX and the same tables. A program that makes three calls, in C and C++,
# needs no other file. Also tests that pkg-config works after `make install`. EVERY=1 also compiles neso.c with the other compiler.
fail=0
say() { echo "$*"; fail=1; }
[ "$NESO_BUILD" = build ] || exit 0
cc=${CC:-cc}
make -s -C "$NESO_ROOT" amalgamation || exit 1
cp "$NESO_ROOT/$NESO_BUILD"/neso.[ch] .
# gcc does not keep the columns of such a long file, so -Wmisleading-indentation would take 20 seconds.
flags="-std=c11 -Wall -Wextra -Wno-misleading-indentation -Werror -pedantic"
# shellcheck disable=SC2086
$cc $flags -O0 -c neso.c || exit 1
for other in ${EVERY:+gcc clang}; do
    [ "$(readlink -f "$(command -v "$other")")" != "$(readlink -f "$(command -v "$cc")")" ] || continue # neso.o is its work
    # shellcheck disable=SC2086
    ! command -v $other >/dev/null || $other $flags -fsyntax-only neso.c || say "$other refuses neso.c"
done
mkdir -p runtime/command/inspect
(cd "$NESO_ROOT" && find runtime/command -name "*.[ch]" -print0 | xargs -0 cp --parents -t "$OLDPWD") && cp "$NESO_ROOT/$NESO_BUILD"/runtime/command/inspect/inspect*.{html,js}.c runtime/command/inspect && cp neso.h runtime
mkdir -p runtime/manual frontend/builtins ir codegen && cp "$NESO_ROOT"/runtime/manual/*.c runtime/manual && cp "$NESO_ROOT"/frontend/builtins/*.h frontend/builtins && cp "$NESO_ROOT"/ir/{params,ops}.h ir && cp "$NESO_ROOT"/codegen/insns.h codegen
$cc -std=c11 -D_DEFAULT_SOURCE -O0 -I. runtime/command/*.c runtime/command/*/*.c runtime/manual/*.c neso.o -lm -ldl -lpthread -o neso || exit 1
for topic in $("$NESO" help | sed -n 's/^Topics of help: //p'); do
    cmp <("$NESO" help "$topic") <(./neso help "$topic") || say "help $topic"
done
n=0
for ir in "$NESO_ROOT"/tests/codegen/sm_90a/*.ir; do
    cmp <("$NESO" compile "$ir" 2>&1) <(./neso compile "$ir" 2>&1) || say "other PTX: $ir"
    n=$((n + 1))
done
[ $n -gt 9 ] || say "only $n kernels"
for program in announcement_softmax announcement_vector_add; do
    file=$NESO_ROOT/tests/programs/$program.py
    [ ! -f "$file" ] || ./neso run --device interpreter "$file" >out 2>&1 || say "$program: $(tail -n 5 out)"
done

cat >three.c <<'C'
#include "neso.h"
#include <stdio.h>
#include <string.h>

static const char source[] = "import triton\nimport triton.language as tl\n@triton.jit\ndef twice(X, BLOCK: tl.constexpr):\n"
                             "    i = tl.arange(0, BLOCK)\n    tl.store(X + i, 2 * tl.load(X + i))\n";

int main(void)
{
    static neso_compile_options options;
    neso_context *ctx;
    neso_module *module = 0;
    neso_kernel *kernel = 0;
    int data[64], wrong = 0;
    uint64_t memory;
    const void *args[1];
    const uint32_t grid[3] = {1, 1, 1};
    args[0] = &memory;
    options.size = sizeof options;
    options.signature = "*i32, 64";
    for (int i = 0; i < 64; i++)
        data[i] = i;
    if (neso_context_create(0, &ctx) || neso_context_use_device(ctx, "interpreter", 0) ||
        neso_memory_allocate(ctx, sizeof data, &memory) || neso_memory_write(ctx, memory, data, sizeof data))
        return 1;
    if (neso_module_from_source(ctx, "twice.py", source, strlen(source), &module) ||
        neso_kernel_compile(module, "twice", &options, &kernel) || neso_launch(kernel, grid, 0, args, 0)) {
        fputs(neso_error_text(ctx), stderr);
        return 1;
    }
    if (neso_memory_read(ctx, data, memory, sizeof data) || neso_memory_release(ctx, memory))
        return 1;
    for (int i = 0; i < 64; i++)
        wrong += data[i] != 2 * i;
    neso_kernel_release(kernel);
    neso_module_release(module);
    neso_context_release(ctx);
    return wrong;
}
C
strict="-Wall -Wextra -Werror -pedantic"
# shellcheck disable=SC2086,SC2046
{
    $cc -std=c11 $strict three.c neso.o -lm -ldl -lpthread -o three && ./three || say "three calls in C"
    if command -v "${CXX:-c++}" >/dev/null; then
        ${CXX:-c++} -std=c++17 $strict -x c++ three.c -x none neso.o -lm -ldl -lpthread -o threepp && ./threepp || say "in C++"
    fi
    make -s -C "$NESO_ROOT" install PREFIX="$PWD/usr" || say "make install"
    if command -v pkg-config >/dev/null; then
        export PKG_CONFIG_PATH=$PWD/usr/lib/pkgconfig LD_LIBRARY_PATH=$PWD/usr/lib
        rm neso.h
        $cc -std=c11 $strict three.c $(pkg-config --cflags --libs neso) -o shared && ./shared || say "pkg-config"
        [ "$(pkg-config --modversion neso)" = "$("$NESO" --version | cut -d' ' -f2)" ] || say "pkg-config's version"
        $cc -std=c11 $strict three.c $(pkg-config --cflags neso) usr/lib/libneso.a $(pkg-config --static --libs-only-l neso | sed 's/-lneso//') -o static &&
            ./static || say "the archive"
    fi
}
[ -x usr/bin/neso ] && [ -f usr/include/neso.h ] || say "install leaves: $(find usr)"
inner=$(nm -g --defined-only usr/lib/libneso.a | awk 'NF == 3 { print $3 }' | grep -v '^neso_')
[ -z "$inner" ] || say "the archive's inner names are seen: $inner"
HOME=$PWD make -s -C "$NESO_ROOT" install 'PREFIX=~/local' || say "make install into a folder with a tilde, which only bash expands"
grep -qx "prefix=$PWD/local" local/lib/pkgconfig/neso.pc || say "the tilde in neso.pc: $(head -n 1 local/lib/pkgconfig/neso.pc)"
exit $fail
