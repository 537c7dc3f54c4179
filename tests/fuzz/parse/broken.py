def f(:
x = (1, 2
def g(): pass
if x
    y = = 1
  z
else if w: 1 = f() = 3
print x
f"{a b}" f"}" 'x
match x:
    case 1: pass
