# If a program imports a Python module that neso lacks, the message says how to run the file.
import re

print(re.sub('a', 'b', 'a'))

# expect: exit 1
# library-of-regular-expressions.py:2:8: error: ModuleNotFoundError: no module named 're' in neso: to use it, run the file under Python: python -m neso FILE.py [no-library]
#     2 | import re
#       |        ^~
