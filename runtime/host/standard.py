# SPDX-License-Identifier: MIT
# standard.py: contains modules of Python's standard library that host programs import, and modules of debuggers (pdb,
# ipdb). Each module is a section. Modules that kernels may use too are in frontend/python/library.py.

# -- argparse
import sys

SUPPRESS = '==SUPPRESS=='

class Namespace:
    def __init__(self, **kwargs):
        for name, value in kwargs.items():
            setattr(self, name, value)
    def __repr__(self):
        return 'Namespace(' + ', '.join(f'{k}={v!r}' for k, v in vars(self).items()) + ')'
    def __eq__(self, other):
        return vars(self) == vars(other)
    def __contains__(self, key):
        return key in vars(self)

class HelpFormatter:
    pass

ArgumentDefaultsHelpFormatter = RawDescriptionHelpFormatter = RawTextHelpFormatter = HelpFormatter

class BooleanOptionalAction:
    pass

class _Argument:
    def __init__(self, flags, action, nargs, const, default, type, choices, required, help, metavar, dest):
        words = [f for f in flags if f.startswith('--')] or list(flags)
        self.flags, self.choices, self.help = [f for f in flags if f.startswith('-')], choices, help
        self.dest = dest or words[0].strip('-').replace('-', '_')
        self.action = 'bool' if action is BooleanOptionalAction else action
        if self.action not in ('store', 'store_true', 'store_false', 'store_const', 'append', 'count', 'bool'):
            raise NotImplementedError(f"argparse: action {action!r}: run the file under Python: python -m neso FILE.py")
        self.nargs = nargs if self.action in ('store', 'append') else 0
        self.const = {'store_true': True, 'store_false': False}.get(self.action, const)
        self.default = {'store_true': False, 'store_false': True}.get(self.action) if default is None else default
        self.type, self.required = type, required
        if self.action == 'bool':
            self.flags = self.flags + ['--no-' + f[2:] for f in self.flags if f.startswith('--')]
        self.shown = metavar or ('{' + ','.join(str(c) for c in choices) + '}' if choices else self.dest.upper() if self.flags else self.dest)
    def usage(self):
        n = self.nargs
        value = {None: self.shown, 0: '', '?': f'[{self.shown}]', '*': f'[{self.shown} ...]', '+': f'{self.shown} [{self.shown} ...]'}.get(n)
        value = ' '.join([self.shown] * n) if value is None else value
        return f'{self.flags[0]} {value}'.strip() if self.flags else value
    def name(self):
        return '/'.join(self.flags) if self.flags else self.shown

