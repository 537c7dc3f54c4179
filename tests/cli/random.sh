# SPDX-License-Identifier: MIT
# Random kernels: the interpreter and the emulator agree, and ptxas (where found) accepts a sample; every run has new ones.
# The seed is printed; build/random_kernels N SEED repeats a run. Fewer where sanitizers slow them down.
set -u
cd "$NESO_ROOT" || exit 1
count=500
[ "$NESO_BUILD" = build ] || count=60
command -v ptxas >/dev/null && ptxas=ptxas || ptxas=
timeout 600 "$NESO_BUILD/random_kernels" "${N:-$count}" ${SEED:-} $ptxas out="$(mktemp -d)"
