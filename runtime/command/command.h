/* SPDX-License-Identifier: MIT */
/* command.h: declares what the files of the command `neso` share: the tables of commands and options, and the
 * functions that one file provides to others.
 *
 * main.c reads the command line; run.c, compile.c, check.c, lsp.c, completion.c, help.c and four folders implement the
 * commands: inspect/ (inspect and diff), bench/, embed/ (compile --emit c, bundle, variants), capsule/ (capsule and
 * replay). These files call only the public functions of neso.h and libc, so every program that embeds neso
 * can do what the command does. */
#ifndef NESO_RUNTIME_COMMAND_H
#define NESO_RUNTIME_COMMAND_H

#include "runtime/neso.h"

#include <stdbool.h>
#include <stdio.h>

/* The exit statuses: success, failure of the program, and bad usage or bad input. Functions that "return an
 * exit status" return one of these values. */
enum { GOOD, FAILED, BAD };

enum command { RUN = 1, COMPILE = 2, DOCTOR = 4, HELP = 8, VARIANTS = 16, INSPECT = 32, DIFF = 64, BENCH = 128, COMPLETION = 256, CHECK = 512, BUNDLE = 1024, LSP = 2048, CAPSULE = 4096, REPLAY = 8192 };

/*    option         short word            argument    where          meaning */
#define OPTIONS(X) \
    X(device,        0,    "device",        "NAME",    RUN | BENCH | CAPSULE | REPLAY,        "cuda, cuda:1, interpreter, emulator, or best (the default): cuda if there is a GPU") \
    X(kernel,        0,    "kernel",        "NAME",    CAPSULE,       "keep a launch of this kernel; without --kernel and --launch: the first launch that fails, or else the first launch") \
    X(nth_launch,    0,    "launch",        "N",       CAPSULE,       "keep the Nth launch of the program, or of the kernel that --kernel names; 1 is the default") \
    X(capsule_file,  'o',  "output",        "FILE",    CAPSULE | REPLAY, "the file to write; for `neso capsule`, KERNEL.capsule is the default") \
    X(reduce,        0,    "reduce",        NULL,      REPLAY,        "make the capsule small while it still fails in the same way, and write it to --output") \
    X(keep_ptx,      0,    "keep-ptx",      "DIR",     RUN | BENCH,   "write each kernel's PTX into DIR") \
    X(keep_ir,       0,    "keep-ir",       "DIR",     RUN | BENCH,   "write each kernel's traced IR into DIR: `neso compile` compiles it for any target") \
    X(output_folder, 'o',  "output",        "DIR",     RUN,           "write the program's tables and plots below this folder instead of the working folder") \
    X(time_limit,    0,    "time-limit",    "SECONDS", RUN | CAPSULE,         "end the program after that time: 10, 0.5; exit status 1") \
    X(memory_limit,  0,    "memory-limit",  "SIZE",    RUN | CAPSULE,         "end the program when it has allocated that much memory, tensors included: 500K, 64M, 2G; exit status 1") \
    X(break,         0,    "break",         "PLACE",   RUN,           "stop at FILE:LINE, in the first program that reaches it, or in a given one: FILE:LINE@3, FILE:LINE@1,2,0") \
    X(break_on,      0,    "break-on",      "nan",     RUN,           "stop in the debugger where a value of a kernel first becomes a NaN") \
    X(races,         0,    "races",         "HOW LONG",RUN | CAPSULE,         "check the programs of a launch for races: start (the default: 0.1 s of work), all or off") \
    X(trace,         0,    "trace",         "WHAT",    RUN | INSPECT, "on the interpreter: nan explains where a stored NaN or inf began; precision or precision:N warns where results that lose more than N bits began to lose them") \
    X(digests,       0,    "digests",       "[=FILE]",RUN,           "after each launch, write a line with a digest of each tensor, to standard error or FILE: equal lines mean equal bits") \
    X(check,         0,    "check",         NULL,      RUN | CAPSULE,         "before a kernel's first launch, compare its PTX in the emulator with the interpreter; --verbose prints the result of each check") \
    X(counts,        0,    "counts",        "[=FILE]", RUN,            "on the emulator: print the counted costs of launches; also as JSON in FILE (see `neso help counts`)") \
    X(bench_counts,  0,    "counts",        NULL,      BENCH,          "also run the launches on the emulator, and compare its counts (see `neso help counts`); --json contains the counts") \
    X(sample,        0,    "sample",        "N",       RUN | BENCH,          "with --counts: run N program instances of each launch only; results are incomplete") \
    X(baseline,      0,    "baseline",      "FILE",    BENCH,         "compare with a file that --record wrote; if FILE is a folder, with the file of this GPU in it") \
    X(record,        0,    "record",        "FILE",    BENCH,         "write the measurements, for later comparisons") \
    X(record_launches, 0,  "record",        "FILE",    RUN,           "write a record of the kernels that the program compiles, and of the choices of autotuning: `neso bundle` makes a bundle of it") \
    X(bundle,        0,    "bundle",        "FILE",    RUN,           "take kernels from this bundle and compile nothing; a kernel that it lacks is an error") \
    X(verify,        0,    "verify",        "FILE",    BUNDLE,        "write nothing; exit with status 1 if this bundle lacks a kernel or choice of the records") \
    X(against,       0,    "against",       "NESO",    BENCH,         "compare with another build, measured alternately with this one") \
    X(rounds,        0,    "rounds",        "N",       BENCH,         "how often each program runs, 3 by default; more often if verdicts are undecided") \
    X(threshold,     0,    "threshold",     "PCT",     BENCH,         "the least difference in percent that counts; 2 is the default") \
    X(allow_missing, 0,    "allow-missing", NULL,      BENCH,         "accept that this run does not measure everything in the base: no exit status 4") \
    X(blind,         0,    "blind",         NULL,      BENCH,         "also compare the times of kernels with equal PTX") \
    X(json_out,      0,    "json",          "OUT",     BENCH,         "write all results as JSON; runtime/manual/bench.schema.json describes it") \
    X(google,        0,    "google-json",   "OUT",     BENCH,         "write the times in the format of Google Benchmark; without a GPU there are none") \
    X(junit,         0,    "junit",         "OUT",     BENCH,         "write a test case for each verdict, as JUnit XML") \
    X(markdown,      0,    "markdown",      "OUT",     BENCH,         "write a table for a pull request") \
    X(svg,           0,    "svg",           "OUT",     BENCH,         "write a figure: changes of times with their intervals, and bars of the kernels' costs") \
    X(history,       0,    "history",       "DIR",     BENCH,         "add the measurements to this folder, and write its page, index.html: each kernel's costs over the commits") \
    X(commit,        0,    "commit",        "NAME",    BENCH,         "with --history: the commit's name; by default GITHUB_SHA, or else git's HEAD") \
    X(annotate,      0,    "annotate",      NULL,      BENCH,         "print warnings that GitHub shows beside the source; the default if GITHUB_ACTIONS=true") \
    X(signature,     0,    "signature",     "ENTRIES", COMPILE | VARIANTS | INSPECT | DIFF, "one entry for each parameter: *fp32:16, i32, i32:1, 1024, NAME=value") \
    X(launch,        0,    "launch",        "N",       COMPILE | VARIANTS | INSPECT | DIFF, "without --signature: compile the kernel as the Nth of the program's different launches does") \
    X(num_warps,     0,    "num-warps",     "N",       COMPILE | VARIANTS | INSPECT | DIFF, "warps of a program instance: 1, 2, 4 (the default), ... 32") \
    X(num_stages,    0,    "num-stages",    "N",       COMPILE | VARIANTS | INSPECT | DIFF, "depth of software pipelines; 3 is the default") \
    X(maxnreg,       0,    "maxnreg",       "N",       COMPILE | VARIANTS | INSPECT | DIFF, "maximum of registers of a thread") \
    X(no_fp_fusion,  0,    "no-fp-fusion",  NULL,      COMPILE | VARIANTS | INSPECT | DIFF, "do not fuse a * b + c, or a dot and an addition: round twice") \
    X(deterministic, 0,    "deterministic", NULL,      COMPILE | VARIANTS | INSPECT | DIFF, "every sum adds in an order that does not depend on the grid, the number of warps or promises; the default if NESO_DETERMINISTIC=1") \
    X(fp_reassoc, 0,       "fp-reassoc", NULL,         COMPILE | VARIANTS | INSPECT | DIFF, "the compiler may reassociate additions and multiplications of floats: an online softmax updates its maxima less often; the default if NESO_FP_REASSOC=1") \
    X(target,        0,    "target",        "NAME",    COMPILE | VARIANTS | INSPECT | DIFF | BUNDLE, "the GPU to compile for: see `neso help targets`; sm_90a is the default; for bundle also several, separated by commas") \
    X(emit,          0,    "emit",          "WHAT",    COMPILE,       "ast, ir, opt, mir, ptx (the default), json, explain, record, bundle, cubin, sass or c") \
    X(output,        'o',  "output",        "FILE",    COMPILE | INSPECT | DIFF | BUNDLE, "write to FILE instead of standard output") \
    X(time,          0,    "time",          NULL,      COMPILE,       "print the time of each stage and pass") \
    X(html,          0,    "html",          "FILE",    INSPECT | DIFF, "write a page that shows everything in one file; for diff, both builds side by side") \
    X(serve,         0,    "serve",         "[=PORT]", INSPECT,       "serve a page on this machine, which follows changes of the file, and in which source, options and target can be edited; prints the address of the page") \
    X(ncu,           0,    "ncu",           "FILE",    INSPECT,       "show what ncu measured for the kernel; FILE has the output of `ncu --csv` with --page source, details or raw, or several of these") \
    X(as_json,       0,    "json",          NULL,      INSPECT | DIFF, "write everything as JSON; inspect.schema.json and diff.schema.json, in runtime/command/inspect, describe it") \
    X(to_signature,  0,    "to-signature",  "ENTRIES", DIFF,          "the signature of the second build, if it differs from that of the first") \
    X(to_num_warps,  0,    "to-num-warps",  "N",       DIFF,          "like --num-warps, for the second build") \
    X(to_num_stages, 0,    "to-num-stages", "N",       DIFF,          "like --num-stages, for the second build") \
    X(to_maxnreg,    0,    "to-maxnreg",    "N",       DIFF,          "like --maxnreg, for the second build") \
    X(to_target,     0,    "to-target",     "NAME",    DIFF,          "like --target, for the second build") \
    X(to_param,      0,    "to-param",      "NAME=VALUE,...", DIFF,   "like --param, for the second build") \
    X(to_launch,     0,    "to-launch",     "N",       DIFF,          "like --launch, for the second build") \
    X(to_fp_reassoc, 0,    "to-fp-reassoc", NULL,      DIFF,          "the second build has fp-reassoc") \
    X(to_deterministic, 0, "to-deterministic", NULL,   DIFF,          "the second build is deterministic") \
    X(to_skip,       0,    "to-skip",       "NAMES",   DIFF,          "like --skip, for the second build") \
    X(passes,        0,    "passes",        "NAMES",   COMPILE,       "run these passes instead of the default list; see `neso help passes`") \
    X(skip,          0,    "skip",          "NAMES",   RUN | CAPSULE | COMPILE | INSPECT | DIFF, "leave these passes out: see `neso help passes`") \
    X(param,         0,    "param",         "NAME=VALUE,...", RUN | CAPSULE | COMPILE | INSPECT | DIFF | BENCH, "change thresholds of optimisations: see `neso help params`") \
    X(stop_after,    0,    "stop-after",    "PASS",    COMPILE,       "stop after this pass") \
    X(print_after,   0,    "print-after",   "NAMES",   COMPILE,       "write the IR after these passes, or after `all`, to standard error") \
    X(print_changed, 0,    "print-changed", NULL,      COMPILE,       "dump the IR only after passes that changed it") \
    X(explain,       0,    "explain",       "NAMES",   COMPILE,       "explain the decisions of these passes, or of `all`; schedule: draw an iteration of each loop; registers, stepdown") \
    X(verify_each,   0,    "verify-each",   NULL,      COMPILE,       "check the IR after each pass") \
    X(accesses,      0,    "accesses",      NULL,      CHECK,         "run the program on the interpreter, and print for each load, store and atomic whether it is proven to be in bounds and free of races, or only checked in this run") \
    X(watch,         0,    "watch",         NULL,      CHECK,         "check again each time that one of the files, or a Python file beside it, is saved; Ctrl-C ends it") \
    X(json,          0,    "json",          NULL,      RUN | CAPSULE | REPLAY | COMPILE | VARIANTS | CHECK | BUNDLE, "messages as JSON") \
    X(color,         0,    "color",         "WHEN",    RUN | CAPSULE | REPLAY | COMPILE | VARIANTS | INSPECT | DIFF | BENCH | CHECK | BUNDLE, "colours in messages: always, never, or auto (the default): on a terminal, if NO_COLOR is not set") \
    X(no_cache,      0,    "no-cache",      NULL,      RUN | CAPSULE | COMPILE | BENCH, "neither read nor write the cache") \
    X(variants,      0,    "variants",      NULL,      COMPILE | BUNDLE, "--emit c, and bundle: all specializations that launches can make; see `neso variants`") \
    X(stdio,         0,    "stdio",         NULL,      LSP,           "for clients that pass it: the server uses standard input and output with or without it") \
    X(precompile,    0,    "precompile",    NULL,      VARIANTS,      "compile the specializations into the cache, and assemble them if there is a GPU") \
    X(verbose,       'v',  "verbose",       NULL,      RUN | COMPILE | DIFF | BENCH, "run: name the device, and each kernel that is compiled or loaded; compile: comments in the PTX; diff: PTX line by line") \
    X(as_page,       0,    "markdown",      NULL,      HELP,          "as a page of the manual: language, limits, commands or a topic") \
    X(man,           0,    "man",           NULL,      HELP,          "the page of this command for man(1)") \
    X(devices,       0,    "devices",       NULL,      DOCTOR,        "print only the names of the usable devices, one per line")

