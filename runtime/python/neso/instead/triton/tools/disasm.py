# SPDX-License-Identifier: MIT
"""triton.tools.disasm in neso: lists the machine code of a cubin, by cuobjdump of NVIDIA's toolkit (TRITON_CUOBJDUMP_PATH), with the data
about scheduling in each instruction's encoding:

    --:-:0:Y:2      LDG.E R2, desc[UR4][R2.64] ;
     | | | | +- cycles until the next instruction
     | | | +--- Y: the scheduler may switch to another warp
     | | +----- the barrier that is set when the result is written
     | +------- the barrier that is set when the operands are read
     +--------- the mask of barriers that the instruction waits for
"""
import functools
import os
import re
import subprocess
import tempfile

_FUNCTION = re.compile(r"\s*Function : (\w+)")
_FIRST = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s*([^;]*?)\s*;\s*/\* 0x[0-9a-f]{16} \*/")
_SECOND = re.compile(r"\s*/\* 0x([0-9a-f]{16}) \*/\s*$")
_BRANCH = re.compile(r"^((?:@!?U?P\w+ )?BRA\S*(?: \S+,)* )(0x[0-9a-f]+)$")


def path_to_cuobjdump():
    from .. import knobs
    return knobs.nvidia.cuobjdump.path


@functools.lru_cache()
def get_sass(cubin_asm, fun=None):
    """Returns the listing of the function `fun` (by default the first one) of a cubin, given as bytes."""
    fd, path = tempfile.mkstemp()
    try:
        with open(fd, "wb") as f:
            f.write(cubin_asm)
        return extract(path, fun)
    finally:
        os.remove(path)


def extract(file_path, fun):
    """Returns the listing of a function of the file; None if the file has no function."""
    chosen = [] if fun is None else ["-fun", fun]
    lines = subprocess.check_output([path_to_cuobjdump(), *chosen, "-sass", file_path]).decode().splitlines()
    name, code = None, []
    for line, after in zip(lines, lines[1:] + [""]):
        head, first, second = _FUNCTION.match(line), _FIRST.match(line), _SECOND.match(after)
        if head and name:
            break
        name = head.group(1) if head else name
        if name and first and second:
            code.append((int(first.group(1), 16), _control(int(second.group(1), 16)), first.group(2)))
    return _listing(name, code) if name else None


def _control(bits):
    """Returns the columns that describe an instruction's scheduling, from the second half of its encoding."""
    stall, is_last, written, read, waits = bits >> 41 & 15, bits >> 45 & 1, bits >> 46 & 7, bits >> 49 & 7, bits >> 52 & 63
    barriers = ["-" if x == 7 else str(x) for x in (read, written)]
    return f"{waits:02d}:" * bool(waits) + "--:" * (not waits) + f"{':'.join(barriers)}:{'-' if is_last else 'Y'}:{stall:x}"


def _listing(name, code):
    labels = {}
    for _, _, text in code:
        jump = _BRANCH.match(text)
        if jump:
            labels.setdefault(int(jump.group(2), 16), f"LBB{len(labels)}")
    out = [f"Function:{name}"]
    for address, control, text in code:
        if address in labels:
            out.append(f"{labels[address]}:")
        jump = _BRANCH.match(text)
        text = jump.group(1) + labels[int(jump.group(2), 16)] if jump else text
        out.append(f"{control}\t{text};")
    return "\n".join(out) + "\n\n"
