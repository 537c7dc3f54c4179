#!/usr/bin/env python3
"""replay.py: records the kernels that programs launch under Triton, runs each kernel under neso too, and compares the memories.

    replay.py record DIR [--stand-in] -- PROGRAM.py ARGS... | -m pytest ARGS...     runs a program under Triton, and writes records
    replay.py play DIR [--device cuda|emulator|none] [--table FILE]                 compiles and runs records, and writes a table
    replay.py suite FILE DIR                                                        does both for each line of FILE, a command

A record is one specialization: its self-contained source (runtime/python/neso/source.py: the kernel, the functions that it calls, the
globals that they read), signature, options, grid, and the memory before and after (recorder.py). --stand-in records without a GPU:
torch's tensors are on the CPU, and neso's interpreter runs the launches (standin.py). `--device none` only compiles and assembles
(ptxas), `emulator` executes the PTX on the CPU. If neso and Triton differ, neso's interpreter decides: a program that races or
accesses memory beyond its tensors is at fault; else the compiler with the nearer results is right. A person must judge the verdict
"only Triton differs", because the interpreter shares neso's understanding of the language.

A line of a suite has four fields, separated by tabs: COLLECTION, working folder, PYTHONPATH, command. NAME=VALUE before the command
sets an environment variable. few_cases.py is a pytest plugin for such commands.
"""
import argparse
import collections
import itertools
import json
import os
import queue
import runpy
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = ["collection", "module", "kernel", "id", "verdict", "detail", "arbiter", "phase", "signature", "num_warps", "num_stages", "grid",
           "bytes", "compile_ms", "launch_ms"]
GOOD = ("equal", "agrees", "compiled")


# -- record --

def record(args):
    os.makedirs(args.folder, exist_ok=True)
    sys.path.insert(0, HERE)
    if args.stand_in:
        import standin
        standin.install()
    import recorder
    recorder.few_configs(args.configs)
    r = recorder.Recorder(args.folder, args.collection, args.limit << 20, args.each, args.stand_in)
    r.install()
    command = args.command
    sys.path.remove(HERE)  # modules in the program's folder take precedence
    sys.path.insert(0, os.getcwd())
    if command[0] == "-m":
        sys.argv = command[1:]
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = command
        runpy.run_path(command[0], run_name="__main__")


# -- play --

class Player:
    """A process that replays records. If a record ends the process, it is started again."""

    def __init__(self, folder, device, seconds):
        self.command = [sys.executable, os.path.join(HERE, "player.py"), folder, device]
        self.seconds, self.process = seconds, None

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.lines = queue.Queue()
        threading.Thread(target=self.listen, args=(self.process, self.lines), daemon=True).start()
        return "ready" in (self.next(60) or {})

    @staticmethod
    def listen(process, lines):
        for line in process.stdout:
            if line.startswith("{"):
                try:
                    lines.put(json.loads(line))
                except ValueError:
                    pass  # output of a kernel
        lines.put(None)

    def next(self, seconds):
        try:
            return self.lines.get(timeout=max(0.01, seconds))
        except queue.Empty:
            return {"late": True}

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def play(self, name):
        row = self.ask(name)
        if row["verdict"] in ("differs", "crashed"):
            said = self.ask(name + " ?")
            row.update({k: v for k, v in said.items() if k in ("verdict", "arbiter") and v and "arbiter" in said})
        return row

    def ask(self, request):
        if self.process is None and not self.start():
            self.stop()
            return {"verdict": "tool failed", "detail": "the player did not start"}
        until, phase = time.time() + self.seconds, "read"
        self.process.stdin.write(request + "\n")
        while True:
            said = self.next(until - time.time())
            if said is None:
                self.stop()
                return {"verdict": "crashed", "detail": "the player died", "phase": phase}
            if said.get("late"):
                self.stop()
                return {"verdict": "hung", "detail": f"no end after {self.seconds} s", "phase": phase}
            if "verdict" in said:
                if said["verdict"] == "crashed":
                    self.stop()
                return dict(said, phase=phase)
            phase = said.get("phase", phase)