enum option {
#define X(name, letter, word, argument, where, meaning) OPTION_##name,
    OPTIONS(X)
#undef X
    OPTIONS_END
};

struct option_row {
    char letter;
    /* `argument` is NULL if the option takes no argument; brackets, as in "[=FILE]", mean that the argument
     * is optional */
    const char *word, *argument;
    int where;                   /* the set of commands that have the option: bits of enum command */
    const char *meaning;
};
extern const struct option_row option_rows[OPTIONS_END];

/* The parsed command line. */
struct given {
    const char *options[OPTIONS_END]; /* values; NULL: not given; "": given without an argument */
    /* if --param ([0]) or --to-param ([1]) is given several times: all its values, separated by commas */
    char params[2][2048];
    int argc; /* the number of arguments that are not options */
    char **argv;
};

struct command_row {
    enum command bit;
    const char *word, *arguments;
    /* the least and the largest number of arguments; if `most` is -1, all words after the first argument are
     * arguments too, even words that look like options */
    int least, most;
    int (*run)(const struct given *g);
    const char *meaning;
};
extern const struct command_row command_rows[];
extern const int ncommand_rows;

/* A row of the language reference: a name of `triton` or `triton.language`, or a heading. If `heading` is not
 * NULL, all other members are NULL. In the last row of the table, `name` and `heading` are NULL. */
