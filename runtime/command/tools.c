/* SPDX-License-Identifier: MIT */
/* tools.c: finds CUDA's assembler and disassemblers, and runs them in a temporary folder. */
#include "runtime/command/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

bool find_tool(const char *name, char *out, size_t n)
{
    const char *path = getenv("PATH");
    for (const char *s = path ? path : ""; *s;) {
        size_t len = strcspn(s, ":");
        snprintf(out, n, "%.*s/%s", (int)len, s, name);
        if (len && access(out, X_OK) == 0)
            return true;
        s += len + (s[len] == ':');
    }
    snprintf(out, n, "/usr/local/cuda/bin/%s", name);
    return access(out, X_OK) == 0;
}

extern char **environ;

static int start(pid_t *pid, char *const argv[], const char *output)
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    if (output)
        error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output,
                                                 O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (output && !error)
        error = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (!error)
        error = posix_spawn(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int tool_run(char *const argv[], const char *output)
{
    pid_t pid;
    int status;
    fflush(stdout);
    int error = start(&pid, argv, output);
    if (error)
        return complain("cannot run %s: %s", argv[0], strerror(error));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return complain("cannot wait for %s: %s", argv[0], strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return GOOD;
    return complain("%s failed", argv[0]);
}

int tool_number(const char *report, const char *words)
{
    const char *at = strstr(report, words);
    while (at && at > report && at[-1] == ' ')
        at--;
    while (at && at > report && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at ? atoi(at) : 0;
}

void temporary_name(char *out, size_t n)
{
    const char *parent = getenv("TMPDIR");
    snprintf(out, n, "%s/neso-XXXXXX", parent && *parent ? parent : "/tmp");
}

bool workshop_open(struct workshop *w)
{
    temporary_name(w->folder, sizeof w->folder);
    if (!mkdtemp(w->folder)) {
        complain("cannot make a temporary folder %s: %s", w->folder, strerror(errno));
        return false;
    }
    snprintf(w->ptx, sizeof w->ptx, "%s/k.ptx", w->folder);
    snprintf(w->cubin, sizeof w->cubin, "%s/k.cubin", w->folder);
    snprintf(w->log, sizeof w->log, "%s/log", w->folder);
    return true;
}

void workshop_close(struct workshop *w)
{
    unlink(w->ptx);
    unlink(w->cubin);
    unlink(w->log);
    rmdir(w->folder);
}

void ptx_target(const char *ptx, char *out, size_t n)
{
    const char *at = strstr(ptx, ".target ");
    snprintf(out, n, "%.*s", at ? (int)strcspn(at + 8, ", \n") : 0, at ? at + 8 : "");
}

int workshop_assemble(struct workshop *w, const char *ptxas, const char *ptx, size_t length, bool logs)
{
    char program[PATH_MAX], target[24], arch[40];
    snprintf(program, sizeof program, "%s", ptxas);
    ptx_target(ptx, target, sizeof target);
    snprintf(arch, sizeof arch, "-arch=%s", target);
    char *argv[] = {program, arch, "-lineinfo", w->ptx, "-o", w->cubin, logs ? "-v" : NULL, NULL};
    int result = write_file(w->ptx, ptx, length);
    return result ? result : tool_run(argv, logs ? w->log : NULL);
}