def records_in(folder, known):
    names = [n[:-5] for n in os.listdir(folder) if n.endswith(".json") and n[:-5] not in known]
    return sorted(names, key=lambda n: os.path.getmtime(os.path.join(folder, n + ".json")))


class Play:
    def __init__(self, folder, device, jobs, seconds, keep=True):
        self.folder, self.keep, self.jobs = folder, keep, queue.Queue()
        self.known, self.rows, self.lock, self.stopped = set(), [], threading.Lock(), False
        self.threads = [threading.Thread(target=self.work, args=(Player(folder, device, seconds),)) for _ in range(jobs)]
        for t in self.threads:
            t.start()

    def work(self, player):
        while True:
            name = self.jobs.get()
            if name is None or self.stopped:
                break
            row = player.play(name)
            with open(os.path.join(self.folder, name + ".json")) as f:
                r = json.load(f)
            with self.lock:
                self.rows.append(row_of(r, row))
            if not self.keep and row["verdict"] in GOOD:
                os.remove(os.path.join(self.folder, name + ".bin"))
        player.stop()

    def look(self):
        for name in records_in(self.folder, self.known):
            self.known.add(name)
            self.jobs.put(name)

    def end(self, until=None):
        """Waits until all queued records are done, at most until the time `until`."""
        self.look()
        for _ in self.threads:
            self.jobs.put(None)
        for t in self.threads:
            while t.is_alive() and (until is None or time.time() < until):
                t.join(0.2)
        self.stopped = True
        with self.lock:
            played = {r["id"] for r in self.rows}
            return self.rows + [dict.fromkeys(COLUMNS, "") | {"id": n, "verdict": "not played"} for n in self.known - played]


def row_of(r, row):
    return {"collection": r["collection"], "module": r["module"], "kernel": r["kernel"], "kernel_id": r["kernel_id"],
            "signature": r["signature"], "num_warps": r["options"]["num_warps"], "num_stages": r["options"]["num_stages"],
            "grid": "x".join(map(str, r["grid"])), "bytes": sum(s["bytes"] for s in r["storages"]), **row, "id": r["id"]}


# -- the table --

def write_table(rows, path):
    rows.sort(key=lambda r: (r["verdict"] in GOOD, r["verdict"], r["collection"], r["kernel"], r["id"]))
    with open(path, "w") as f:
        f.write("\t".join(COLUMNS) + "\n")
        for r in rows:
            f.write("\t".join(str(r.get(c, "")).replace("\t", " ").replace("\n", " | ") for c in COLUMNS) + "\n")


def summary(rows):
    """Prints the numbers of kernels, specializations and verdicts of each collection, and then each kernel without a good verdict."""
    verdicts = sorted({r["verdict"] for r in rows}, key=lambda v: (v not in GOOD, v))
    lines = []
    for collection in sorted({r["collection"] for r in rows}) + ["all"]:
        mine = [r for r in rows if collection in ("all", r["collection"])]
        kernels = {r.get("kernel_id") for r in mine}
        bad = {r.get("kernel_id") for r in mine if r["verdict"] not in GOOD}
        counts = collections.Counter(r["verdict"] for r in mine)
        lines.append(f"{collection:12} {len(kernels)} kernels, {len(kernels - bad)} good; {len(mine)} specializations: " +
                     ", ".join(f"{counts[v]} {v}" for v in verdicts if counts[v]))
    named = collections.defaultdict(list)
    for r in rows:
        if r["verdict"] not in GOOD:
            named[r["collection"], r["kernel"], r["verdict"]].append(r)
    for (collection, kernel, verdict), rs in sorted(named.items()):
        lines.append(f"  {collection} {kernel}: {verdict} ({len(rs)}): {str(rs[0].get('detail', ''))[:200]}" +
                     (f"; {rs[0]['arbiter'][:200]}" if rs[0].get("arbiter") else ""))
    return "\n".join(lines)


def play(args):
    p = Play(args.folder, args.device, args.jobs, args.seconds)
    rows = p.end()
    finish(rows, args.table or os.path.join(args.folder, "table.tsv"))