struct language_row {
    const char *heading;
    const char *where, *handler;                    /* as in builtins.h */
    const char *prefix, *name, *parameters;         /* "tl." "load" "pointer, mask=None" */
    const char *meaning, *types, *errors, *example; /* as in builtins.h */
};
extern const struct language_row language_rows[];
/* Prints the thresholds of optimisations, each with its unit, its meaning, and the measurement that set its value. */
void print_params(FILE *to);

/* -- manual/tables.c: the ops of the IR and the instructions of PTX, with their meanings -- */
void print_ops(FILE *to);
void print_insns(FILE *to);

/* -- main.c -- */

/* Returns the option of command `c` that the word `arg` ("-o", "--launch" or "--launch=2") gives; OPTIONS_END
 * if `c` has no such option. Sets *value to the text after `=`, or to NULL if there is no `=`. */
enum option find_option(const struct command_row *c, const char *arg, const char **value);
/* Prints "neso: " and a line on standard error; returns BAD. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
int complain(const char *format, ...);
/* Returns the edit distance of two words; 32 if one is longer than 32 bytes. */
size_t word_distance(const char *a, const char *b);
/* Prints the messages of the last library call on the context, including warnings. `status` is the status
 * that this call returned. Returns the exit status for `status`. */
int report(const struct given *g, neso_context *ctx, neso_status status);
/* Reads an option that takes an integer from 1 up: sets *out to its value, or to 0 if the option is not
 * given. Returns false after a message if the value is anything else. */
