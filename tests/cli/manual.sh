# SPDX-License-Identifier: MIT
# Tests that every command in the README and the manual runs with the files that the page contains, and ends with the exit status that the
# page states (`# exit N`). Also tests that every make target and every option that the text names exists, and that `make manual` writes the
# pages. In the pages, "<!-- file: NAME -->" means that the next block is that file; a block of ```sh has one command on each line.
fail=0
say() { echo "$*"; fail=1; }
[ "$NESO_BUILD" = build ] || exit 0
mkdir bin && ln -s "$NESO" bin/neso
make -s -C "$NESO_ROOT" install PREFIX="$PWD/prefix" >/dev/null || say "make install"
export PATH=$PWD/bin:$PATH PKG_CONFIG_PATH=$PWD/prefix/lib/pkgconfig LD_LIBRARY_PATH=$PWD/prefix/lib NESO_CACHE=off
export PYTHONPATH=$NESO_ROOT/runtime/python NESO_LIBRARY=$PWD/prefix/lib/libneso.so PYTHONDONTWRITEBYTECODE=1
command -v pkg-config >/dev/null || { # a replacement that prints the flags of this installation
    printf '#!/bin/sh\necho "-I%s/include -L%s/lib -lneso"\n' "$PWD/prefix" "$PWD/prefix" >bin/pkg-config; chmod +x bin/pkg-config; }

files() { # PAGE: writes the files that the page contains
    awk '/^<!-- file: / { name = $3; next } name != "" && /^```/ { if (on) { close(name); name = ""; on = 0 } else on = 1; next }
         on { print > name }' "$1"
}

run_line() { # PAGE COMMAND
    local want=0 got line=$2
    case $line in python3*) command -v python3 >/dev/null || { echo "NOT TESTED: no python3: $line"; return; } ;; esac
    case $line in *'# exit '*) want=${line##*# exit } ;; esac
    bash -c "$line" >out 2>err </dev/null
    got=$?
    [ $got = "$want" ] || { say "$1: exit $got, expected $want: $line"; tail -n 5 out err; }
    ran=$((ran + 1))
}

ran=0
for page in "$NESO_ROOT"/runtime/manual/*.md; do
    mkdir -p "$(basename "$page" .md)" && cd "$(basename "$page" .md)" || exit 1
    files "$page"
    while IFS= read -r line; do [ -z "$line" ] || run_line "$(basename "$page")" "$line"; done \
        < <(awk '/^```sh/ { on = 1; next } /^```/ { on = 0 } on' "$page")
    cd ..
done
[ $ran -gt 40 ] || say "the manual has only $ran commands"

# The README: its first python block is scale.py; indented lines are commands of build/neso and of make.
mkdir readme && cd readme || exit 1
ln -s "$NESO_ROOT/$NESO_BUILD" build
awk '/^```python/ { on = 1; next } /^```/ { if (on) exit } on' "$NESO_ROOT/README.md" >scale.py
ran=0
while IFS= read -r line; do
    case $line in "build/neso diff"*) line="$line # exit 1" ;; esac
    run_line README.md "$line"
done < <(sed -nE 's/^    (build\/neso .*)/\1/p' "$NESO_ROOT/README.md")
[ $ran -gt 7 ] || say "README.md has only $ran commands"
cd ..
texts=("$NESO_ROOT"/README.md "$NESO_ROOT"/CONTRIBUTING.md "$NESO_ROOT"/runtime/manual/*.md)
for target in $(cat "${texts[@]}" | grep -ohE '(^    |`)make [^`#]*' | sed -E 's/^(    |`)make//' | tr ' ' '\n' | grep -E '^[a-z][a-z-]*$' | sort -u); do
    grep -qE "^([a-z-]+ )*$target( [a-z-]+)*:" "$NESO_ROOT/Makefile" || say "there is no 'make $target'"
done
neso help >help
for option in $(cat "${texts[@]}" | grep -ohE '`--[a-z-]+' | sort -u | tr -d '`'); do
    grep -qE -- "$option\b" help "$NESO_ROOT/tests/run" "$NESO_ROOT/runtime/python/neso/__main__.py" || say "there is no option $option"
done
for file in $(grep -ohE '\]\([a-z][a-zA-Z0-9_/.-]*\)' "${texts[@]}" | tr -d '])('); do
    [ -e "$NESO_ROOT/$file" ] || [ -e "$NESO_ROOT/runtime/manual/$file" ] || say "a link to $file, which is missing"
done
for file in $(cat "${texts[@]}" | grep -ohE '`(ir|frontend|opt|codegen|runtime|tests|bench)/[a-zA-Z0-9_/.-]+`' | tr -d '`' | sort -u); do
    [ -e "$NESO_ROOT/$file" ] || case $file in *FOLDER*|*NAME*|*FAMILY*) ;; *) say "the text names $file, which is missing" ;; esac
done

# Tests the pages that are made from tables, the page for man, and, if a converter is installed, HTML.
make -s -C "$NESO_ROOT" manual MANUAL="$PWD/made" >out 2>&1 || { say "make manual:"; tail -n 5 out; }
for title in 'A tour in ten minutes' 'Language reference' 'What is not supported' 'The command' 'Tables'; do
    grep -q "^# $title" made/neso.md || say "the manual has no part '$title'"
done
[ -s made/neso.1 ] || say "no page for man"
if [ -s made/neso.html ]; then
    grep -q '<table' made/neso.html && grep -qi 'tl.make_block_ptr</h3>' made/neso.html || say "the HTML has no tables or no entry for tl.make_block_ptr"
else
    grep -q 'pandoc' out || say "no HTML, and not a word why: $(cat out)"
fi
exit $fail
