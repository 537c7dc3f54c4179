#!/bin/sh
# SPDX-License-Identifier: MIT
# make.sh NESO FOLDER: writes the manual into FOLDER: neso.md (the pages of this folder, and the pages that neso prints from its tables),
# neso.1 for man, and neso.html by the first of pandoc, lowdown and python3-markdown that is found.
set -e
neso=$1 out=$2 pages=$(dirname "$0")
mkdir -p "$out"
{
    cat "$pages/tour.md"
    "$neso" help language --markdown
    for page in debugging performance embedding ci conventions; do echo; cat "$pages/$page.md"; done
    echo
    "$neso" help limits --markdown
    echo
    "$neso" help commands --markdown
    printf '# Tables\n\nWhat `neso help TOPIC` prints.\n'
    for topic in targets passes params decisions counts ops insns errors; do
        printf '\n## neso help %s\n\n```text\n' $topic
        "$neso" help $topic
        printf '```\n'
    done
} >"$out/neso.md"
"$neso" help --man >"$out/neso.1"

style='<style>body { max-width: 60em; margin: auto; padding: 1em; font-family: sans-serif; line-height: 1.4 }
table { border-collapse: collapse } td, th { border: 1px solid #999; padding: .2em .5em; text-align: left; vertical-align: top }
pre { overflow-x: auto; background: #8882; padding: .5em } nav ul { margin: 0 }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd } a { color: #8bf } }</style>'
# Links between pages become links to the pages' titles. The list of contents has such links too.
{
    printf '# neso\n\n'
    for page in 'tour|A tour in ten minutes' 'language|Language reference' 'debugging|Debugging' 'performance|Performance' 'embedding|Embedding' \
        'ci|Continuous integration' 'conventions|IR and PTX' 'limits|What is not supported' 'commands|The command' 'tables|Tables'; do
        printf -- '- [%s](#%s)\n' "${page#*|}" "${page%|*}"
    done
    printf '\n'
    sed -E 's/\]\(([a-z]+)\.md\)/](#\1)/' "$out/neso.md"
} >"$out/one.md"
for anchor in 'tour|A tour' 'language|Language' 'debugging|Debugging' 'performance|Performance: why' 'embedding|Embedding' 'ci|Continuous' \
    'conventions|IR and PTX' 'limits|What is not' 'commands|The command' 'tables|Tables'; do
    sed "s/^# ${anchor#*|}/<a id=\"${anchor%|*}\"><\/a>\n\n&/" "$out/one.md" >"$out/two.md"
    mv "$out/two.md" "$out/one.md"
done
body() {
    if command -v pandoc >/dev/null; then
        pandoc -f gfm -t html "$out/one.md"
    elif command -v lowdown >/dev/null; then
        lowdown -Thtml --html-no-skiphtml --html-no-escapehtml --parse-no-intraemph "$out/one.md"
    else
        for python in python3 /usr/bin/python3; do
            $python -c 'import markdown, sys
print(markdown.markdown(sys.stdin.read(), extensions=["tables", "fenced_code"]))' <"$out/one.md" 2>/dev/null && return
        done
    fi
}
if body >"$out/body.html" && [ -s "$out/body.html" ]; then
    { printf '<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>neso</title>\n%s\n' "$style"
      cat "$out/body.html"; } >"$out/neso.html"
    echo "$out: neso.md, neso.1, neso.html"
else
    rm -f "$out/neso.html"
    echo "$out: neso.md, neso.1; no HTML: it needs pandoc, lowdown or python3-markdown (Debian packages)"
fi
rm -f "$out/one.md" "$out/body.html"
