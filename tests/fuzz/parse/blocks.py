if a:
    pass
elif b: pass
else:
    while c:
        break
    else: continue
for i, (j, *k) in x: pass
class A(B, metaclass=C):
	"""doc"""
	async def f(self): await x; yield; return (yield from y)
	def g(a, /, b, *, c=1): global d; nonlocal_ = 1
