# The import of a library that neso lacks is an error, and the message suggests a workaround.
import torch
import matplotlib.pyplot as plt

# expect: exit 1
# library-that-is-pythons.py:3:8: error: ModuleNotFoundError: no module named 'matplotlib' in neso: to use it, run the file under Python: python -m neso FILE.py [no-library]
#     3 | import matplotlib.pyplot as plt
#       |        ^~~~~~~~~~~~~~~~~~~~~~~~
