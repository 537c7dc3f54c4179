# A 'try' needs 'except' or 'finally' after it, and these clauses need a 'try' before them.
try:
    x = 1
y = 2
except E:
    pass
else:
    pass

# expect: exit 2
# syntax-try-alone.py:2:1: error: expected 'except' or 'finally' block [try-bare]
#     2 | try:
#       | ^~~
# syntax-try-alone.py:5:1: error: 'except' without its 'try' [syntax-clause]
#     5 | except E:
#       | ^~~~~~
