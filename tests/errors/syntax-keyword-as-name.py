# A keyword cannot be used as a name.
def lambda(x):
    return x


def f(in, out):
    return out


x.class = 1
import pass

# expect: exit 2
# syntax-keyword-as-name.py:2:5: error: 'lambda' is a keyword and cannot be used as a name [syntax-keyword]
#     2 | def lambda(x):
#       |     ^~~~~~
# syntax-keyword-as-name.py:6:7: error: 'in' is a keyword and cannot be used as a name [syntax-keyword]
#     6 | def f(in, out):
#       |       ^~
# syntax-keyword-as-name.py:10:3: error: 'class' is a keyword and cannot be used as a name [syntax-keyword]
#    10 | x.class = 1
#       |   ^~~~~
# syntax-keyword-as-name.py:11:8: error: 'pass' is a keyword and cannot be used as a name [syntax-keyword]
#    11 | import pass
#       |        ^~~~
