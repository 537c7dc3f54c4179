f"a{x!r:>{w}.{p}f}b{{}}" 'c' rf'\d{y = }' f'''{
z:{'a'}}''' f"{d["k"]}{(lambda: 1)}{a != b}"
