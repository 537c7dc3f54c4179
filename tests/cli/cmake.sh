# SPDX-License-Identifier: MIT
# Tests that `make install` suffices for CMake: find_package(neso) defines targets for C and C++, shared and static,
# and checks versions.
fail=0
say() { echo "$*"; fail=1; }
[ "$NESO_BUILD" = build ] || exit 0
command -v cmake >/dev/null || { echo "NOT TESTED: no cmake"; exit 0; }
make -s -C "$NESO_ROOT" install PREFIX="$PWD/usr" >/dev/null || exit 1
cat >main.c <<'C'
#include <neso.h>
#include <stdio.h>

int main(void)
{
    printf("%s %d\n", neso_version(), neso_version_number() == NESO_VERSION_NUMBER);
    return 0;
}
C
cat >main.cpp <<'C'
#include <neso.hpp>
#include <cstdio>

int main()
{
    neso::context ctx;
    std::puts(ctx.device_text().c_str());
}
C
cat >CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.13)
project(try C CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(neso ${ASKED} REQUIRED)
add_executable(shared main.c)
target_link_libraries(shared neso::neso)
add_executable(static main.c)
target_link_libraries(static neso::static)
add_executable(cxx main.cpp)
target_link_libraries(cxx neso::neso)
C
for asked in "" 0 0.1 0.1.0; do
    cmake -S . -B built -DCMAKE_PREFIX_PATH="$PWD/usr" -DASKED="$asked" >log 2>&1 || say "find_package(neso $asked): $(tail -n 5 log)"
    rm -f built/CMakeCache.txt
done
for asked in 0.2 1 0.1.7; do
    cmake -S . -B refused -DCMAKE_PREFIX_PATH="$PWD/usr" -DASKED="$asked" >log 2>&1 && say "find_package(neso $asked) found one"
    rm -rf refused
done
cmake -S . -B built -DCMAKE_PREFIX_PATH="$PWD/usr" >log 2>&1 && cmake --build built >log 2>&1 || say "the build: $(tail -n 20 log)"
[ "$(built/shared)" = "$("$NESO" --version | cut -d' ' -f2) 1" ] && [ "$(built/static)" = "$(built/shared)" ] || say "what the programs print"
[ "$(built/cxx)" = "no device" ] || say "C++: $(built/cxx)"
make -s -C "$NESO_ROOT" uninstall PREFIX="$PWD/usr" >/dev/null
left=$(find usr -type f)
[ -z "$left" ] || say "uninstall leaves $left"
exit $fail
