# The rest of a file after bytes that are not UTF-8 is not read.
# café
x = = 1

# expect: exit 2
# syntax-not-utf8.py:2:6: error: source code must be UTF-8; this byte (233) is not [text-encoding]
#     2 | # caf?
#       |      ^
