"""few_cases.py: a pytest plugin (-p few_cases) that runs only a few cases of each test function, evenly chosen.

CASES is the number of cases of a function (4). CASE_SECONDS is the time limit of a case (30). SHARE="2/8" selects the second of eight
shares of the test functions, so that eight processes can share the work. With NO_COMPARE=1 the tests'
comparisons have no effect (standin.py).
"""
import collections
import os
import signal

import pytest


def pytest_collection_modifyitems(config, items):
    most = int(os.environ.get("CASES", "4"))
    share, shares = map(int, os.environ.get("SHARE", "0/1").split("/"))
    functions = collections.OrderedDict()
    for item in items:
        functions.setdefault((str(item.fspath), getattr(item, "originalname", item.name)), []).append(item)
    chosen = []
    for number, cases in enumerate(functions.values()):
        if number % shares == share:
            n = min(most, len(cases))
            chosen += [cases[(2 * i + 1) * len(cases) // (2 * n)] for i in range(n)]
    config.hook.pytest_deselected(items=[i for i in items if i not in chosen])
    items[:] = chosen
    if os.environ.get("NO_COMPARE") == "1":
        for module in {item.module for item in items}:
            silence(module)


def silence(module):
    for name, x in vars(module).items():
        if callable(x) and "close" in name and not isinstance(x, type):
            setattr(module, name, lambda *args, **kwargs: None)


def late(*args):
    raise TimeoutError("this case is out of time")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    signal.signal(signal.SIGALRM, late)
    signal.alarm(int(os.environ.get("CASE_SECONDS", "30")))
    yield
    signal.alarm(0)


def pytest_runtest_logreport(report):
    """Reports a failure at once, because the process may end before it prints a summary."""
    if report.failed:
        print(f"\nFAILED {report.nodeid}: {report.longreprtext.splitlines()[-1][:200]}", flush=True)
