/* SPDX-License-Identifier: MIT */
/* modules.c: imports modules for host programs. The modules that are written in Python are in modules.py (third-party
 * modules) and standard.py (modules of Python's standard library). If a program imports a module that neso lacks, the
 * error suggests a workaround. */
#include "frontend/python/python.h"
#include "runtime/host/host.h"
#include "runtime/runtime.h"

#include <string.h>

/* Packages that contain modules of modules.py or standard.py. */
static const char *const packages[] = {"IPython", "IPython.core"};

static const char *const absent[] = {
    "matplotlib", "PIL",       "torchvision", "numpy",      "pandas",     "scipy",        "IPython",
    "requests",   "urllib",    "tqdm",        "einops",     "seaborn",    "transformers", "enum",
    "re",         "random",    "logging",     "csv",        "subprocess", "threading",    "multiprocessing",
    "asyncio",    "pickle",    "tempfile",    "shutil",     "glob",       "platform",     "string",
    "textwrap",   "traceback", "inspect",     "statistics", "struct",     "socket",       "signal"};

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
    struct obj *written = eval_section(e, modules_py, name, name);
    if (!written)
        written = eval_section(e, standard_py, name, name);
    if (written)
        return written;
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
        if (strcmp(packages[i], name) == 0)
            return obj_module(e, packages[i]);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (is_in(absent[i], name))
            eval_raise(e, at, "ModuleNotFoundError", ERR_no_library, name);
    return NULL;
}
