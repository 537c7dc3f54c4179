a = b, c = d[1:2, ::3], *e
x: int = 3; y.z += 1; w @= f
del a, (b, c[0])
assert x, "no"
global_ = 1
from .a.b import c as d, e
import f.g as h
try: pass
except (A, B) as e: raise E from e
except: raise
else: pass
finally: pass
with a as b, c: pass
with (a as b, c,): pass
