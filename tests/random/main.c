/* SPDX-License-Identifier: MIT */
/* main.c: generates random kernels and judges them. This program shrinks kernels that fail, prints them, and writes
 * them as programs.
 *
 *     random_kernels [N] [SEED] [OPTION...]    N kernels (default 500) from SEED on (default: the time)
 *         cuda          also run on the GPU         jobs=N       run N processes
 *         ptxas[=N]     assemble one in N (20)      out=DIR      folder for failing programs (build/random)
 *         quick         do not shrink               each=N       shrink N differences (default 4)
 *         first         stop at the first failure   ignore=KIND  ignore failures of a kind
 *         check         report the findings of the library's option `check`, one line each
 *         avoid=NODE    do not generate nodes of this kind (random.h)
 *         seconds=N     shrink for N seconds in total (60 for each failure)
 *     random_kernels show SEED                 print the program of a seed
 *
 * Workers run in separate processes, so that a crash, a hang or a broken GPU context affects only one kernel. The
 * last line is "N passed, N failed". */
#include "tests/random/random.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    SECONDS_MOST = 60,
    JOBS = 64,
    FAILURES = 256,
    REASONS = 32,
    EDITS_MOST = 6000,
    SHOWN = 5,
    IGNORED = 8
};

/* -- memory -- */

static void *take(void *ctx, size_t bytes)
{
    (void)ctx;
    return malloc(bytes);
}

static void give(void *ctx, void *p, size_t bytes)
{
    (void)ctx, (void)bytes;
    free(p);
}

static void no_memory(void *ctx, size_t bytes)
{
    (void)ctx, (void)bytes;
    exit(2);
}

static const struct memory memory = {take, give, NULL};

static void pool_init(struct arena *a)
{
    arena_init(a, &memory, 0, no_memory, NULL);
}

/* -- state that workers share -- */

struct failure {
    uint64_t seed;
    struct verdict verdict;
};

struct reason {
    char text[120];
    int times;
};

/* The state of a worker, in memory that it shares with the parent process. Only the worker writes this state; the
 * parent process reads it after the worker has ended. */
struct worker {
    uint64_t next; /* the seed of the current kernel; the worker has judged all earlier seeds */
    int passed, nfailures, nreasons;
    struct failure failures[FAILURES];
    struct reason reasons[REASONS];
};

struct run {
    uint64_t first;
    int count, jobs, each;        /* `each` is the number of differences to shrink */
    double small_until;           /* the time at which shrinking ends; 0: no limit */
    int small_seconds;            /* the limit in seconds of all shrinking; 0: no limit */
    bool cuda, quick, first_only; /* `first_only`: stop at the first failure */
    bool checks;
    const char *ignore[IGNORED]; /* prefixes of the kinds of failures to ignore */
    int nignore;
    const char *out;
    bool avoid[NODE_count];
    struct worker *workers;
};

static void count_reason(void *user, const char *text)
{
    struct worker *w = user;
    int i = 0;
    while (i < w->nreasons && strcmp(w->reasons[i].text, text) != 0)
        i++;
    if (i == REASONS)
        return;
    if (i == w->nreasons)
        snprintf(w->reasons[w->nreasons++].text, sizeof w->reasons[0].text, "%s", text);
    w->reasons[i].times++;
}

static void limit_time(void)
{
    /* alarm measures wall-clock time, so the limit is large: other processes share the cores */
    alarm(6 * SECONDS_MOST);
    struct rlimit r = {SECONDS_MOST, SECONDS_MOST + 1}, now = {0, 0};
    struct rusage used;
    getrlimit(RLIMIT_CPU, &now);
    getrusage(RUSAGE_SELF, &used);
    r.rlim_cur = (rlim_t)used.ru_utime.tv_sec + (rlim_t)used.ru_stime.tv_sec + SECONDS_MOST;
    r.rlim_max = now.rlim_max;
    setrlimit(RLIMIT_CPU, &r);
}

static bool any_failure(const struct run *r)
{
    for (int i = 0; i < r->jobs; i++)
        if (r->workers[i].nfailures)
            return true;
    return false;
}

/* On a terminal, prints once a second how many kernels all workers together have judged. */
static void show_progress(const struct run *r, time_t *last)
{
    time_t now = time(NULL);
    int passed = 0, failed = 0;
    if (now == *last || !isatty(STDERR_FILENO))
        return;
    for (int i = 0; i < r->jobs; i++) {
        passed += r->workers[i].passed;
        failed += r->workers[i].nfailures;
    }
    fprintf(stderr, "\r\033[K%d of %d random kernels, %d failed", passed + failed, r->count, failed);
    *last = now;
}

