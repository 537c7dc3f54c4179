# SPDX-License-Identifier: MIT
"""schema.py FILE SCHEMA: validates a JSON file, for the part of JSON Schema that neso's schemas use."""
import json
import sys

kinds = {'object': dict, 'array': list, 'string': str, 'integer': int, 'number': (int, float), 'boolean': bool, 'null': type(None)}


def check(x, s, at):
    def wrong(why):
        sys.exit(f'{at}: {why}: {str(x)[:80]}')
    types = s.get('type', [])
    types = [types] if isinstance(types, str) else types
    if types and not any(isinstance(x, kinds[t]) and (t == 'boolean' or not isinstance(x, bool)) for t in types):
        wrong(f'no {types}')
    if 'const' in s and x != s['const']:
        wrong('const')
    if 'enum' in s and x not in s['enum']:
        wrong('enum')
    if isinstance(x, dict):
        for name in s.get('required', []):
            if name not in x:
                wrong(f'lacks {name}')
        for name, value in x.items():
            sub = s.get('properties', {}).get(name, s.get('additionalProperties', {}))
            if sub is False:
                wrong(f'has {name}')
            check(value, sub, f'{at}.{name}')
    if isinstance(x, list) and 'items' in s:
        for i, value in enumerate(x):
            check(value, s['items'], f'{at}[{i}]')


if __name__ == '__main__':
    check(*(json.load(open(path, encoding='utf-8')) for path in sys.argv[1:3]), 'it')