bool number(const struct given *g, enum option o, int *out);
/* Creates a context with the disk cache that --no-cache and the environment variables select. The limits are
 * as in neso_context_options. Returns false after a message if that fails. */
bool context_open(const struct given *g, size_t memory_limit, int64_t time_limit_ms, neso_context **ctx);
/* Like context_open, but with the limits and callbacks in *o. Sets the members of *o that configure the cache. */
bool context_open_with(const struct given *g, neso_context_options *o, neso_context **ctx);
/* Sets `out`, which has n bytes, to the folder of the disk cache. Returns false if there is no cache, or if
 * the path is too long. */
bool cache_folder(char *out, size_t n);
/* Returns whether an environment variable has a value that Triton reads as true. */
bool is_switched_on(const char *variable);
/* Returns the contents of a file, followed by a zero byte, and sets *length to the number of bytes before it.
 * Returns NULL, with the reason in errno, if the file cannot be read. The caller frees the text. */
char *read_file(const char *path, size_t *length);
/* Returns GOOD, or BAD after a message. */
int write_file(const char *path, const void *bytes, size_t length);

/* -- terminal.c -- */
/* Returns whether text on this stream is to be coloured. */
bool has_colours(const struct given *g, FILE *to);
/* Returns false after a message if --color is wrong. */
bool check_colour(const struct given *g);
/* Prints messages on standard error, in colours if has_colours() is true. */
void print_messages(const struct given *g, const char *text);
/* The line on standard error that shows the progress of work that lasts longer than a second. This line is printed
 * only if standard error is a terminal. */