static _Noreturn void work(const struct run *r, int index)
{
    struct worker *w = &r->workers[index];
    struct judge *j = judge_open(r->cuda);
    if (r->checks)
        judge_by_check(j);
    struct arena a;
    time_t last = time(NULL);
    pool_init(&a);
    while (w->next < (uint64_t)r->count && !(r->first_only && any_failure(r))) {
        struct verdict v;
        uint64_t seed = r->first + w->next;
        struct program *p = program_generate(&a, seed, r->avoid);
        limit_time();
        judge_all(j, p, &v, count_reason, w);
        alarm(0);
        arena_reset(&a, (struct arena_mark){0});
        for (int i = 0; i < r->nignore; i++)
            if (v.what == FAILED && strncmp(v.kind, r->ignore[i], strlen(r->ignore[i])) == 0)
                v.what = REFUSED;
        w->passed += v.what != FAILED;
        if (v.what == FAILED && w->nfailures < FAILURES)
            w->failures[w->nfailures++] = (struct failure){seed, v};
        w->next += (uint64_t)r->jobs;
        if (index == 0)
            show_progress(r, &last);
        if (v.what == FAILED && r->cuda && strncmp(v.kind, "launch", 6) == 0)
            _exit(4); /* end the process, because the failure may have broken the GPU's context */
    }
    judge_close(j);
    arena_free(&a);
    _exit(0);
}

static void record_death(const struct run *r, int index, int status)
{
    struct worker *w = &r->workers[index];
    struct verdict v = {.what = FAILED};
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGXCPU))
        snprintf(v.kind, sizeof v.kind, "no end within %d seconds", SECONDS_MOST);
    else if (WIFSIGNALED(status))
        snprintf(v.kind, sizeof v.kind, "crash: signal %d", WTERMSIG(status));
    else
        snprintf(v.kind, sizeof v.kind, "crash: exit %d", WEXITSTATUS(status));
    v.config.target = "?";
    if (w->nfailures < FAILURES)
        w->failures[w->nfailures++] = (struct failure){r->first + w->next, v};
    w->next += (uint64_t)r->jobs;
}

static void run_workers(const struct run *r)
{
    pid_t pids[JOBS];
    int left = r->jobs;
    fflush(NULL);
    for (int i = 0; i < r->jobs; i++) {
        r->workers[i].next = (uint64_t)i;
        if ((pids[i] = fork()) == 0)
            work(r, i);
    }
    while (left > 0) {
        int status, i = 0;
        pid_t pid = wait(&status);
        if (pid < 0)
            return;
        while (i < r->jobs && pids[i] != pid)
            i++;
        if (i == r->jobs)
            continue;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            if (--left == 0 && isatty(STDERR_FILENO))
                fputs("\r\033[K", stderr);
            continue;
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 4)
            record_death(r, i, status);
        if ((pids[i] = fork()) == 0)
            work(r, i);
    }
}

/* -- shrinking -- */

struct attempt {
    struct verdict verdict;
    struct expectation expected;
    bool done;
};

