# SPDX-License-Identifier: MIT
# amalgamate.awk: joins all sources to one file that compiles without other files. In the root of the tree:
# awk -f runtime/amalgamate.awk FILE.c...
#
#     runtime/launch.c: static bool load(...)      =>   static bool runtime_launch__load(...)
#     runtime/api.c:    #include "runtime/runtime.h"     =>   the header's text, once; for a table without a guard, each time
#
# Some names are local to a file: names of static functions and variables, enumerators, tags. Such a name gets the file's
# name as a prefix if another file uses the same name for something else, or if a system header may define the name. Every
# name without an underscore may be in a system header. Macros are undefined at the end of their file. The sources are read
# as tokens twice: once to find the names, and once to write them; headers are written unchanged.

function words(list, set,    n, i, part) {
    n = split(list, part, " ")
    for (i = 1; i <= n; i++)
        set[part[i]] = 1
}

BEGIN {
    words("struct union enum", is_tagged)
    words("__attribute__ _Static_assert _Noreturn _Atomic PRINTF_LIKE VEC sizeof", no_name)
    words("int void char bool float double long short unsigned size_t uint64_t int64_t uint32_t int32_t", no_name)
    # names that macros in other files make by pasting tokens, or that <stdatomic.h> defines
    words("rule_widen rule_bitcast int_to_int int_to_float float_to_float memory_order", is_made)
    for (i = 1; i < ARGC; i++)
        find_names(ARGV[i])
    print "/* SPDX-License-Identifier: MIT */"
    print "/* neso.c: Triton kernels to PTX: every source of the library in one file. Build: cc -c neso.c; link with -lm -ldl -lpthread. */"
    print "#ifndef _DEFAULT_SOURCE\n#define _DEFAULT_SOURCE\n#endif"
    print "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n#elif defined(__GNUC__)"
    print "#pragma GCC optimize(\"fp-contract=off\")\n#endif"
    print "#include \"neso.h\""
    print "#pragma GCC visibility push(hidden)\n#pragma GCC diagnostic ignored \"-Wunused-function\""
    for (i = 1; i < ARGC; i++)
        write_source(ARGV[i])
    exit failed
}

# -- tokens --

function reset_state() {
    in_comment = depth = paren = bracket = 0
    prev = before_prev = prev_ident = keyword = ""
    begin_declaration()
}

function begin_declaration() { is_static = is_typedef = has_name = has_value = 0 }

# Removes the first token from `rest`. Sets `token` to this token, and `kind` to ident, text (blanks, comments,
# strings, numbers) or sign.
function next_token() {
    kind = "text"
    if (in_comment) {
        at = index(rest, "*/")
        in_comment = !at
        take(at ? at + 1 : length(rest))
    } else if (match(rest, /^[A-Za-z_][A-Za-z0-9_]*/)) {
        kind = "ident"
        take(RLENGTH)
    } else if (match(rest, /^[ \t\\]+/) || match(rest, /^[0-9][A-Za-z0-9_.]*/) || match(rest, /^"([^"\\]|\\.)*"/) ||
               match(rest, /^'([^'\\]|\\.)*'/))
        take(RLENGTH)
    else if (substr(rest, 1, 2) == "/*") {
        in_comment = 1
        take(2)
    } else if (substr(rest, 1, 2) == "->") {
        kind = "sign"
        take(2)
    } else {
        kind = "sign"
        take(1)
    }
}

function take(n) { token = substr(rest, 1, n); rest = substr(rest, n + 1) }

# Returns what the innermost open brace encloses: "members" of a structure, "enum", or "other"; "" outside of braces.
function place() { return depth ? braces[depth] : "" }

# Updates the state after a token was read.
function follow() {
    if (kind == "text")
        return
    if (token == "{") {
        braces[++depth] = keyword == "enum" ? "enum" : keyword != "" ? "members" : "other"
        keyword = ""
    } else if (token == "}") {
        closed = place()
        depth--
        if (depth == 0 && closed == "other" && !has_value)
            begin_declaration()
    } else if (token == "(")
        paren++
    else if (token == ")")
        paren--
    else if (token == "[")
        bracket++
    else if (token == "]")
        bracket--
    else if (token == "=" && depth == 0)
        has_value = 1
    else if (token == ";" && depth == 0 && paren == 0)
        begin_declaration()
    else if ((token == "static" || token == "typedef") && depth == 0) {
        begin_declaration()
        is_static = 1
        is_typedef = token == "typedef"
    }
    if (token in is_tagged)
        keyword = token
    else if (token != "{" && !(kind == "ident" && prev in is_tagged))
        keyword = ""
    prev_ident = kind == "ident"
    before_prev = prev
    prev = token
}

# -- names --

function own(file, space, name) {
    if ((file, space, name) in owns)
        return
    owns[file, space, name] = 1
    owners[space, name]++
}

