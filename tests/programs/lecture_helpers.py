# runs: interpreter triton triton-interpret (the program has no kernel)
# Tests the lecture's conditions on program ids, word for word: strings that are split, checked and evaluated.
import os

os.environ['TRITON_INTERPRET'] = '1' # needs to be set *before* triton is imported

import torch
import triton
import triton.language as tl


def test_pid_conds(conds, pid_0=[0], pid_1=[0], pid_2=[0]):
    """
    Test if conditions on program IDs (PIDs) are fulfilled.

    Args:
        conds (str): String containing conditions to check. Multiple conditions are separated by commas.
                     Each condition consists of an operator and a number.
        pid_0 (list): First program ID value in a single-element list. Default: [0]
        pid_1 (list): Second program ID value in a single-element list. Default: [0]
        pid_2 (list): Third program ID value in a single-element list. Default: [0]

    Examples:
        '=0'     -> Checks if pid_0 equals 0
        ',>1'    -> Checks if pid_1 is greater than 1
        '>1,=0'  -> Checks if pid_0 > 1 AND pid_1 = 0

    Returns:
        bool: True if all conditions are met, False otherwise
    """
    # Extract PID values from lists
    pids = pid_0[0], pid_1[0], pid_2[0]

    # Remove spaces and split conditions by comma
    conds = conds.replace(' ','').split(',')

    # Check each condition against corresponding PID
    for i, (cond, pid) in enumerate(zip(conds, pids)):
        if cond == '': continue  # Skip empty conditions

        # Split condition into operator and threshold value
        op, threshold = cond[0], int(cond[1:])

        # Validate operator
        valid_ops = ['<', '>', '>=', '<=', '=', '!=']
        if op not in valid_ops:
            raise ValueError(f"Rules may only use these ops: {valid_ops}. Invalid rule: '{cond}'.")

        # Convert '=' to '==' for Python evaluation
        op = '==' if op == '=' else op

        # Evaluate condition
        if not eval(f'{pid} {op} {threshold}'):
            return False

    return True


def check_tensors_gpu_ready(*tensors):
    """
    Verify that all input tensors are contiguous and on GPU.

    Args:
        *tensors: Variable number of PyTorch tensors to check

    Raises:
        AssertionError: If any tensor is not contiguous or not on GPU
    """
    for t in tensors:
        assert t.is_contiguous(), "A tensor is not contiguous"
        # Skip GPU check if in simulator mode
        if not os.environ.get('TRITON_INTERPRET') == '1':
            assert t.is_cuda, "A tensor is not on cuda"


def print_if(txt, conds, pid_0=[0], pid_1=[0], pid_2=[0]):
    """
    Print text if specified PID conditions are met.
    Useful for debugging specific threads in GPU kernels.

    Args:
        txt (str): Text to print
        conds (str): Conditions string (same format as test_pid_conds)
        pid_0, pid_1, pid_2 (list): Program ID values to check
    """
    if test_pid_conds(conds, pid_0, pid_1, pid_2):
        print(txt)


assert test_pid_conds('')
assert test_pid_conds('=0')
assert not test_pid_conds('>0')
assert test_pid_conds('>1,=0', [2], [0])
assert not test_pid_conds('>1,=0', [2], [1])
assert test_pid_conds(' =1 , ,<3', [1], [7], [2])
assert not test_pid_conds(',,>2', [1], [7], [2])
try:
    test_pid_conds('*1')
except ValueError as e:
    print(e)

x = torch.arange(6).view(2, 3)
check_tensors_gpu_ready(x)
try:
    check_tensors_gpu_ready(x, x.t())
except AssertionError as e:
    print(e)
for pid in range(3):
    print_if(f'pid = {[pid]} | x = {x[0]}', '>0', [pid])

# expect:
# Rules may only use these ops: ['<', '>', '>=', '<=', '=', '!=']. Invalid rule: '*1'.
# A tensor is not contiguous
# pid = [1] | x = tensor([0, 1, 2])
# pid = [2] | x = tensor([0, 1, 2])
