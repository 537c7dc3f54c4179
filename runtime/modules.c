/* modules.c: which modules of other people's a host program can import: the lecture's helpers, written in Python here, and
 * those of Python's that neso will not have, which are refused with a way out. */
#include "frontend/python.h"
#include "runtime/host.h"
#include "runtime/runtime.h"

#include <string.h>

/* What a program may import as triton_util; one beside the program goes before it. */
static const char triton_util_py[] =
    "import os\n"
    "\n"
    "def cdiv(n, d):\n"
    "    return (n + d - 1) // d\n"
    "\n"
    "def check_tensors_gpu_ready(*tensors):\n"
    "    for t in tensors:\n"
    "        assert t.is_contiguous(), 'A tensor is not contiguous'\n"
    "        if os.environ.get('TRITON_INTERPRET') != '1':\n"
    "            assert t.is_cuda, 'A tensor is not on cuda'\n"
    "\n"
    "def _is_met(condition, pid):\n"
    "    for sign in ['<=', '>=', '!=', '==', '<', '>', '=']:\n"
    "        if condition.startswith(sign):\n"
    "            wanted = int(condition[len(sign):])\n"
    "            return {'<=': pid <= wanted, '>=': pid >= wanted, '!=': pid != wanted, '==': pid == "
    "wanted,\n"
    "                    '<': pid < wanted, '>': pid > wanted, '=': pid == wanted}[sign]\n"
    "    raise ValueError(f\"Rules may only use these ops: ['<', '>', '>=', '<=', '=', '!=']. "
    "Invalid rule: '{condition}'.\")\n"
    "\n"
    "def test_pid_conds(conds, pid_0=[0], pid_1=[0], pid_2=[0]):\n"
    "    pids = pid_0[0], pid_1[0], pid_2[0]\n"
    "    conditions = conds.replace(' ', '').split(',')\n"
    "    return all(c == '' or _is_met(c, pid) for c, pid in zip(conditions, pids))\n"
    "\n"
    "def print_if(txt, conds, pid_0=[0], pid_1=[0], pid_2=[0]):\n"
    "    if test_pid_conds(conds, pid_0, pid_1, pid_2):\n"
    "        print(txt)\n"
    "\n"
    "def breakpoint_if(conds, pid_0=[0], pid_1=[0], pid_2=[0]):\n"
    "    if test_pid_conds(conds, pid_0, pid_1, pid_2):\n"
    "        breakpoint()\n";

static const char debugger_py[] = "def set_trace():\n"
                                  "    breakpoint()\n";

/* triton.runtime.driver.active, as far as tutorials ask it. */
static const char driver_py[] =
    "import torch\n"
    "\n"
    "class GPUTarget:\n"
    "    backend = 'cuda'\n"
    "    warp_size = 32\n"
    "    def __init__(self, arch):\n"
    "        self.arch = arch\n"
    "\n"
    "class Utils:\n"
    "    def get_device_properties(self, device):\n"
    "        p = torch.cuda.get_device_properties(device)\n"
    "        return {'max_shared_mem': p.shared_memory_per_block_optin, 'max_num_regs': "
    "p.regs_per_multiprocessor,\n"
    "                'multiprocessor_count': p.multi_processor_count, 'warpSize': p.warp_size,\n"
    "                'sm_clock_rate': p.clock_rate, 'mem_clock_rate': p.memory_clock_rate,\n"
    "                'mem_bus_width': p.memory_bus_width}\n"
    "\n"
    "class Active:\n"
    "    utils = Utils()\n"
    "    def get_active_torch_device(self):\n"
    "        return torch.device('cuda:0')\n"
    "    def get_device_interface(self):\n"
    "        return torch.cuda\n"
    "    def get_current_target(self):\n"
    "        major, minor = torch.cuda.get_device_capability()\n"
    "        return GPUTarget(10 * major + minor)\n"
    "    def get_current_device(self):\n"
    "        return 0\n"
    "    def get_current_stream(self, device=0):\n"
    "        return 0\n"
    "    def get_empty_cache_for_benchmark(self):\n"
    "        return torch.empty(256 * 2 ** 20 // 4, dtype=torch.int32, device='cuda')\n"
    "    def clear_cache(self, cache):\n"
    "        cache.zero_()\n"
    "\n"
    "active = Active()\n";

static const struct {
    const char *name, *text;
} written[] = {{"triton_util", triton_util_py},
               {"IPython.core.debugger", debugger_py},
               {"pdb", debugger_py},
               {"ipdb", debugger_py},
               {"triton.runtime.driver", driver_py}};

/* Packages on the way to a module. */
static const char *const packages[] = {"IPython", "IPython.core"};

static const char *const absent[] = {"matplotlib", "PIL",     "torchvision",  "numpy",   "pandas",
                                     "scipy",      "IPython", "requests",     "urllib",  "tqdm",
                                     "einops",     "seaborn", "transformers", "tabulate"};

static bool is_beside(const struct program *p, const char *name)
{
    size_t length;
    return p->options.find && p->options.find(p->options.user, name, &length);
}

static bool is_in(const char *package, const char *name)
{
    size_t n = strlen(package);
    return strncmp(package, name, n) == 0 && (name[n] == 0 || name[n] == '.');
}

struct obj *modules_import(struct program *p, struct eval *e, const char *name, struct loc at)
{
    if (is_beside(p, name))
        return NULL;
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        if (strcmp(written[i].name, name) == 0)
            return eval_module(e, diag_add_source(e->diag, name, written[i].text, strlen(written[i].text)),
                               name);
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
        if (strcmp(packages[i], name) == 0)
            return obj_module(e, packages[i]);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (is_in(absent[i], name))
            eval_raise(e, at, "ModuleNotFoundError", ERR_no_library, name);
    return NULL;
}
