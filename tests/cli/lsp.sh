# SPDX-License-Identifier: MIT
# Tests `neso lsp` with a scripted client (lsp.py), which opens, changes and closes files, hovers and completes.
command -v python3 >/dev/null || { echo "NOT TESTED: no python3"; exit 0; }
python3 "$NESO_ROOT/tests/cli/lsp.py" "$NESO" || exit 1
printf 'Content-Length: 99\r\n\r\n{' | "$NESO" lsp >out 2>&1 && { echo "an input that ends inside of a message"; exit 1; }
[ ! -s out ] || { echo "output: $(cat out)"; exit 1; }
