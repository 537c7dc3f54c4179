# SPDX-License-Identifier: MIT
# library.py: the modules of Python's library that programs with kernels use. Each section is a module, which is executed when a
# program first imports it. library.c has the functions that need C, such as getenv.

# -- os
import os.path as path
makedirs = lambda name, mode=511, exist_ok=False: None
sep = '/'
name = 'posix'

# The class of os.environ. A variable that the program sets hides the host's variable of the same name.
class _Environ:
    own = {}
    def get(self, key, default=None):
        value = self.own[key] if key in self.own else getenv(key)
        return default if value is None else value
    def __getitem__(self, key):
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value
    def __setitem__(self, key, value):
        self.own[key] = value
        _setenv(key, value)
    def __contains__(self, key):
        return self.get(key) is not None
    def setdefault(self, key, default=None):
        self[key] = self.get(key, default)
        return self[key]
    def pop(self, key, default=None):
        value = self.get(key, default)
        self.own[key] = None
        return value
environ = _Environ()

# -- os.path
def basename(p):
    return p[p.rfind('/') + 1:]
def dirname(p):
    head = p[:p.rfind('/') + 1]
    return head.rstrip('/') or head[:1]
def join(*parts):
    path = ''
    for part in parts:
        between = '' if path == '' or path.endswith('/') else '/'
        path = part if part.startswith('/') else path + between + part
    return path
def splitext(p):
    dot = basename(p).rfind('.')
    dot = len(p) if dot < 1 else p.rfind('.')
    return p[:dot], p[dot:]
abspath = realpath = expanduser = lambda p: p
exists = isfile = isdir = lambda p: False

# -- sys
maxsize = 2 ** 63 - 1
platform = 'linux'
byteorder = 'little'
version_info = 3, 11, 0
modules = {}
path = []

class TextIO:
    def __init__(self, is_error):
        self.is_error = is_error
    def write(self, s, /):
        _write(s, self.is_error)
        return len(s)
    def flush(self):
        pass
stdout = TextIO(False)
stderr = TextIO(True)

def exit(status=None, /):
    raise SystemExit(status)

# -- typing
def cast(type, value):
    return value
NewType = cast
def overload(function):
    return function
def TypeVar(name, *rest, **options):
    return object

# -- typing_extensions
from typing import *

# -- collections.abc
from typing import *

# -- time
def sleep(seconds):
    pass

# -- collections
def OrderedDict(items=(), /, **more):
    return dict(items, **more)
def Counter(items=(), /):
    n = {}
    for x in items:
        n[x] = n.get(x, 0) + 1
    return n

# -- dataclasses
def dataclass(cls=None, **options):
    return _dataclass(cls) if cls else _dataclass
def field(default=None, default_factory=None, **options):
    return default_factory() if default_factory else default

# -- contextlib
class nullcontext:
    def __init__(self, result=None):
        self.result = result
    def __enter__(self):
        return self.result
    def __exit__(self, *error):
        pass

class suppress:
    def __init__(self, *types):
        self.types = types
    def __enter__(self):
        return self
    def __exit__(self, type, value, trace):
        return type is not None and issubclass(type, self.types)

# -- operator
def add(a, b, /): return a + b
def sub(a, b, /): return a - b
def mul(a, b, /): return a * b
def truediv(a, b, /): return a / b
def floordiv(a, b, /): return a // b
def mod(a, b, /): return a % b
def pow(a, b, /): return a ** b
def and_(a, b, /): return a & b
def or_(a, b, /): return a | b
def xor(a, b, /): return a ^ b
def lshift(a, b, /): return a << b
def rshift(a, b, /): return a >> b
def eq(a, b, /): return a == b
def ne(a, b, /): return a != b
def lt(a, b, /): return a < b
def le(a, b, /): return a <= b
def gt(a, b, /): return a > b
def ge(a, b, /): return a >= b
def itemgetter(item): return lambda x: x[item]

# -- warnings
def warn(message, *rest, **options):
    import sys
    sys.stderr.write(f'UserWarning: {message}\n')
def filterwarnings(*rest, **options):
    pass
simplefilter = filterwarnings

# -- abc
class ABC:
    pass
def abstractmethod(function):
    return function

# -- functools
class partial:
    def __init__(self, func, /, *args, **keywords):
        self.func = func
        self.args = args
        self.keywords = keywords
    def __call__(self, /, *args, **keywords):
        return self.func(*self.args, *args, **{**self.keywords, **keywords})

def reduce(function, iterable, *initial):
    items = iter(iterable)
    found = [*initial] or [x for _, x in zip((0,), items)]
    if not found:
        raise TypeError('reduce() of empty iterable with no initial value')
    total = found[0]
    for x in items:
        total = function(total, x)
    return total

