# A program imports a name that neso's version of a library lacks: the hint suggests a workaround.
from contextlib import contextmanager

# expect: exit 1
# import-part.py:2:24: error: ImportError: cannot import name 'contextmanager' from 'contextlib' [import-name]
#     2 | from contextlib import contextmanager
#       |                        ^~~~~~~~~~~~~~
# hint: neso implements only a part of contextlib: to use the rest, run the file under Python: python -m neso FILE.py