class ArgumentParser:
    def __init__(self, prog=None, usage=None, description=None, epilog=None, formatter_class=None, add_help=True, **others):
        self.prog = prog or sys.argv[0].split('/')[-1]
        self.description, self.epilog, self.add_help, self.arguments, self.defaults = description, epilog, add_help, [], {}
    def add_argument(self, *flags, action='store', nargs=None, const=None, default=None, type=None, choices=None, required=False,
                     help=None, metavar=None, dest=None):
        self.arguments.append(_Argument(flags, action, nargs, const, default, type, choices, required, help, metavar, dest))
        return self.arguments[-1]
    def add_argument_group(self, *names, **others):
        return self
    def set_defaults(self, **values):
        self.defaults.update(values)
    def add_subparsers(self, **others):
        raise NotImplementedError('argparse: subparsers: run the file under Python: python -m neso FILE.py')
    def format_usage(self):
        words = ['[-h]'] if self.add_help else []
        ordered = [a for a in self.arguments if a.flags] + [a for a in self.arguments if not a.flags]
        words += [a.usage() if a.required or not a.flags else f'[{a.usage()}]' for a in ordered if a.help != SUPPRESS]
        return f"usage: {' '.join([self.prog] + words)}\n"
    def format_help(self):
        text = self.format_usage() + (f'\n{self.description}\n' if self.description else '')
        for title, wants in (('positional arguments', False), ('options', True)):
            rows = [(a.usage() if a.flags else a.name(), a.help) for a in self.arguments if bool(a.flags) == wants and a.help != SUPPRESS]
            rows = ([('-h, --help', 'show this help message and exit')] if wants and self.add_help else []) + rows
            text += f'\n{title}:\n' if rows else ''
            text += ''.join(f"  {left:<22}{help or ''}".rstrip() + '\n' for left, help in rows)
        return text + (f'\n{self.epilog}\n' if self.epilog else '')
    def print_help(self, file=None):
        print(self.format_help(), end='')
    def error(self, message):
        print(self.format_usage() + f'{self.prog}: error: {message}', file=sys.stderr)
        sys.exit(2)
    def _convert(self, a, text):
        try:
            value = a.type(text) if a.type else text
        except (ValueError, TypeError):
            self.error(f'argument {a.name()}: invalid {a.type.__name__} value: {text!r}')
        if a.choices is not None and value not in a.choices:
            self.error(f"argument {a.name()}: invalid choice: {value!r} (choose from {', '.join(repr(c) for c in a.choices)})")
        return value
    def _take(self, a, flag, given, out):
        least = {None: 1, '?': 0, '*': 0, '+': 1}.get(a.nargs, a.nargs)
        most = {None: 1, '?': 1, '*': len(given), '+': len(given)}.get(a.nargs, a.nargs)
        n = 0
        while n < most and n < len(given) and not self._is_flag(given[n]):
            n += 1
        if n < least:
            self.error(f"argument {a.name()}: expected {'one argument' if a.nargs is None else 'at least one argument' if a.nargs == '+' else f'{least} arguments'}")
        values = [self._convert(a, text) for text in given[:n]]
        if a.action == 'bool':
            value = not flag.startswith('--no-')
        elif a.action == 'count':
            value = (getattr(out, a.dest) or 0) + 1
        elif a.nargs == 0 or (a.nargs == '?' and not values):
            value = a.const if a.flags else a.default
        else:
            value = values[0] if a.nargs in (None, '?') else values
        if a.action == 'append':
            value = (getattr(out, a.dest) or []) + [value]
        setattr(out, a.dest, value)
        return n
    def _is_flag(self, text):
        return len(text) > 1 and text[0] == '-' and not (text[1].isdigit() or text[1] == '.')
    def _find(self, flag):
        same = [a for a in self.arguments if flag in a.flags]
        begin = same or [a for a in self.arguments if flag.startswith('--') and any(f.startswith(flag) for f in a.flags)]
        if len(begin) > 1:
            self.error(f"ambiguous option: {flag} could match {', '.join(a.flags[0] for a in begin)}")
        return begin[0] if begin else None
    def parse_known_args(self, args=None, namespace=None):
        given, rest, seen, out = list(sys.argv[1:] if args is None else args), [], [], namespace or Namespace()
        free = [a for a in self.arguments if not a.flags]
        for a in self.arguments:
            default = self.defaults.get(a.dest, a.default)
            setattr(out, a.dest, a.type(default) if a.type and isinstance(default, str) else default)
        for name, value in self.defaults.items():
            if not hasattr(out, name):
                setattr(out, name, value)
        while given:
            word = given.pop(0)
            if word in ('-h', '--help') and self.add_help:
                self.print_help()
                sys.exit(0)
            flag, equals, value = word.partition('=') if word.startswith('--') else (word, '', '')
            a = self._find(flag) if self._is_flag(word) else free.pop(0) if free else None
            if a is None:
                rest.append(word)
                continue
            if equals and a.nargs == 0:
                self.error(f'argument {a.name()}: ignored explicit argument {value!r}')
            given = [value] + given if equals else given if a.flags else [word] + given
            given = given[self._take(a, flag, given, out):]
            seen.append(a.dest)
        missing = [a.name() for a in self.arguments if a.dest not in seen and (a.required or (not a.flags and a.nargs not in ('?', '*')))]
        if missing:
            self.error(f"the following arguments are required: {', '.join(missing)}")
        return out, rest
    def parse_args(self, args=None, namespace=None):
        out, rest = self.parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return out

# -- json
class JSONDecodeError(ValueError):
    pass