# Decorators without effect. A program may apply a decorator directly, or call it with options and apply the result.
def cached_property(function, /):
    return function
total_ordering = cached_property
def lru_cache(function=None, **options):
    return function if callable(function) else cached_property
cache = lru_cache
# wraps(f)(g) returns g.
def wraps(wrapped, *rest, **options):
    return cached_property

def cmp_to_key(compare, /):
    class Key:
        def __init__(self, x):
            self.x = x
        def __lt__(self, other):
            return compare(self.x, other.x) < 0
        def __gt__(self, other):
            return compare(self.x, other.x) > 0
        def __eq__(self, other):
            return compare(self.x, other.x) == 0
    return Key

# -- itertools
# Finite iterators compute all items at once, whereas Python computes each item on demand. Endless iterators compute each item
# on demand, as in Python.
def chain(*iterables):
    return iter([x for items in iterables for x in items])
def product(*iterables, repeat=1):
    rows = [()]
    for pool in [list(x) for x in iterables] * repeat:
        rows = [row + (x,) for row in rows for x in pool]
    return iter(rows)

def _choose(pool, r, may_follow):
    rows = [()]
    for _ in range(r):
        rows = [row + (i,) for row in rows for i in range(len(pool)) if may_follow(row, i)]
    return iter([tuple([pool[i] for i in row]) for row in rows])
def permutations(iterable, r=None):
    pool = list(iterable)
    return _choose(pool, len(pool) if r is None else r, lambda row, i: i not in row)
def combinations(iterable, r):
    return _choose(list(iterable), r, lambda row, i: row == () or i > row[-1])

class count:
    def __init__(self, start=0, step=1):
        self.now = start
        self.step = step
    def __iter__(self):
        return self
    def __next__(self):
        now = self.now
        self.now = now + self.step
        return now
def repeat(object, times=None):
    return map(lambda _: object, count() if times is None else range(times))
def islice(iterable, start, *rest):
    start, stop, step = (start, *rest, 1)[:3] if rest else (0, start, 1)
    places = count() if stop is None else range(stop)
    return iter([x for i, x in zip(places, iterable) if i >= (start or 0) and (i - (start or 0)) % step == 0])
def accumulate(iterable, func=None):
    out = []
    for x in iterable:
        out.append(x if not out else func(out[-1], x) if func else out[-1] + x)
    return iter(out)
def zip_longest(*iterables, fillvalue=None):
    pools = [list(x) for x in iterables]
    n = max([len(pool) for pool in pools], default=0)
    return zip(*[pool + [fillvalue] * (n - len(pool)) for pool in pools])

# -- builtins.str
def zfill(self, width, /):
    sign = self[:1] if self[:1] in ('-', '+') else ''
    return sign + '0' * (width - len(self)) + self[len(sign):]
def ljust(self, width, fill=' ', /):
    return self + fill * (width - len(self))
def rjust(self, width, fill=' ', /):
    return fill * (width - len(self)) + self
def center(self, width, fill=' ', /):
    pad = max(width - len(self), 0)
    left = pad // 2 + (pad & width & 1)
    return fill * left + self + fill * (pad - left)
def expandtabs(self, tabsize=8):
    out, column = '', 0
    for c in self:
        n = 1 if c != '\t' else tabsize - column % tabsize if tabsize > 0 else 0
        out += c if c != '\t' else ' ' * n
        column = 0 if c == '\n' else column + n
    return out
def removeprefix(self, prefix, /):
    return self[len(prefix):] if self.startswith(prefix) else self
def removesuffix(self, suffix, /):
    return self[:len(self) - len(suffix)] if self.endswith(suffix) else self
def partition(self, sep, /):
    at = self.find(sep)
    return (self, '', '') if at < 0 else (self[:at], sep, self[at + len(sep):])
def rpartition(self, sep, /):
    at = self.rfind(sep)
    return ('', '', self) if at < 0 else (self[:at], sep, self[at + len(sep):])
def encode(self, encoding='utf-8', errors='strict'):
    return self
decode = encode

# -- builtins.dict
def setdefault(self, key, default=None, /):
    if key not in self:
        self[key] = default
    return self[key]
def fromkeys(iterable, value=None, /):
    return {key: value for key in iterable}

# -- builtins.set
def update(self, *others):
    for other in others:
        self |= set(other)
def union(self, *others):
    out = self.copy()
    for other in others:
        out |= set(other)
    return out
def intersection(self, *others):
    out = self.copy()
    for other in others:
        out &= set(other)
    return out
def difference(self, *others):
    out = self.copy()
    for other in others:
        out -= set(other)
    return out
def symmetric_difference(self, other, /):
    return self ^ set(other)
def issubset(self, other, /):
    return self <= set(other)
def issuperset(self, other, /):
    return self >= set(other)
def isdisjoint(self, other, /):
    return not self & set(other)
