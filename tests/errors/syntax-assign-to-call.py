# The message names the expression that cannot be assigned to, and suggests '==' where a comparison may be meant.
f(x) = 1
x + 1 = 2
a, None = 1, 2
"s" += 1
for f() in x:
    pass
(x): int = 1
(x, y): int = 1

# expect: exit 2
# syntax-assign-to-call.py:2:1: error: cannot assign to function call here. Maybe you meant '==' instead of '='? [assign-equal]
#     2 | f(x) = 1
#       | ^~~~
# syntax-assign-to-call.py:3:1: error: cannot assign to expression here. Maybe you meant '==' instead of '='? [assign-equal]
#     3 | x + 1 = 2
#       | ^~~~~
# syntax-assign-to-call.py:4:4: error: cannot assign to None [assign-to]
#     4 | a, None = 1, 2
#       |    ^~~~
# syntax-assign-to-call.py:5:1: error: literal is an illegal target for augmented assignment [assign-augmented]
#     5 | "s" += 1
#       | ^~~
# syntax-assign-to-call.py:6:5: error: cannot assign to function call [assign-to]
#     6 | for f() in x:
#       |     ^~~
# syntax-assign-to-call.py:9:1: error: only a single name, attribute or element can be annotated, not tuple [assign-annotated]
#     9 | (x, y): int = 1
#       | ^~~~~~