function find_name(file, is_header,    inside) {
    inside = place()
    if (token == "{" && keyword != "" && prev_ident && !(prev in is_tagged)) {
        own(file, "tag", prev)
        if (is_header)
            header_defines[prev] = 1
    }
    if (kind == "ident" && prev in is_tagged && is_header)
        mentions[file, token] = 1
    if (kind == "ident" && inside == "enum" && depth == 1 && (prev == "{" || prev == ","))
        own(file, "name", token)
    if (depth || paren || has_name || has_value || !prev_ident || prev in no_name || prev in is_tagged ||
        (before_prev in is_tagged && token == ";"))
        return
    if (token == "(" || token == "[" || token == "=" || token == ";") {
        has_name = 1
        own(file, "name", prev)
        if (is_typedef)
            typedefs[file, prev] = 1
        if (!is_static)
            is_extern[file, prev] = 1
    }
}

function find_names(file,    line, is_header, was, header, is_directive) {
    if (file in seen)
        return
    seen[file] = 1
    is_header = file ~ /\.h$/
    reset_state()
    was = 0
    while ((getline line < file) > 0) {
        if (line ~ /^#include "/) {
            split(line, header, "\"")
            includes[file] = includes[file] " " header[2]
            continue
        }
        if (line ~ /^#define / && !was) {
            split(line, header, /[ (]/)
            if (is_header)
                own(file, "name", header[2])
        }
        is_directive = was || line ~ /^#/
        was = is_directive && line ~ /\\$/
        if (is_directive)
            continue
        rest = line
        while (rest != "") {
            next_token()
            if (kind != "text")
                find_name(file, is_header)
            follow()
        }
    }
    close(file)
    find_included(file)
}

function find_included(file,    n, i, list) {
    n = split(includes[file], list, " ")
    for (i = 1; i <= n; i++)
        find_names(list[i])
}

function mentioned_by_includes(file, name,    n, i, list) {
    n = split(includes[file], list, " ")
    for (i = 1; i <= n; i++)
        if ((list[i], name) in mentions)
            return 1
    return 0
}

# Returns whether the name belongs to this file alone and needs a prefix.
function is_renamed(file, space, name) {
    if (!((file, space, name) in owns))
        return 0
    if (space == "tag")
        return name in header_defines || name in is_made || ((owners[space, name] > 1 || name !~ /_/) && !mentioned_by_includes(file, name))
    if (is_extern[file, name])
        return 0
    return owners[space, name] > 1 || (name !~ /_/ && !((file, name) in typedefs)) || name in is_made
}

# -- writing --

# Writes an #include of a system header, whose declarations must not be hidden.
function write_system(line) {
    print "#pragma GCC visibility push(default)\n" line "\n#pragma GCC visibility pop"
}

# Writes a header, and the headers that it includes. Reads the whole header first, because a header with a table may
# include itself.
function write_header(file,    line, part, has_begun, n, i) {
    if (file == "runtime/neso.h" || file in written)
        return
    if (!(file in lines_of)) {
        while ((getline line < file) > 0)
            text_of[file, ++n] = line
        close(file)
        lines_of[file] = n
    }
    n = lines_of[file]
    for (i = 1; i <= n; i++) {
        line = text_of[file, i]
        if (line ~ /^#ifndef NESO_[A-Z_0-9]*_H$/ && !has_begun)
            written[file] = 1
        has_begun = has_begun || line ~ /^#/
        if (line ~ /^ *# *include </)
            write_system(line)
        else if (line !~ /^#include "/)
            print line
        else if (split(line, part, "\"") && part[2] == file)
            write_rows(file)
        else
            write_header(part[2])
    }
}

# Writes a header at the place where it includes itself: only the part under its first condition.
function write_rows(file,    i) {
    for (i = 1; i <= lines_of[file] && text_of[file, i] !~ /^#if/; i++)
        continue
    while (++i <= lines_of[file] && text_of[file, i] !~ /^#(else|endif)/)
        print text_of[file, i]
}

function write_token(file, prefix,    space) {
    space = prev in is_tagged ? "tag" : "name"
    if (kind != "ident" || prev == "." || prev == "->" || (space == "name" && place() == "members" && !bracket) ||
        !is_renamed(file, space, token)) {
        printf "%s", token
        return
    }
    printf "%s__%s", prefix, token
}

function write_source(file,    line, prefix, part, was, is_directive, i, n, macros, saved) {
    prefix = file
    sub(/\.c$/, "", prefix)
    sub(/^build[^\/]*\//, "", prefix)
    gsub(/[^A-Za-z0-9]/, "_", prefix)
    reset_state()
    was = n = 0
    while ((getline line < file) > 0) {
        if (line ~ /^#include "/) {
            split(line, part, "\"")
            write_header(part[2])
            continue
        }
        if (line ~ /^ *# *include </) {
            write_system(line)
            continue
        }
        if (line ~ /^#define / && !was) {
            split(line, part, /[ (]/)
            macros[++n] = part[2]
        }
        is_directive = was || line ~ /^#/
        if (is_directive && !was)
            saved = depth
        rest = line
        while (rest != "") {
            next_token()
            write_token(file, prefix)
            follow()
        }
        print ""
        was = is_directive && line ~ /\\$/
        if (is_directive && !was) {
            depth = saved
            paren = bracket = 0
            prev = keyword = ""
        }
    }
    close(file)
    for (i = 1; i <= n; i++)
        print "#undef " macros[i]
}
