# SPDX-License-Identifier: MIT
# Tests the rules of the architecture: folders include each other in one direction only, the library neither prints nor exits, files have a
# limited length, and all exported names begin with neso_.
set -u
cd "$NESO_ROOT" || exit 1
status=0
complain() { [ -z "$2" ] || { echo "$1"; echo "$2"; status=1; }; }

from() { find "$@" -name '*.[ch]' -exec grep -HE '^#include "' {} +; }
complain "includes against the direction ir <- frontend, opt, codegen <- runtime:" "$(
    from ir | grep -E '"(frontend|opt|codegen|runtime)/'
    from frontend | grep -E '"(opt|codegen|runtime)/'
    from opt | grep -E '"(frontend|codegen|runtime)/'
    from codegen | grep -E '"(frontend|opt|runtime)/')"
complain "plain Python that knows the IR:" "$(for file in frontend/python/*.c; do
    gcc -std=c11 -D_DEFAULT_SOURCE -I. -MM "$file" | tr ' ' '\n' | grep -E '^ir/' | grep -v '^ir/support/' | sed "s|^|$file: |"; done)"
complain "headers that include each other in a circle:" "$(
    from ir frontend opt codegen runtime | grep -E '\.h:' | sed -E 's/^([^:]*):#include "([^"]*)".*/\1 \2/' |
        awk '$1 != $2' | tsort 2>&1 >/dev/null | grep -v 'contains a loop')"
complain "the command knows more than neso.h:" "$(from runtime/command | grep -vE '"runtime/(neso|command/[a-z_/]*)\.h"|"neso\.h"')"
complain "the library prints, exits or reads the environment:" "$(
    grep -rnE --include='*.c' '(^|[^>[:alnum:]_])(printf|puts|putchar|exit|abort|getenv|fopen)\(' ir frontend opt codegen)"
complain "files over 1,000 lines:" "$(find ir frontend opt codegen runtime '(' -name '*.[ch]' -o -name '*.py' ')' -exec wc -l {} + | awk '$2 != "total" && $1 > 1000')"
complain "exports besides neso_*:" "$(nm -D --defined-only "$NESO_BUILD/libneso.so" | awk '{ print $3 }' | grep -v '^neso_' |
    grep -vE '^(_init|_fini|__asan|__odr_asan|__ubsan|__sanitizer|_edata|_end|__bss_start)')"
complain "dependencies besides the C library:" "$(ldd "$NESO_BUILD/libneso.so" |
    grep -vE 'linux-vdso|libm\.so|libdl\.so|libpthread\.so|libc\.so|ld-linux|lib(asan|ubsan|gcc_s|stdc\+\+|rt|resolv)')"
complain "source files without the license (an SPDX line, with nothing else, in the first two) besides inputs of tests:" "$(
    find Makefile ir frontend opt codegen runtime bench tests -type f \( -name "*.[ch]" -o -name "*.cpp" -o -name "*.hpp" -o -name "*.py" -o -name "*.sh" \
        -o -name "*.awk" -o -name "*.mk" -o -name Makefile \) | grep -vE "^bench/programs|^tests/(programs|errors|ir|opt|codegen|fuzz/[^/]*/|gate|ptx|replay)" |
        while read -r file; do head -n 2 "$file" | grep -qE 'SPDX-License-Identifier: MIT( \*/)?$' || echo "$file"; done)"
case $NESO_BUILD in
build) t=$(mktemp) size=unknown; strip -o "$t" "$NESO_BUILD/libneso.so" && size=$(stat -c %s "$t"); rm -f "$t"
    [ "$size" != unknown ] && [ "$size" -lt 1500000 ] || complain "libneso.so is too large:" "$size bytes stripped" ;;
esac
exit $status
