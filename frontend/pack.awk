# pack.awk: a text in Python as bytes of C, in half the room: import.c's unpack reads it.
#
#     # -- math            =>   128 pairs of bytes, then a section each: its heading and an end of line as they are, its
#     from math import *        other characters, and a 0. A byte from 128 on stands for that pair, again such bytes or not.
#
# Each time the pair that is found most often becomes a byte.
BEGIN { for (i = 1; i < 128; i++) code[sprintf("%c", i)] = i }

/^# -- / && n { s[++n] = 0 }
{
    kept = /^# -- / ? -1 : 1 # negative: not to be packed
    for (i = 1; i <= length($0); i++)
        s[++n] = kept * code[substr($0, i, 1)]
    s[++n] = kept * 10
}

function most(    i, key, best, count) {
    for (i = 1; i < n; i++)
        if (s[i] > 0 && s[i + 1] > 0)
            count[s[i] * 256 + s[i + 1]]++
    for (key in count)
        if (!best || count[key] > count[best] || (count[key] == count[best] && key + 0 < best + 0))
            best = key
    return best
}

function replace(a, b, by,    i, to) {
    for (i = 1; i <= n; i++)
        if (i < n && s[i] == a && s[i + 1] == b) {
            s[++to] = by
            i++
        } else {
            s[++to] = s[i]
        }
    n = to
}

END {
    for (by = 128; by < 256; by++) {
        pair = most()
        printf "%d,%d,", int(pair / 256), pair % 256
        replace(int(pair / 256), pair % 256, by)
    }
    for (i = 1; i <= n; i++)
        printf "%d,%s", s[i] < 0 ? -s[i] : s[i], i % 32 ? "" : "\n"
    print "0,0"
}
