# 'else if', '&&', '||', '!' and '?:' of other languages are errors with hints.
if a:
    x = 1
else if b:
    x = 2
y = a && b
z = a || b
w = !a
v = a ? b : c

# expect: exit 2
# syntax-else-if.py:4:6: error: expected ':' after 'else'; write 'elif' for 'else if' [syntax-elif]
#     4 | else if b:
#       |      ^~
# syntax-else-if.py:6:8: error: expected an expression, found '&' [syntax]
#     6 | y = a && b
#       |        ^
# hint: write 'and' for '&&'
# syntax-else-if.py:7:8: error: expected an expression, found '|' [syntax]
#     7 | z = a || b
#       |        ^
# hint: write 'or' for '||'
# syntax-else-if.py:8:5: error: '!' is no part of the language [character-stray]
#     8 | w = !a
#       |     ^
# hint: write 'not' for '!'
# syntax-else-if.py:9:7: error: '?' is no part of the language [character-stray]
#     9 | v = a ? b : c
#       |       ^
# hint: write 'a if condition else b' for 'condition ? a : b'