struct progress {
    double started, shown; /* the times of the start and of the last output, in seconds */
    bool is_on, is_shown;
};
void progress_begin(struct progress *p);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void progress_show(struct progress *p, const char *format, ...);
/* Erases the line of progress; called before other output, and at the end. */
void progress_clear(struct progress *p);

/* -- compile.c -- */
int compile_command(const struct given *g);

/* Compiles an empty kernel with --skip and --param. Returns false after a message if these options name a pass or
 * parameter that does not exist. Without this check, a run on the interpreter would not report the error,
 * because the interpreter runs no passes. */
bool check_passes(const struct given *g);

/* Sets *o to the command line's options of the compilation. Returns false after a message if a value is
 * malformed. */
bool read_options(const struct given *g, neso_compile_options *o);

/* -- tools.c: external tools -- */
/* Searches for a tool in PATH, then in the default folder of the CUDA toolkit. Sets `out` to the path of the
 * tool. Returns false if the tool is not found. */
bool find_tool(const char *name, char *out, size_t n);
/* Runs the tool argv[0]. Returns GOOD, or BAD after a message if the tool cannot run or fails. The tool
 * writes to this process's output, or, if `output` is not NULL, writes its output and errors to the file
 * `output`. */
int tool_run(char *const argv[], const char *output);
/* Returns the number that precedes `words` in a tool's report; 0 if the report does not contain these words. */
int tool_number(const char *report, const char *words);
/* Sets `out` to a template, for mkstemp or mkdtemp, of a path in the folder for temporary files. */
void temporary_name(char *out, size_t n);
/* A temporary folder, and the paths of the files in it that external tools read and write. */
struct workshop {
    char folder[256], ptx[300], cubin[300], log[300];
};
/* Creates the folder. Returns false after a message if that fails. */
bool workshop_open(struct workshop *w);
/* Deletes the folder and its files. */
void workshop_close(struct workshop *w);
/* Assembles PTX (length bytes) into the file w->cubin; `ptxas` is the path of the tool. If `logs` is true,
 * ptxas also writes the kernel's resources (registers, spills) to w->log. Returns an exit status. */