def _quoted(s, ascii):
    names = {'"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\b': '\\b', '\f': '\\f'}
    out = []
    for c in s:
        n = ord(c)
        if c in names:
            out.append(names[c])
        elif n < 32 or (ascii and 127 <= n < 65536):
            out.append(f'\\u{n:04x}')
        elif ascii and n >= 65536:
            out.append(f'\\u{0xd800 + ((n - 65536) >> 10):04x}\\u{0xdc00 + ((n - 65536) & 1023):04x}')
        else:
            out.append(c)
    return '"' + ''.join(out) + '"'

def dumps(obj, *, indent=None, sort_keys=False, separators=None, default=None, ensure_ascii=True, _depth=0):
    comma, colon = separators or ((',' if indent is not None else ', '), ': ')
    def inner(x):
        return dumps(x, indent=indent, sort_keys=sort_keys, separators=separators, default=default, ensure_ascii=ensure_ascii, _depth=_depth + 1)
    def wrapped(items, left, right):
        if not items or indent is None:
            return left + comma.join(items) + right
        step = indent if isinstance(indent, str) else ' ' * indent
        return left + '\n' + (comma + '\n').join(step * (_depth + 1) + x for x in items) + '\n' + step * _depth + right
    if obj is None or obj is True or obj is False:
        return {None: 'null', True: 'true', False: 'false'}[obj]
    if isinstance(obj, str):
        return _quoted(obj, ensure_ascii)
    if isinstance(obj, (int, float)):
        return {'inf': 'Infinity', '-inf': '-Infinity', 'nan': 'NaN'}.get(repr(obj), repr(obj))
    if isinstance(obj, (list, tuple)):
        return wrapped([inner(x) for x in obj], '[', ']')
    if isinstance(obj, dict):
        keys = sorted(obj) if sort_keys else list(obj)
        return wrapped([(_quoted(k, ensure_ascii) if isinstance(k, str) else '"' + inner(k) + '"') + colon + inner(obj[k]) for k in keys], '{', '}')
    if default:
        return inner(default(obj))
    raise TypeError(f'Object of type {type(obj).__name__} is not JSON serializable')

def dump(obj, fp, **options):
    fp.write(dumps(obj, **options))

class _Reader:
    def __init__(self, s):
        self.s, self.at = s, 0
    def fail(self, what):
        raise JSONDecodeError(f'{what}: line {self.s.count(chr(10), 0, self.at) + 1} column {self.at - self.s.rfind(chr(10), 0, self.at)} (char {self.at})')
    def peek(self):
        while self.at < len(self.s) and self.s[self.at] in ' \t\r\n':
            self.at += 1
        return self.s[self.at] if self.at < len(self.s) else ''
    def takes(self, word):
        found = self.s[self.at:self.at + len(word)] == word
        self.at += len(word) if found else 0
        return found
    def string(self):
        names = {'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\\': '\\', '/': '/'}
        out, self.at = [], self.at + 1
        while True:
            c = self.s[self.at] if self.at < len(self.s) else self.fail('Unterminated string')
            self.at += 1
            if c == '"':
                return ''.join(out)
            if c != '\\':
                out.append(c)
                continue
            c, self.at = self.s[self.at:self.at + 1], self.at + 1
            if c == 'u':
                n, self.at = int(self.s[self.at:self.at + 4], 16), self.at + 4
                if 0xd800 <= n < 0xdc00 and self.takes('\\u'):
                    n, self.at = 65536 + ((n - 0xd800) << 10) + int(self.s[self.at:self.at + 4], 16) - 0xdc00, self.at + 4
                out.append(chr(n))
            elif c in names:
                out.append(names[c])
            else:
                self.fail('Invalid \\escape')
    def number(self):
        start = self.at
        while self.at < len(self.s) and self.s[self.at] in '+-0123456789.eE':
            self.at += 1
        text = self.s[start:self.at]
        if not text or text[0] == '+':
            self.fail('Expecting value')
        return float(text) if any(c in text for c in '.eE') else int(text)
    def items(self, end, item):
        out, self.at = [], self.at + 1
        if self.peek() == end:
            self.at += 1
            return out
        while True:
            out.append(item())
            c = self.peek()
            self.at += 1
            if c == end:
                return out
            if c != ',':
                self.at -= 1
                self.fail("Expecting ',' delimiter")
    def pair(self):
        if self.peek() != '"':
            self.fail('Expecting property name enclosed in double quotes')
        key = self.string()
        if self.peek() != ':':
            self.fail("Expecting ':' delimiter")
        self.at += 1
        return key, self.value()
    def value(self):
        c = self.peek()
        if c == '{':
            return dict(self.items('}', self.pair))
        if c == '[':
            return self.items(']', self.value)
        if c == '"':
            return self.string()
        for word, value in (('true', True), ('false', False), ('null', None), ('NaN', float('nan')), ('Infinity', float('inf')), ('-Infinity', -float('inf'))):
            if self.takes(word):
                return value
        return self.number()

