# SPDX-License-Identifier: MIT
"""lsp.py NESO: sends requests to `neso lsp` as an editor does, and checks the answers."""
import json
import subprocess
import sys

SOURCE = '''import torch
import triton
import triton.language as tl

@triton.jit
def helper(v):
    twice = v * 2
    return twice

@triton.jit
def scale(X, Y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # ä😀
    x = tl.load(X + i, mask=i < n)
    tl.store(Y + i, helper(x) * factor, mask=i < n)

@triton.jit
def unlaunched(a_ptr, c_ptr, BM: tl.constexpr):
    k = tl.arange(0, BM)
    tile = tl.load(a_ptr + k[:, None] * BM + k[None, :])
    tl.store(c_ptr + k[:, None] * BM + k[None, :], tl.dot(tile, tile))

x = torch.ones(1000, device='cuda')
scale[(4,)](x, torch.empty_like(x), 1000, 2.5, BLOCK=256)
'''
WRONG = SOURCE.replace("mask=i < n)\n    tl.store", "mask=i < n) + '😀' if True else tl.zeros((32,), tl.float32)\n    tl.store")
URI = 'file:///tmp/a%20b/scale.py'

server = subprocess.Popen([sys.argv[1], 'lsp'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
failed = 0


def send(message):
    body = json.dumps({'jsonrpc': '2.0', **message}, ensure_ascii=False).encode()
    server.stdin.write(b'Content-Length: %d\r\n\r\n' % len(body) + body)
    server.stdin.flush()


def receive():
    length = 0
    while (line := server.stdout.readline()) not in (b'\r\n', b''):
        if line.startswith(b'Content-Length:'):
            length = int(line.split(b':')[1])
    return json.loads(server.stdout.read(length))


number = 0


def request(method, **params):
    global number
    number += 1
    send({'id': number, 'method': method, 'params': params})
    answer = receive()
    assert answer['id'] == number, answer
    return answer


def check(good, what):
    global failed
    if not good:
        failed += 1
        print('failed:', what)


def place(text, word, at=0):
    """Returns a position inside occurrence number `at` of a word, in UTF-16 units."""
    index = -1
    for _ in range(at + 1):
        index = text.index(word, index + 1)
    line = text.count('\n', 0, index)
    begin = text.rfind('\n', 0, index) + 1
    return {'line': line, 'character': len(text[begin:index].encode('utf-16-le')) // 2}


def hover(text, word, at=0):
    answer = request('textDocument/hover', textDocument={'uri': URI}, position=place(text, word, at))['result']
    return answer and answer['contents']['value']


def complete(text, line, uri=URI):
    send({'method': 'textDocument/didChange', 'params': {'textDocument': {'uri': uri}, 'contentChanges': [{'text': text + line}]}})
    receive()
    lines = (text + line).split('\n')
    position = {'line': len(lines) - 1, 'character': len(lines[-1].encode('utf-16-le')) // 2}
    return {item['label']: item for item in request('textDocument/completion', textDocument={'uri': uri}, position=position)['result']}


result = request('initialize', processId=None, rootUri=None, capabilities={})['result']
check(result['capabilities']['hoverProvider'] and result['capabilities']['textDocumentSync'] == 1, result)
send({'method': 'initialized', 'params': {}})

send({'method': 'textDocument/didOpen', 'params': {'textDocument': {'uri': URI, 'languageId': 'python', 'version': 1, 'text': SOURCE}}})
published = receive()
check(published['method'] == 'textDocument/publishDiagnostics' and published['params']['uri'] == URI, published)
check(published['params']['diagnostics'] == [], published['params']['diagnostics'])

found = hover(SOURCE, 'x = tl.load')
check(found and found.startswith('```\nx: tile<256xf32,#l') and '\nlayout #l' in found and 'reg[' in found and 'in scale(*fp32:16' in found, found)
found = hover(SOURCE, 'i < n')
check(found and 'i: tile<256xi32,#l' in found, found)
found = hover(SOURCE, 'factor, mask')
check(found and 'factor: f32' in found, found)
found = hover(SOURCE, 'X + i')
check(found and 'X: ptr<f32> {divisible=16}' in found, found)
found = hover(SOURCE, 'twice = v')
check(found and 'twice: tile<256xf32' in found, found)
found = hover(SOURCE, 'tile = tl.load')
check(found and 'tile: tile<64x64xf32,#l' in found and 'in unlaunched(' in found, found)
found = hover(SOURCE, 'BLOCK + tl')
check(found and '\nBLOCK = 256\n' in found and 'in scale(' in found, found)
found = hover(SOURCE, 'BM + k[None')
check(found and '\nBM = 64\n' in found and 'in unlaunched(' in found, found)
found = hover(SOURCE, 'load(X')
check(found and found.startswith('```python\ntl.load(pointer, mask=None'), found)
check(hover(SOURCE, 'import torch') is None, 'a hover over nothing')
check(hover(SOURCE, '\n\n@triton.jit') is None, 'a hover over an empty line')

send({'method': 'textDocument/didChange', 'params': {'textDocument': {'uri': URI, 'version': 2}, 'contentChanges': [{'text': WRONG}]}})
wrong = receive()['params']['diagnostics']
check(len(wrong) >= 1 and wrong[0]['severity'] == 1 and wrong[0]['source'] == 'neso' and wrong[0]['code'], wrong)
check(wrong and wrong[0]['range']['start']['line'] == 12, wrong)

broken = SOURCE.replace('i < n)\n    tl.store', 'i < n\n    tl.store')
send({'method': 'textDocument/didChange', 'params': {'textDocument': {'uri': URI}, 'contentChanges': [{'text': broken}]}})
wrong = receive()['params']['diagnostics']
check(wrong and wrong[0]['code'] == 'bracket-unclosed' and wrong[0]['range']['start'] == place(SOURCE, '(X + i'), wrong)

shapes = SOURCE.replace('mask=i < n)\n    tl.store', 'mask=i < n) + tl.arange(0, 32)\n    tl.store').replace('# ä😀\n    x =', '\n    tl.static_assert(True, "ä😀"); x =')
send({'method': 'textDocument/didChange', 'params': {'textDocument': {'uri': URI}, 'contentChanges': [{'text': shapes}]}})
wrong = receive()['params']['diagnostics']
check(wrong and wrong[0]['code'] == 'shape-broadcast' and '256 against 32' in wrong[0]['message'], wrong)
check(wrong and wrong[0]['range']['start'] == place(shapes, '+ tl.arange(0, 32)'), (wrong, place(shapes, '+ tl.arange(0, 32)')))
check(wrong and [note['message'].split()[0] for note in wrong[0]['relatedInformation']] == ['this', 'the', 'launched'] and 'shape [256]' in wrong[0]['relatedInformation'][0]['message'], wrong)

names = complete(SOURCE, 'y = tl.')
check(len(names) > 100 and names['load']['detail'].startswith('tl.load(pointer') and names['load']['documentation'], list(names)[:5])
check(set(complete(SOURCE, 'y = tl.lo')) == set(names), 'a name that has begun')
check('exp' in complete(SOURCE, 'y = tl.math.') and 'tanh' in complete(SOURCE, 'y = libdevice.'), 'tl.math and libdevice')
check(complete(SOURCE, 'y = torch.') == {} and complete(SOURCE, 'y = ') == {}, 'no names')
check('arange' in complete(SOURCE.replace('as tl', 'as lang'), 'lang.'), 'another name for the language')

check(request('textDocument/definition')['error']['code'] == -32601, 'an unknown method')
check(request('textDocument/hover', textDocument={'uri': 'file:///other.py'}, position={'line': 0, 'character': 0})['error']['code'] == -32602, 'a file that is not open')
server.stdin.write(b'Content-Length: 3\r\n\r\n{x}')
server.stdin.flush()
check(receive()['error']['code'] == -32700, 'no JSON')
send({'method': 'textDocument/didClose', 'params': {'textDocument': {'uri': URI}}})
check(request('textDocument/hover', textDocument={'uri': URI}, position={'line': 0, 'character': 0})['error']['code'] == -32602, 'a closed file')
check(request('shutdown')['result'] is None, 'shutdown')
send({'method': 'exit'})
check(server.wait(timeout=120) == 0, 'the exit status')
sys.exit(failed != 0)
