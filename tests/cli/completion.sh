# SPDX-License-Identifier: MIT
# Tests that the shells accept the scripts of `neso completion`, and that these scripts complete commands, options and
# the values of options.
fail=0
say() { echo "$*"; fail=1; }
for shell in bash zsh fish; do "$NESO" completion $shell >script.$shell || say "$shell: exit $?"; done
"$NESO" completion tcsh 2>/dev/null; [ $? = 2 ] || say "a completion for tcsh"

complete() { # WORD...: prints the words that bash offers for the last word
    bash -c 'source ./script.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _neso; echo "${COMPREPLY[*]}"' _ "$@"
}
expect() { # WORDS WORD...
    local want=$1 found; shift
    found=$(complete "$@"); [ "$found" = "$want" ] || say "$*: offers '$found', expected '$want'"
}
expect 'compile completion' neso comp
expect '--target' neso compile --targ
expect 'sm_90a' neso compile --target sm_9
expect 'overlap_dots overlap_epilogue' neso compile --skip over
expect 'interpreter' neso run --device int
expect 'targets' neso help tar
expect 'zsh' neso completion z
expect './script.fish' neso run ./script.f
# Every option of every command is offered.
for command in $("$NESO" completion fish | sed -n 's/.*__fish_use_subcommand -a \([a-z]*\) .*/\1/p'); do
    for option in $("$NESO" help "$command" | sed -nE 's/^    (-.,? )?(--[a-z-]*).*/\2/p'); do
        complete neso "$command" "$option" | grep -qw -- "$option" || say "$command does not offer $option"
    done
done
! command -v zsh >/dev/null || zsh -n script.zsh || say "zsh refuses its script"
if command -v fish >/dev/null; then
    fish -n script.fish || say "fish refuses its script"
    fish -c 'source script.fish; complete -C "neso compile --target sm_9"' | grep -q '^sm_90a' || say "fish completes no target"
fi
"$NESO" help --man >neso.1; head -n 1 neso.1 | grep -q '^\.TH NESO 1' || say "no manual page"
! command -v man >/dev/null || [ -z "$(man --warnings -l neso.1 2>&1 >/dev/null)" ] || say "the manual page: $(man --warnings -l neso.1 2>&1 >/dev/null | head -n 3)"
exit $fail