int workshop_assemble(struct workshop *w, const char *ptxas, const char *ptx, size_t length, bool logs);
/* Sets `out` to the target that the PTX text's .target directive names, for instance "sm_90a". */
void ptx_target(const char *ptx, char *out, size_t n);
#define TOOLKIT "CUDA's toolkit (Debian: nvidia-cuda-toolkit; NVIDIA's repository: cuda-nvcc-13-0, cuda-nvdisasm-13-0)"

/* -- embed.c -- */
/* Compiles a kernel for one or more signatures, and writes it as C source: PATH.c and PATH.h. Ignores an
 * ending .c or .h of `path`. Returns an exit status. */
int embed(const struct given *g, neso_context *ctx, neso_module *module, const char *kernel,
          const neso_compile_options *options, const char *path);

/* -- bench.c -- */
int bench_command(const struct given *g);

/* -- help.c -- */
int help_command(const struct given *g);
const struct command_row *find_command(const char *word);
void print_usage(FILE *to);
void print_command(FILE *to, const struct command_row *c);
/* Writes an option with its argument to `out`: "--device NAME". */
void option_text(const struct option_row *o, char *out, size_t n);
bool row_is_shown(const struct language_row *r);
bool row_is_supported(const struct language_row *r);
/* Calls `each` with the tag and text of every message that the compiler can give. Returns an exit status. */
int each_message(void (*each)(void *user, const char *tag, const char *text), void *user);
extern const char environment_text[];

/* -- manual.c -- */
/* Prints the page "language", "limits" or "commands" of the manual; returns false for any other name. */
bool print_page(const char *name);
void print_man(void);

/* -- completion.c -- */
int completion_command(const struct given *g);

/* -- rules.c -- */
/* Prints the rules by which `neso bench` judges costs. */
void bench_rules_print(void);

/* -- variants.c -- */
int variants_command(const struct given *g);

/* -- bundle.c -- */
int bundle_command(const struct given *g);
/* Makes the context take kernels from the bundle at `path` instead of compiling them. Returns an exit
 * status. */
int use_bundle(const struct given *g, neso_context *ctx, const char *path);

/* -- lsp.c -- */
int lsp_command(const struct given *g);

/* -- counts.c -- */
/* Prints or writes the emulator's counts, in the form that the option --counts selects. */
int counts_report(const struct given *g, neso_context *ctx);

/* -- inspect.c, diff.c -- */
int inspect_command(const struct given *g);
int diff_command(const struct given *g);

/* -- keep.c -- */
bool keeps_texts(const struct given *g);
/* Creates the folders that --keep-ptx and --keep-ir name, if needed. Returns an exit status. */
int keep_folders(const struct given *g);
/* Writes a kernel's PTX and IR into these folders. */
void keep_texts(const struct given *g, neso_context *ctx, neso_kernel *kernel);

/* -- files.c -- */
/* Writes a program's file below `folder`, and creates the folder if needed. Returns a result for the callback
 * neso_run_options.save: 0; 1 after a message if the file cannot be written; NESO_SAVE_OUTSIDE if `path` is
 * not below the folder. */
int save_below(const char *folder, const char *path, const char *text, size_t length);
/* If `path` names a stored choice of autotuning in the folder `cache`, writes it like save_below. Otherwise,
 * or if `cache` is NULL, returns NESO_SAVE_OUTSIDE. */
int save_choice(const char *cache, const char *path, const char *text, size_t length);

/* -- launches.c: the specializations (a kernel, compiled for one signature and options) that a program
 * launches -- */
struct launched {
    char *kernel, *signature; /* `signature` is NULL if no signature can describe the kernel's arguments */
    neso_compile_options options;
};
struct launches {
    int n;
    struct launched *at; /* the launched specializations in the order of their first launches */
};
/* Runs the host code of a program without executing kernels, and lists in *out the specializations that its
 * launches compile. The caller frees *out by launches_free, also after a failure. Sets *ctx to a new context,
 * which has the messages, and which the caller releases; NULL if there is no memory. */
