# For a malformed number, the message marks the whole number.
a = 0123
b = 0x
c = 0b102
d = 1_000_
e = 12ab
f = 340282366920938463463374607431768211456

# expect: exit 2
# syntax-numbers.py:2:5: error: leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers [number-leading-zero]
#     2 | a = 0123
#       |     ^~~~
# syntax-numbers.py:3:5: error: invalid hexadecimal literal '0x' [number-invalid]
#     3 | b = 0x
#       |     ^~
# syntax-numbers.py:4:5: error: invalid digit '2' in binary literal [number-digit]
#     4 | c = 0b102
#       |     ^~~~~
# syntax-numbers.py:5:5: error: invalid decimal literal '1_000_' [number-invalid]
#     5 | d = 1_000_
#       |     ^~~~~~
# syntax-numbers.py:6:5: error: invalid decimal literal '12ab' [number-invalid]
#     6 | e = 12ab
#       |     ^~~~
# syntax-numbers.py:7:5: error: integer literal does not fit in 128 bits [number-size]
#     7 | f = 340282366920938463463374607431768211456
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