/* Judges a program in a separate process. */
static void attempt(struct program *p, const struct config *c, bool cuda, struct attempt *shared)
{
    memset(shared, 0, sizeof *shared);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 2);
        struct judge *j = judge_open(cuda);
        limit_time();
        judge_one(j, p, c, &shared->verdict, &shared->expected);
        shared->done = true;
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (shared->done)
        return;
    shared->verdict.what = FAILED;
    shared->verdict.config = *c;
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGXCPU))
        snprintf(shared->verdict.kind, sizeof shared->verdict.kind, "no end within %d seconds", SECONDS_MOST);
    else
        snprintf(shared->verdict.kind, sizeof shared->verdict.kind, "crash: signal %d",
                 WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static bool fails_alike(struct program *p, const struct config *c, const char *kind, bool cuda,
                        struct attempt *shared)
{
    attempt(p, c, cuda, shared);
    return shared->verdict.what == FAILED && strcmp(shared->verdict.kind, kind) == 0;
}

static bool simpler_config(struct config *c, int number)
{
    struct config old = *c;
    switch (number) {
    case 0: c->skip[0] = 0; return old.skip[0] != 0;
    case 1: c->warps = 1; return old.warps > 1;
    case 2: c->warps = 4; return old.warps > 4;
    case 3: c->warps = old.warps / 2; return old.warps > 1;
    case 4: c->stages = 1; return old.stages > 1;
    case 5: c->target = "sm_90a"; return strcmp(old.target, "sm_90a") != 0;
    default: return false;
    }
}

/* Makes the program smaller: applies edits until no edit is left after which the program still fails in the same
 * way. */
static struct program *shrink(struct program *p, struct config *c, const char *kind, bool cuda,
                              struct attempt *shared, double seconds)
{
    double end = (double)time(NULL) + seconds;
    bool progress = true;
    while (progress && (double)time(NULL) < end) {
        progress = false;
        for (int i = 0; i < 6; i++) {
            struct config simple = *c;
            if (!simpler_config(&simple, i))
                continue;
            struct program *q = program_copy(p, p->arena);
            q->warps = simple.warps;
            q->stages = simple.stages;
            if (fails_alike(q, &simple, kind, cuda, shared)) {
                *c = simple;
                p = q;
                progress = true;
            }
        }
        for (int i = 0; i < EDITS_MOST && (double)time(NULL) < end; i++) {
            struct arena_mark mark = arena_mark(p->arena);
            struct program *q = program_copy(p, p->arena);
            int edited = program_edit(q, i);
            if (edited == 0)
                break;
            if (edited > 0 && fails_alike(q, c, kind, cuda, shared)) {
                p = q;
                progress = true;
                i--;
            } else {
                arena_reset(p->arena, mark);
            }
        }
    }
    return p;
}

/* -- reports -- */

static void write_program(const struct run *r, const struct failure *f, struct program *p,
                          const struct attempt *last)
{
    struct text t, why, signature;
    char name[300], config[200];
    text_init(&t, p->arena);
    text_init(&why, p->arena);
    text_init(&signature, p->arena);
    text_str(&signature, "");
    config_print(&last->verdict.config, config, sizeof config);
    program_layout(p);
    program_signature(p, &signature);
    text_printf(&why, "# random kernel %llu: %s\n# %s: ", (unsigned long long)f->seed, f->verdict.kind,
                config);
    for (const char *s = last->verdict.text; *s; s++) {
        text_char(&why, *s);
        if (*s == '\n' && s[1])
            text_str(&why, "# ");
    }
    text_printf(&why, "\n# signature: \"%s\"\n", signature.s);
    program_print(p, true, &last->expected, why.s, &t);
    snprintf(name, sizeof name, "%s/random_%llu.py", r->out, (unsigned long long)f->seed);
    mkdir(r->out, 0777);
    FILE *file = fopen(name, "w");
    if (file) {
        fputs(t.s, file);
        fclose(file);
        printf("---- %s\n", name);
    }
    fputs(t.s, stdout);
}

static double seconds_left(const struct run *r)
{
    enum { SECONDS_EACH = 60 };
    double left = r->small_until > 0 ? r->small_until - (double)time(NULL) : SECONDS_EACH;
    return left < SECONDS_EACH ? left : SECONDS_EACH;
}

/* Prints the first failures of each kind, and the number of failures of each kind. Then, unless the run is quick,
 * shrinks and writes the first failure of each kind; for wrong results, the first `each` failures. */
static void report(const struct run *r, struct attempt *shared)
{
    struct {
        const struct failure *first;
        int times;
    } kinds[FAILURES];
    const struct failure *chosen[FAILURES];
    int nkinds = 0, nchosen = 0;
    for (int i = 0; i < r->jobs; i++)
        for (int k = 0; k < r->workers[i].nfailures; k++) {
            const struct failure *f = &r->workers[i].failures[k];
            int at = 0;
            while (at < nkinds && strcmp(kinds[at].first->verdict.kind, f->verdict.kind) != 0)
                at++;
            if (at == FAILURES) /* a kind for which there is no room */
                continue;
            if (at == nkinds) {
                kinds[nkinds].first = f;
                kinds[nkinds++].times = 0;
            }
            char config[200];
            config_print(&f->verdict.config, config, sizeof config);
            /* a wrong result does not show its cause, so several differences are shrunk */
            bool is_vague = strcmp(f->verdict.kind, "difference") == 0;
            if ((kinds[at].times == 0 || (is_vague && kinds[at].times < r->each)) && nchosen < FAILURES)
                chosen[nchosen++] = f;
            if (kinds[at].times++ < SHOWN)
                printf("FAILED: %llu on %s: %s\n", (unsigned long long)f->seed, config, f->verdict.kind);
        }
    for (int i = 0; i < nkinds; i++)
        printf("%5d x %s\n", kinds[i].times, kinds[i].first->verdict.kind);
    for (int i = 0; i < nchosen && !r->quick; i++) {
        const struct failure *f = chosen[i];
        struct arena a;
        pool_init(&a);
        struct program *p = program_generate(&a, f->seed, r->avoid);
        struct config c = f->verdict.config;
        if (c.target[0] == '?')
            c = (struct config){DEVICE_emulator, "sm_90a", p->warps, p->stages, "", false};
        p->warps = c.warps;
        p->stages = c.stages;
        if (fails_alike(p, &c, f->verdict.kind, r->cuda, shared)) {
            p = shrink(p, &c, f->verdict.kind, r->cuda, shared, seconds_left(r));
            fails_alike(p, &c, f->verdict.kind, r->cuda, shared);
        }
        write_program(r, f, p, shared);
        arena_free(&a);
    }
}

static int finish(const struct run *r, struct attempt *shared)
{
    int passed = 0, failed = 0;
    struct worker *all = &r->workers[0];
    for (int i = 0; i < r->jobs; i++) {
        passed += r->workers[i].passed;
        failed += r->workers[i].nfailures;
        for (int k = 0; i && k < r->workers[i].nreasons; k++)
            for (int n = 0; n < r->workers[i].reasons[k].times; n++)
                count_reason(all, r->workers[i].reasons[k].text);
    }
    report(r, shared);
    for (int i = 0; i < all->nreasons; i++)
        printf("refused %d times: %s\n", all->reasons[i].times, all->reasons[i].text);
    printf("seeds %llu to %llu\n", (unsigned long long)r->first,
           (unsigned long long)(r->first + (uint64_t)r->count - 1));
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}

static void show(uint64_t seed)
{
    struct arena a;
    struct text t;
    pool_init(&a);
    text_init(&t, &a);
    struct program *p = program_generate(&a, seed, NULL);
    program_layout(p);
    text_str(&t, "# signature: \"");
    program_signature(p, &t);
    text_str(&t, "\"\n");
    program_print(p, true, NULL, NULL, &t);
    fputs(t.s, stdout);
    arena_free(&a);
}

static void avoid(struct run *r, const char *word)
{
    for (int i = 0; i < NODE_count; i++)
        r->avoid[i] |= strcmp(word, node_words[i]) == 0;
}

int main(int argc, char **argv)
{
    struct run r = {
        .count = 500, .each = 4, .jobs = (int)sysconf(_SC_NPROCESSORS_ONLN), .out = "build/random"};
    bool have_count = false;
    r.first = (uint64_t)time(NULL) * 100000;
    if (argc == 3 && strcmp(argv[1], "show") == 0) {
        show(strtoull(argv[2], NULL, 0));
        return 0;
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "cuda") == 0)
            r.cuda = true;
        else if (strcmp(argv[i], "quick") == 0)
            r.quick = true;
        else if (strcmp(argv[i], "check") == 0)
            r.checks = r.quick = true;
        else if (strcmp(argv[i], "first") == 0)
            r.first_only = true;
        else if (strncmp(argv[i], "ignore=", 7) == 0)
            r.ignore[r.nignore < IGNORED ? r.nignore++ : IGNORED - 1] = argv[i] + 7;
        else if (strcmp(argv[i], "ptxas") == 0)
            setenv("RANDOM_PTXAS", "20", 1);
        else if (strncmp(argv[i], "ptxas=", 6) == 0)
            setenv("RANDOM_PTXAS", argv[i] + 6, 1);
        else if (strncmp(argv[i], "jobs=", 5) == 0)
            r.jobs = atoi(argv[i] + 5);
        else if (strncmp(argv[i], "seconds=", 8) == 0)
            r.small_seconds = atoi(argv[i] + 8);
        else if (strncmp(argv[i], "each=", 5) == 0)
            r.each = atoi(argv[i] + 5);
        else if (strncmp(argv[i], "out=", 4) == 0)
            r.out = argv[i] + 4;
        else if (strncmp(argv[i], "avoid=", 6) == 0)
            avoid(&r, argv[i] + 6);
        else if (!have_count)
            r.count = atoi(argv[i]), have_count = true;
        else
            r.first = strtoull(argv[i], NULL, 0);
    }
    if (r.jobs < 1 || r.jobs > JOBS)
        r.jobs = 1;
    r.workers = mmap(NULL, sizeof *r.workers * (size_t)r.jobs, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct attempt *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r.workers == MAP_FAILED || shared == MAP_FAILED || r.count < 1)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (getenv("RANDOM_PTXAS") && !judge_has_ptxas()) {
        fprintf(stderr, "random_kernels: there is no ptxas on PATH; leave the word ptxas out\n");
        return 2;
    }
    printf("random kernels from seed %llu\n", (unsigned long long)r.first);
    run_workers(&r);
    if (r.small_seconds)
        r.small_until = (double)time(NULL) + r.small_seconds;
    return finish(&r, shared);
}
