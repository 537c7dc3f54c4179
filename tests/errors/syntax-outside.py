# Statements that need an enclosing function or loop are errors elsewhere.
return 1
break
for i in x:
    def f():
        continue
class A:
    return 2

# expect: exit 2
# syntax-outside.py:2:1: error: 'return' outside function [outside-function]
#     2 | return 1
#       | ^~~~~~
# syntax-outside.py:3:1: error: 'break' outside loop [outside-loop]
#     3 | break
#       | ^~~~~
# syntax-outside.py:6:9: error: 'continue' outside loop [outside-loop]
#     6 |         continue
#       |         ^~~~~~~~
# syntax-outside.py:8:5: error: 'return' outside function [outside-function]
#     8 |     return 2
#       |     ^~~~~~
