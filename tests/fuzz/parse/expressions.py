a if b else c or d and not e in f not in g is not h < i != j
a | b ^ c & d << e >> f + g - h * i @ j / k // l % m ** -n
~+-a.b[c](d, *e, f=g, **h)(x for x in y if z)
[*a, b], (c,), {d, e}, {f: g, **h}, (), {}, ...
[x for a in b if c for d in e], {x: y for x in z}, {x for x in y}
lambda a, /, b=1, *c, d, **e: (f := g)