neso_status launches_find(const struct given *g, const char *path, const char *text, size_t length, neso_context **ctx,
                          struct launches *out);
void launches_free(struct launches *l);
/* If the command line gives no signature, chooses one of the program's launched specializations, and sets
 * *kernel and *options to it. Before the call, *kernel is the wanted kernel, or NULL for any kernel. Options
 * that the command line gives do not change. Returns GOOD, even if the program launches nothing. Returns BAD
 * after a message if the host code fails before it launches the kernel, if --launch has no such launch, or if
 * there are several specializations and no --launch (the message then lists them). The strings in *options
 * and *kernel live as long as *l. */
int launches_choose(const struct given *g, const char *path, const char *text, size_t length, struct launches *l,
                    const char **kernel, neso_compile_options *options);

/* -- check.c -- */
int check_command(const struct given *g);

/* -- capsule.c -- */
int capsule_command(const struct given *g);
int replay_command(const struct given *g);
/* A capsule is a file with one launch of a kernel: the kernel, its arguments, the memory, and the outcome. A
 * keeper is the state from which a run decides which capsules it writes. */
struct keeper {
    const struct given *given; /* the options of `neso capsule`; NULL: NESO_CAPSULE selects the capsules */
    char folder[4096];
    /* for `neso capsule`: the number of launches so far that match the options, and the number of the launch to keep,
     * counted from 1 */
    int launches, chosen;
    bool is_chosen;       /* the running launch is the launch to keep */
    int nkept, nseen;     /* files written so far, and capsules received so far */
    char kernels[1000];   /* for `neso capsule`: the names of launched kernels, each once, separated by ", " */
    /* the capsule of a launch that did not fail, until it is known whether a later launch fails */
    char *held;
    size_t held_bytes;
    char held_kernel[200];
    char path[4200];      /* the path of the last file that was written */
};
/* Sets *is_on if NESO_CAPSULE requests capsules of failing launches. Returns false after a message if the value of
 * NESO_CAPSULE is invalid. */
bool keeper_open(struct keeper *k, bool *is_on);
/* Returns the result of the callback neso_context_options.wants_capsule for a launch of `kernel`. */
int keeper_wants(struct keeper *k, const char *kernel);
/* Writes a capsule (length bytes), or keeps it in k->held. */
void keeper_take(struct keeper *k, const neso_capsule *seen, const void *data, size_t length);

/* -- reduce.c -- */
/* Makes a capsule as small as possible while its launch still fails, and writes it to --output. A try is a
 * launch of a changed capsule. `device` is the device that each try opens; NULL: the tries use the context's
 * device. If the launch does not fail on this device, the tries use the device `otherwise` (NULL: there is
 * none). Returns an exit status. */
int reduce(const struct given *g, neso_context *ctx, const neso_capsule *capsule, const char *device, const char *otherwise);
/* Reduces, for a limited time, the capsule (length bytes) of a difference that --check has found. Prints the
 * smallest kernel found that still shows the difference. */
void reduce_difference(const struct given *g, const void *data, size_t length);

/* -- run.c -- */
int run_command(const struct given *g);
/* Sets *trace and *bits to the value of --trace ("nan", "precision" or "precision:N"), as
 * neso_run_options.trace and .trace_bits define them. Returns false, after a message, for any other value. */
bool choose_trace(const struct given *g, int *trace, int *bits);
/* Runs the program. `keeper` decides which launches become capsules; NULL: none. Returns an exit status. */
int run_with(const struct given *g, struct keeper *keeper);
/* Returns the default memory limit of a program, in bytes. */
size_t memory_most(void);
/* The folder of a program. The program may import the Python files in this folder. */
struct beside {
    char folder[4096];
    int nfiles;
    char *files[64]; /* the texts of the imported files, valid until beside_close */
};
void beside_open(struct beside *b, const char *path);
void beside_close(struct beside *b);
const char *beside_find(void *beside, const char *module, size_t *length);
int doctor_command(const struct given *g);

#endif
