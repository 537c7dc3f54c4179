# runs: interpreter emulator cuda triton triton-interpret
# Host code may read its command line (argparse), write and read JSON, and compute with paths. Each result must equal Python's result.
import argparse
import dataclasses
import json
from pathlib import Path

import torch
import triton
import triton.language as tl


@triton.jit
def add(X, Y, Z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Z + i, tl.load(X + i, mask=i < n) + tl.load(Y + i, mask=i < n), mask=i < n)


@dataclasses.dataclass
class Size:
    n: int
    block: int = 64


parser = argparse.ArgumentParser(prog='add', description='adds vectors')
parser.add_argument('sizes', type=int, nargs='*', default=[100])
parser.add_argument('-b', '--block', type=int, default=64, choices=[32, 64, 128], help='elements of a program')
parser.add_argument('--dtype', default='float32')
parser.add_argument('--scale-by', type=float, default='1.5')
parser.add_argument('--verbose', '-v', action='count', default=0)
parser.add_argument('--dry', action='store_true')
parser.add_argument('--tag', action='append')
parser.add_argument('--pair', nargs=2, type=int)
parser.add_argument('--cache', action=argparse.BooleanOptionalAction, default=True)

args = parser.parse_args([])
assert args.sizes == [100] and args.block == 64 and args.scale_by == 1.5 and not args.dry and args.tag is None and args.cache
args = parser.parse_args(['200', '-b', '32', '--dtype=float16', '-v', '--dry', '--tag', 'a', '--tag', 'b', '--pair', '1', '-2', '--no-cache', '--scale', '2'])
assert args.sizes == [200] and args.block == 32 and args.dtype == 'float16' and args.verbose == 1 and args.dry
assert args.tag == ['a', 'b'] and args.pair == [1, -2] and args.cache is False and args.scale_by == 2.0
known, rest = parser.parse_known_args(['--unknown', '--block', '128'])
assert known.block == 128 and rest == ['--unknown']
assert parser.format_usage().startswith('usage: add [-h] [-b {32,64,128}] [--dtype DTYPE]')

for wrong in (['--block', '7'], ['--block'], ['--block', 'x'], ['--pair', '1'], ['--nothing']):
    try:
        parser.parse_args(wrong)
        assert False, wrong
    except SystemExit as e:
        assert e.code == 2

settings = {'block': args.block, 'names': ['x', 'é"\n'], 'none': None, 'yes': True, 'share': 0.25, 'empty': {}, 'nested': [[1], []]}
text = json.dumps(settings)
assert text == '{"block": 32, "names": ["x", "\\u00e9\\"\\n"], "none": null, "yes": true, "share": 0.25, "empty": {}, "nested": [[1], []]}'
assert json.loads(text) == settings
assert json.dumps({'b': 1, 'a': [1, 2]}, indent=2, sort_keys=True) == '{\n  "a": [\n    1,\n    2\n  ],\n  "b": 1\n}'
assert json.dumps([1, {'a': 2}], separators=(',', ':')) == '[1,{"a":2}]'
assert json.loads(' [1, -2.5e1, "\\ud83d\\ude00", {"a": [true, false, null]}] ') == [1, -25.0, '😀', {'a': [True, False, None]}]
for wrong in ('{"a" 1}', '[1, 2', '{a: 1}', '[1] 2', '"x', ''):
    try:
        json.loads(wrong)
        assert False, wrong
    except json.JSONDecodeError:
        pass

path = Path('results') / 'add' / 'times.tar.gz'
assert str(path) == 'results/add/times.tar.gz' and path.name == 'times.tar.gz' and path.suffix == '.gz' and path.stem == 'times.tar'
assert path.suffixes == ['.tar', '.gz'] and str(path.parent) == 'results/add' and [str(p) for p in path.parents] == ['results/add', 'results', '.']
assert path.with_suffix('.json') == Path('results/add/times.tar.json') and str(path.with_name('a')) == 'results/add/a'
assert Path('/a//b/./c').parts == ('/', 'a', 'b', 'c') and Path('/a').is_absolute() and str(Path('a', '/b')) == '/b'
assert str(path.relative_to('results')) == 'add/times.tar.gz' and str(Path()) == '.'

size = Size(args.sizes[0], args.block)
x = torch.randn(size.n, device='cuda')
y = torch.randn(size.n, device='cuda')
z = torch.empty_like(x)
add[(triton.cdiv(size.n, size.block),)](x, y, z, size.n, BLOCK=size.block)
assert torch.allclose(z, x + y)
assert json.loads(json.dumps(dataclasses.asdict(size))) == {'n': 200, 'block': 32}
print('ok')