def loads(s):
    reader = _Reader(s)
    value = reader.value()
    if reader.peek():
        reader.fail('Extra data')
    return value

def load(fp):
    return loads(fp.read())

# -- pathlib
def _no_files(what):
    raise NotImplementedError(f"Path.{what}: programs have no files in neso: run the file under Python: python -m neso FILE.py")

class PurePath:
    def __init__(self, *parts):
        text = ''
        for part in parts:
            part = str(part)
            text = part if part.startswith('/') or not text else text + '/' + part
        self._root = '/' if text.startswith('/') else ''
        self._names = [name for name in text.split('/') if name not in ('', '.')]
    def _like(self, root, names):
        out = type(self)()
        out._root, out._names = root, list(names)
        return out
    def __str__(self):
        return (self._root + '/'.join(self._names)) or '.'
    def __repr__(self):
        return f'PosixPath({str(self)!r})'
    def __fspath__(self):
        return str(self)
    def __eq__(self, other):
        return str(self) == str(other)
    def __hash__(self):
        return hash(str(self))
    def __lt__(self, other):
        return self._names < other._names
    def __truediv__(self, other):
        return self.joinpath(other)
    def __rtruediv__(self, other):
        return type(self)(other, self)
    def joinpath(self, *others):
        return type(self)(self, *others)
    def as_posix(self):
        return str(self)
    def is_absolute(self):
        return bool(self._root)
    @property
    def parts(self):
        return tuple(([self._root] if self._root else []) + self._names)
    @property
    def name(self):
        return self._names[-1] if self._names else ''
    @property
    def suffix(self):
        at = self.name.rfind('.')
        return self.name[at:] if 0 < at < len(self.name) - 1 else ''
    @property
    def suffixes(self):
        return ['.' + part for part in self.name.lstrip('.').split('.')[1:]] if self.suffix else []
    @property
    def stem(self):
        return self.name[:len(self.name) - len(self.suffix)]
    @property
    def parent(self):
        return self._like(self._root, self._names[:-1])
    @property
    def parents(self):
        return tuple(self._like(self._root, self._names[:n]) for n in range(len(self._names) - 1, -1, -1))
    def with_name(self, name):
        return self._like(self._root, self._names[:-1] + [name])
    def with_suffix(self, suffix):
        return self.with_name(self.stem + suffix)
    def with_stem(self, stem):
        return self.with_name(stem + self.suffix)
    def relative_to(self, other):
        other = type(self)(other)
        n = len(other._names)
        if self._root != other._root or self._names[:n] != other._names:
            raise ValueError(f'{str(self)!r} is not in the subpath of {str(other)!r}')
        return self._like('', self._names[n:])

class Path(PurePath):
    def __getattr__(self, name):
        if name in ('exists', 'is_file', 'is_dir', 'mkdir', 'open', 'read_text', 'write_text', 'read_bytes', 'write_bytes', 'iterdir', 'glob', 'rglob',
                    'resolve', 'absolute', 'unlink', 'stat', 'touch', 'rename', 'expanduser'):
            return lambda *args, **options: _no_files(name)
        raise AttributeError(f"'Path' object has no attribute {name!r}")

PosixPath, PurePosixPath = Path, PurePath


# -- pdb
def set_trace():
    breakpoint()

# -- ipdb
from pdb import *

# -- IPython.core.debugger
from pdb import *
