# An import must be complete.
import
from triton import
from triton import language,
from import x
import triton.language as
from triton import (jit, autotune

# expect: exit 2
# syntax-imports.py:2:7: error: expected one or more names after 'import' [import-names]
#     2 | import
#       |       ^
# syntax-imports.py:3:19: error: expected one or more names after 'import' [import-names]
#     3 | from triton import
#       |                   ^
# syntax-imports.py:4:28: error: trailing comma not allowed without surrounding parentheses [import-comma]
#     4 | from triton import language,
#       |                            ^
# syntax-imports.py:5:6: error: 'import' is a keyword and cannot be used as a name [syntax-keyword]
#     5 | from import x
#       |      ^~~~~~
# syntax-imports.py:6:26: error: expected a name after 'as', found the end of the line [syntax]
#     6 | import triton.language as
#       |                          ^
# syntax-imports.py:7:20: error: '(' was never closed [bracket-unclosed]
#     7 | from triton import (jit, autotune
#       |                    ^
