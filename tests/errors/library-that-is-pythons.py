# A library that neso does not have is refused where it is imported, with the way out.
import torch
import matplotlib.pyplot as plt

# expect: exit 1
# library-that-is-pythons.py:3:8: error: ModuleNotFoundError: no module named 'matplotlib' in neso: run the file under Python, with Triton, to use it [no-library]
#     3 | import matplotlib.pyplot as plt
#       |        ^~~~~~~~~~~~~~~~~~~~~~~~