def finish(rows, table):
    write_table(rows, table)
    print(summary(rows))
    sys.stdout.flush()
    os._exit(0 if all(r["verdict"] in GOOD for r in rows) else 1)


# -- suite --

def run_command(line, args, until):
    collection, folder, path, command = line.rstrip("\n").split("\t")
    log = os.path.join(args.folder, "logs", f"{collection}.{abs(hash(command)) % 10 ** 8}.log")
    prefix = [sys.executable, os.path.abspath(__file__), "record", args.folder, "--collection", collection, "--each", str(args.each),
              "--configs", str(args.configs), "--limit", str(args.limit)] + (["--stand-in"] if args.stand_in else []) + ["--"]
    words = command.split()
    settings = list(itertools.takewhile(lambda w: w.partition("=")[0].isidentifier() and "=" in w, words))
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([HERE, path, os.environ.get("PYTHONPATH", "")]))
    environment.update(w.split("=", 1) for w in settings)
    started = time.time()
    with open(log, "w") as f:
        f.write(command + "\n")
        f.flush()
        limit = min(args.command_seconds, until - started)
        if limit <= 1:
            return f"not started\t{command}"
        process = subprocess.Popen(prefix + words[len(settings):], cwd=folder, env=environment, stdout=f, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        try:
            status = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            status = "out of time"
    return f"{status}\t{time.time() - started:.0f} s\t{command}"


def suite(args):
    os.makedirs(os.path.join(args.folder, "logs"), exist_ok=True)
    until = time.time() + args.total_seconds
    with open(args.file) as f:
        lines = [line for line in f if line.strip() and not line.startswith("#")]
    p = Play(args.folder, args.device, args.jobs, args.seconds, keep=args.keep)
    commands, ends = queue.Queue(), []
    for line in lines:
        commands.put(line)

    def work():
        while True:
            try:
                line = commands.get_nowait()
            except queue.Empty:
                return
            ends.append(run_command(line, args, until))

    workers = [threading.Thread(target=work) for _ in range(args.programs)]
    for w in workers:
        w.start()
    while any(w.is_alive() for w in workers):
        p.look()
        time.sleep(0.1)
    rows = p.end(until + args.play_seconds)
    with open(os.path.join(args.folder, "commands.txt"), "w") as f:
        f.write("\n".join(sorted(ends)) + "\n")
    finish(rows, args.table or os.path.join(args.folder, "table.tsv"))


def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = a.add_subparsers(dest="verb", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--stand-in", action="store_true", help="no GPU: tensors on the CPU, launches by neso's interpreter")
    shared.add_argument("--each", type=int, default=8, help="specializations of one kernel, at most")
    shared.add_argument("--configs", type=int, default=2, help="configurations that an autotuner tries, at most")
    shared.add_argument("--limit", type=int, default=256, help="megabytes of arguments, at most")
    playing = argparse.ArgumentParser(add_help=False)
    playing.add_argument("--device", default="cuda", choices=["cuda", "emulator", "none"])
    playing.add_argument("--jobs", type=int, default=4, help="players at a time")
    playing.add_argument("--seconds", type=float, default=20, help="for one record, at most")
    playing.add_argument("--table")
    r = sub.add_parser("record", parents=[shared])
    r.add_argument("folder")
    r.add_argument("--collection", default="")
    p = sub.add_parser("play", parents=[playing])
    p.add_argument("folder")
    s = sub.add_parser("suite", parents=[shared, playing])
    s.add_argument("file")
    s.add_argument("folder")
    s.add_argument("--programs", type=int, default=8, help="commands at a time")
    s.add_argument("--command-seconds", type=float, default=120)
    s.add_argument("--total-seconds", type=float, default=300, help="for all commands")
    s.add_argument("--play-seconds", type=float, default=60, help="for what is left to replay then")
    s.add_argument("--keep", action="store_true", help="keep the memory of records that agree")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args = a.parse_args(sys.argv[1:at])
    args.command = sys.argv[at + 1:]
    return args


if __name__ == "__main__":
    args = arguments()
    args.folder = os.path.abspath(args.folder)
    {"record": record, "play": play, "suite": suite}[args.verb](args)
