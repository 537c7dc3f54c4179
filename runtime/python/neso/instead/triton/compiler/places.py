# SPDX-License-Identifier: MIT
"""places.py: gives neso's messages the form of Triton's errors.

    FILE:39:7: error: unsupported operand type(s) for +: 'int' and 'str'          CompilationError at 3:4, the call in the kernel
           in helper, called at FILE:52:5                                    =>     its cause: CompilationError at 2:4, in the helper

Triton counts lines from the `def` of a function, and points at the start of the smallest expression or statement that contains the fault. If the
fault is in a function that the kernel calls, the function's error is the cause of the kernel's error.
"""
import ast
import re
import types

ERROR = re.compile(r"^(.+?):(\d+):(\d+): error: (.*?)(?: \[[\w-]+\])?$", re.MULTILINE)
CALLED = re.compile(r"^\s+in \w+, called at (.+?):(\d+):(\d+)$", re.MULTILINE)


def head_of(text):
    """Returns the first message without its place and name."""
    found = ERROR.search(text)
    return found.group(4) if found else text.strip()


def frames(text):
    """Returns the places (file, line, column) of the first message, from the kernel to the function with the fault."""
    first = ERROR.search(text)
    if not first:
        return []
    later = ERROR.search(text, first.end())
    calls = CALLED.finditer(text, first.end(), later.start() if later else len(text))
    return [(f, int(line), int(column)) for f, line, column in reversed([first.groups()[:3]] + [m.groups() for m in calls])]


def contains(node, line, column):
    return (node.lineno, node.col_offset) <= (line, column) < (node.end_lineno, node.end_col_offset)


def size(node):
    return (node.end_lineno - node.lineno, node.end_col_offset - node.col_offset if node.end_lineno == node.lineno else node.end_col_offset)


def located(modules, line, column):
    """Returns the text of the function that contains this place (column: from 1) of one of the modules, and the place in it as Triton gives it."""
    for module in modules:
        nodes = [n for n in ast.walk(ast.parse(module)) if isinstance(n, (ast.stmt, ast.expr)) and contains(n, line, column - 1)]
        functions = [n for n in nodes if isinstance(n, ast.FunctionDef)]
        if functions:
            function, node = min(functions, key=size), min(nodes, key=size)
            text = "\n".join(module.split("\n")[function.lineno - 1:function.end_lineno])
            return text, types.SimpleNamespace(lineno=node.lineno - function.lineno + 1, col_offset=node.col_offset)
    return None


def chained(kind, kernel, text, modules, words):
    """Returns the error of a kernel, of class `kind`. modules: {file in messages: texts of its modules}; words: Triton's words for the fault, or ""."""
    cause = ValueError(words) if words else None
    made = None
    for i, (name, line, column) in reversed(list(enumerate(frames(text)))):
        found = located(modules.get(name, ()), line, column)
        if found:
            made = kind(*found, words or head_of(text), text if i == 0 else None)
            made.__cause__, cause = cause, made
    if made is None or made.text is None:
        made = kind(kernel, None, f"{text.rstrip()}\n{words}" if words else text)
        made.__cause__ = cause
    return made
