# Bytes that are no UTF-8: the file is not read any further.
# café
x = = 1

# expect: exit 2
# syntax-not-utf8.py:2:6: error: source code must be UTF-8; this byte (233) is not [text-encoding]
#     2 | # caf?
#       |      ^
