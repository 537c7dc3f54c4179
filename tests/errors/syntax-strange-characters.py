# Characters that word processors insert are errors.
name = “add”
x = 1 – 2
y = 1 $ 2
z = a​b

# expect: exit 2
# syntax-strange-characters.py:2:8: error: invalid character '“' (U+201C) [character]
#     2 | name = “add”
#       |        ^
# syntax-strange-characters.py:3:7: error: invalid character '–' (U+2013) [character]
#     3 | x = 1 – 2
#       |       ^
# syntax-strange-characters.py:4:7: error: '$' is no part of the language [character-stray]
#     4 | y = 1 $ 2
#       |       ^
# syntax-strange-characters.py:5:6: error: invalid non-printable character U+200B [character-invisible]
#     5 | z = a​b
#       |      ^
