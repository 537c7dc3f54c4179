/* SPDX-License-Identifier: MIT */
/* dispatch.c: launches kernel[grid](arguments) without executing Python code if an equal call was made before.
 *
 *     arguments ─► a slot for each parameter ─► a key (key.h): the properties on which Triton specializes
 *               ─► table ─► values ─► neso_launch
 *
 * If a key is new, or if a call is unusual (hooks, a wrong argument), the Python function `slow` makes the
 * call, by JITFunction or an autotuner. After a new key, `remember` then adds the compiled kernel to the
 * table. Calls with different keys in Triton also have different keys here. So if the table has the key, it
 * has the kernel that `slow` would choose. */
#include "runtime/python/neso/extension/key.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <structmember.h>

enum { TABLE_MOST = 4096, CHOSEN = 5 /* the index of entry.chosen in the tuple that `remember` returns */ };

/* The objects that a dispatch owns. */
enum held {
    NAMES,    /* a tuple of interned strings */
    DEFAULTS, /* a tuple of default values; for a parameter without a default, the type Dispatch */
    SLOW,
    REMEMBER,
    FAIL,
    GET_DEVICE,
    GET_STREAM,
    WATCHED, /* a tuple of lists of hooks: if one is not empty, the call goes to `slow` */
    ENVIRON, /* the dictionary inside os.environ, or None */
    DEBUG,   /* the key of TRITON_DEBUG in ENVIRON */
    RUN,     /* JITFunction.run: if a program has replaced it, kernel[grid] calls the replacement */
    GLOBALS, /* the global variables that kernels read: a tuple of (dictionary, name, value) */
    HELD
};

struct entry {
    uint64_t hash;
    int nwords;
    uint64_t *words;
    PyObject *kept;   /* a tuple of the objects whose addresses are in the key's words */
    PyObject *kernel; /* the compiled kernel, which a launch returns */
    /* for a call through an autotuner: (the autotuner, the chosen configuration, the parameters that the
     * configuration sets); else NULL */
    PyObject *chosen;
    struct plan plan;
};

struct dispatch {
    PyObject_HEAD int nparams;
    uint8_t flags[PARAMS_MOST];
    PyObject *held[HELD];
    PyObject *tensor_types[TENSOR_TYPES_MOST];
    int ntypes;
    struct torch_calls torch;
    struct {
        PyObject *names; /* the keywords of the last call, or NULL */
        int8_t slots[PARAMS_MOST + OPTIONS_MOST];
    } last;
    struct entry **table; /* open addressing */
    int capacity, count;
};

struct bound {
    PyObject_HEAD PyObject *dispatch, *grid;
    vector_call call;
};

/* The call that is being dispatched. */
struct call {
    struct dispatch *d;
    int32_t device;
    PyObject *slots[PARAMS_MOST]; /* borrowed */
    struct key key;
};

enum { SPARE_MOST = 8 };

static PyObject *dispatch_class, *bound_class, *word_best_config;
/* The memory of freed objects of type `struct bound`, the values of the expression kernel[grid]. New objects
 * reuse this memory. Python's global lock guards this list. */
static struct bound *spare[SPARE_MOST];
static int nspare;

/* -- slots -- */

/* Returns the number of the parameter with this name; -1 if there is none. */
static int find_name(const struct dispatch *d, PyObject *name)
{
    int i = 0;
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name); /* equal interned strings are the same object */
    while (i < d->nparams && PyTuple_GetItem(d->held[NAMES], i) != name)
        i++;
    Py_DECREF(name);
    return i < d->nparams ? i : -1;
}

/* Returns the parameter number of each keyword of a call. Calls from one place in a program have the same
 * tuple of keywords, so the result for the last tuple is kept. */
static const int8_t *find_names(struct dispatch *d, const struct given *g)
{
    if (g->keywords && g->keywords == d->last.names)
        return d->last.slots;
    for (int i = 0; i < g->nnamed; i++)
        d->last.slots[i] = (int8_t)find_name(d, g->names[i]);
    PyObject *old = d->last.names;
    Py_XINCREF(g->keywords);
    d->last.names = g->keywords;
    Py_XDECREF(old);
    return d->last.slots;
}

/* Puts the arguments into the slots of their parameters. A keyword that names no parameter is an option, and
 * becomes part of the key. Returns 0 if the arguments do not match the parameters. */
static int fill_slots(struct call *c, const struct given *g)
{
    struct dispatch *d = c->d;
    int noptions = 0;
    if (g->npositional > d->nparams)
        return 0;
    for (int i = 0; i < d->nparams; i++)
        c->slots[i] = i < g->npositional ? g->positional[i] : NULL;
    const int8_t *slots = g->nnamed ? find_names(d, g) : NULL;
    for (int k = 0; k < g->nnamed; k++) {
        int i = slots[k];
        if (i >= 0 && c->slots[i])
            return 0;
        if (i >= 0) {
            c->slots[i] = g->named[k];
        } else {
            if (noptions++ == OPTIONS_MOST)
                return 0;
            key_constant(&c->key, g->names[k]);
            key_constant(&c->key, g->named[k]);
        }
    }
    for (int i = 0; i < d->nparams; i++) {
        if (c->slots[i])
            continue;
        c->slots[i] = PyTuple_GetItem(d->held[DEFAULTS], i);
        if (c->slots[i] == dispatch_class)
            return 0;
    }
    return 1;
}

static int read_device(const struct dispatch *d, int32_t *number)
{
    if (d->torch.device && d->torch.device(number) == 0)
        return 1;
    PyObject *device = PyObject_CallObject(d->held[GET_DEVICE], NULL);
    *number = device ? (int32_t)PyLong_AsLong(device) : -1;
    Py_XDECREF(device);
    return device != NULL;
}

static int make_key(struct call *c, const struct given *g)
{
    if (!read_device(c->d, &c->device))
        return 0;
    key_begin(&c->key, c->d->tensor_types, c->d->ntypes, &c->d->torch);
    key_number(&c->key, (uint64_t)c->device);
    if (!fill_slots(c, g))
        return 0;
    for (int i = 0; i < c->d->nparams; i++)
        if (!key_argument(&c->key, c->slots[i], c->d->flags[i]))
            return 0;
    return !c->key.is_full;
}

/* Sets g to the arguments of a call that Python passes as a tuple and a dictionary. `room` has space for
 * PARAMS_MOST positional arguments. Returns 0 if there are too many arguments. */
static int given_of(struct given *g, PyObject **room, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t n = PyTuple_Size(args), at = 0;
    PyObject *name, *value;
    g->positional = room;
    g->npositional = n;
    g->nnamed = 0;
    g->keywords = NULL;
    if (n > PARAMS_MOST || (kwargs && PyDict_Size(kwargs) > PARAMS_MOST + OPTIONS_MOST))
        return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        room[i] = PyTuple_GetItem(args, i);
    while (kwargs && PyDict_Next(kwargs, &at, &name, &value)) {
        g->names[g->nnamed] = name;
        g->named[g->nnamed++] = value;
    }
    return 1;
}

/* -- the table -- */

static uint64_t hash_of(const uint64_t *words, int n)
{
    uint64_t h = 0x9E3779B97F4A7C15u;
    for (int i = 0; i < n; i++)
        h = (h ^ words[i]) * 0xD6E8FEB86659FD93u, h ^= h >> 32;
    return h;
}

/* Returns the slot of the table that holds the entry of a key, or the free slot for a new entry. */
static struct entry **find(const struct dispatch *d, uint64_t hash, const uint64_t *words, int n)
{
    int i = (int)(hash & (uint64_t)(d->capacity - 1));
    for (;; i = (i + 1) & (d->capacity - 1)) {
        struct entry *e = d->table[i];
        if (!e ||
            (e->hash == hash && e->nwords == n && memcmp(e->words, words, (size_t)n * sizeof *words) == 0))
            return &d->table[i];
    }
}

static void entry_free(struct entry *e)
{
    if (!e)
        return;
    Py_XDECREF(e->kept);
    Py_XDECREF(e->kernel);
    Py_XDECREF(e->chosen);
    free(e->words);
    free(e);
}

static void clear(struct dispatch *d)
{
    struct entry **table = d->table;
    int capacity = d->capacity;
    d->table = NULL;
    d->capacity = d->count = 0;
    for (int i = 0; i < capacity; i++)
        entry_free(table[i]);
    free(table);
}

static int grow(struct dispatch *d)
{
    int capacity = d->capacity ? 2 * d->capacity : 16;
    struct entry **old = d->table, **table = calloc((size_t)capacity, sizeof(struct entry *));
    if (!table)
        return 0;
    d->table = table;
    for (int i = 0; i < d->capacity; i++)
        if (old[i]) {
            int k = (int)(old[i]->hash & (uint64_t)(capacity - 1));
            while (table[k])
                k = (k + 1) & (capacity - 1);
            table[k] = old[i];
        }
    d->capacity = capacity;
    free(old);
    return 1;
}

static PyObject *kept_tuple(const struct key *k)
{
    PyObject *t = PyTuple_New(k->nkept);
    for (int i = 0; t && i < k->nkept; i++) {
        Py_INCREF(k->kept[i]);
        PyTuple_SetItem(t, i, k->kept[i]);
    }
    return t;
}

/* Adds an entry for the kernel that `slow` has compiled. `found` is the tuple that the Python function
 * `remember` returned (see the C function remember). On a failure, returns 0 with an exception set. */
static int enter(struct dispatch *d, const struct key *k, PyObject *kernel, PyObject *found)
{
    struct entry *e = calloc(1, sizeof *e);
    size_t bytes = (size_t)k->nwords * sizeof *e->words;
    if (d->count >= TABLE_MOST)
        clear(d);
    if (!e || (2 * (d->count + 1) > d->capacity && !grow(d)) || !(e->words = malloc(bytes)) ||
        !(e->kept = kept_tuple(k)) ||
        !plan_read(&e->plan, PyTuple_GetItem(found, 0), PyTuple_GetItem(found, 1),
                   PyTuple_GetItem(found, 2))) {
        entry_free(e);
        return PyErr_Occurred() ? 0 : (PyErr_NoMemory(), 0);
    }
    memcpy(e->words, k->words, bytes);
    e->nwords = k->nwords;
    e->hash = hash_of(k->words, k->nwords);
    Py_INCREF(kernel);
    e->kernel = kernel;
    e->chosen = PyTuple_Size(found) > CHOSEN ? PyTuple_GetItem(found, CHOSEN) : NULL;
    Py_XINCREF(e->chosen);
    struct entry **place = find(d, e->hash, e->words, e->nwords);
    d->count += !*place;
    entry_free(*place);
    *place = e;
    return 1;
}

/* -- calls -- */

/* Returns whether TRITON_DEBUG is set to a value other than "" and "0". If possible, reads the dictionary
 * inside os.environ: if the environment is large, this takes a tenth of the time of getenv. */
static int is_debugging(const struct dispatch *d)
{
    const char *word = NULL;
    if (PyDict_Check(d->held[ENVIRON])) {
        PyObject *found = PyDict_GetItemWithError(d->held[ENVIRON], d->held[DEBUG]);
        word = found && PyBytes_Check(found) ? PyBytes_AsString(found) : NULL;
    } else {
        word = getenv("TRITON_DEBUG");
    }
    return word && *word && strcmp(word, "0") != 0;
}

static int is_watched(const struct dispatch *d)
{
    if (is_debugging(d))
        return 1;
    for (Py_ssize_t i = 0, n = PyTuple_Size(d->held[WATCHED]); i < n; i++)
        if (PyList_Size(PyTuple_GetItem(d->held[WATCHED], i)) != 0)
            return 1;
    return 0;
}

static int globals_are_as_before(const struct dispatch *d)
{
    for (Py_ssize_t i = 0, n = PyTuple_Size(d->held[GLOBALS]); i < n; i++) {
        PyObject *g = PyTuple_GetItem(d->held[GLOBALS], i);
        if (PyDict_GetItemWithError(PyTuple_GetItem(g, 0), PyTuple_GetItem(g, 1)) != PyTuple_GetItem(g, 2))
            return 0;
    }
    return 1;
}

static PyObject *bound_arguments(const struct call *c)
{
    PyObject *named = PyDict_New();
    for (int i = 0; named && i < c->d->nparams; i++)
        if (PyDict_SetItem(named, PyTuple_GetItem(c->d->held[NAMES], i), c->slots[i]) < 0)
            Py_CLEAR(named);
    return named;
}

/* Reads the grid's extents. If the grid is a function, calls it with a dictionary of the arguments by name,
 * to which it adds the dictionary `more` if this is not NULL. On a failure, returns 0 with an exception
 * set. */
static int read_grid(const struct call *c, PyObject *grid, PyObject *more, uint32_t extents[3])
{
    PyObject *made = NULL;
    extents[0] = extents[1] = extents[2] = 1;
    if (!PyTuple_Check(grid) && !PyList_Check(grid) && PyCallable_Check(grid)) {
        PyObject *named = bound_arguments(c);
        if (named && more && PyDict_Update(named, more) < 0)
            Py_CLEAR(named);
        grid = made = named ? PyObject_CallFunctionObjArgs(grid, named, NULL) : NULL;
        Py_XDECREF(named);
        if (!made)
            return 0;
    }
    Py_ssize_t n = PySequence_Size(grid);
    int good = n > 0;
    for (Py_ssize_t i = 0; good && i < n && i < 3; i++) {
        PyObject *x = PySequence_GetItem(grid, i);
        good = x && extent_of(x, &extents[i]);
        Py_XDECREF(x);
    }
    if (n == 0)
        PyErr_SetString(PyExc_IndexError, "a grid has at least one extent");
    Py_XDECREF(made);
    return good;
}

static int read_stream(const struct call *c, void **stream)
{
    if (c->d->torch.stream && c->d->torch.stream(c->device, stream) == 0)
        return 1;
    PyObject *device = PyLong_FromLong(c->device);
    PyObject *current = device ? PyObject_CallFunctionObjArgs(c->d->held[GET_STREAM], device, NULL) : NULL;
    int good = current && stream_of(current, stream);
    Py_XDECREF(device);
    Py_XDECREF(current);
    return good;
}

static PyObject *launch(struct call *c, struct entry *e, PyObject *grid)
{
    uint64_t values[VALUES_MOST];
    uint32_t extents[3];
    void *stream;
    const struct key *k = &c->key;
    PyObject *kernel = e->kernel, *fail = c->d->held[FAIL], *chosen = e->chosen;
    int good = read_stream(c, &stream) &&
               (!chosen || PyObject_GenericSetAttr(PyTuple_GetItem(chosen, 0), word_best_config,
                                                   PyTuple_GetItem(chosen, 1)) == 0);
    struct plan plan; /* plan_launch does not read the entries of this copy */
    plan.launch = e->plan.launch, plan.kernel = e->plan.kernel, plan.count = e->plan.count;
    Py_INCREF(kernel); /* the entry may be removed while the grid's function runs */
    Py_XINCREF(chosen);
    for (int i = 0; good && i < plan.count; i++) {
        const struct plan_entry *v = &e->plan.entries[i];
        if (v->kind == '1')
            values[i] = 1;
        else if (v->kind == 'P' || v->kind == 'i')
            values[i] = k->values[v->argument];
        else
            good = k->places[v->argument] && plan_value(v->kind, k->places[v->argument], &values[i]);
    }
    good = good && read_grid(c, grid, chosen ? PyTuple_GetItem(chosen, 2) : NULL, extents) &&
           plan_launch(&plan, extents, stream, values, fail);
    Py_XDECREF(chosen);
    if (good)
        return kernel;
    Py_DECREF(kernel);
    return NULL;
}

/* Adds types of arrays to d->tensor_types, so that the next call recognizes arrays of these types. */
static void note_types(struct dispatch *d, PyObject *types)
{
    for (Py_ssize_t i = 0; i < PyTuple_Size(types) && d->ntypes < TENSOR_TYPES_MOST; i++) {
        PyObject *type = PyTuple_GetItem(types, i);
        int k = 0;
        while (k < d->ntypes && d->tensor_types[k] != type)
            k++;
        if (k < d->ntypes)
            continue;
        Py_INCREF(type);
        d->tensor_types[d->ntypes++] = type;
    }
}

/* Calls the Python function `remember` after a slow call. The Python function returns None if only Python can
 * launch the kernel. Otherwise it returns the tuple (address of neso_launch, address of the kernel, plan
 * entries, globals, types of arrays), and for an autotuner also the entry's `chosen`; this function then adds
 * an entry for the kernel. On a failure, this function returns 0 with an exception set. */
static int remember(struct dispatch *d, PyObject *kernel, PyObject *args, PyObject *kwargs)
{
    PyObject *found = PyObject_CallFunctionObjArgs(d->held[REMEMBER], kernel, args, kwargs, NULL);
    int good = found != NULL;
    if (found && found != Py_None) {
        struct call c;
        struct given g;
        PyObject *room[PARAMS_MOST], *old = d->held[GLOBALS];
        c.d = d;
        d->held[GLOBALS] = PyTuple_GetItem(found, 3);
        Py_INCREF(d->held[GLOBALS]);
        Py_XDECREF(old);
        note_types(d, PyTuple_GetItem(found, 4));
        if (given_of(&g, room, args, kwargs == Py_None ? NULL : kwargs) && make_key(&c, &g))
            good = enter(d, &c.key, kernel, found);
        else
            PyErr_Clear();
    }
    Py_XDECREF(found);
    return good;
}

/* Makes the call in Python by `slow`; if `may_keep`, adds an entry for the kernel. */
static PyObject *call_slow(struct bound *b, PyObject *args, PyObject *kwargs, int may_keep)
{
    struct dispatch *d = (struct dispatch *)b->dispatch;
    PyErr_Clear();
    PyObject *kernel = PyObject_CallFunctionObjArgs(d->held[SLOW], b->grid, args, kwargs, NULL);
    if (!kernel || !may_keep || kernel == Py_None || remember(d, kernel, args, kwargs))
        return kernel;
    Py_DECREF(kernel);
    return NULL;
}

enum outcome { LAUNCHED, NEW_KEY, UNUSUAL };

/* Makes the call in C if possible. In this case, sets *result to the call's result (NULL if there is an
 * exception), and returns LAUNCHED. After any other outcome, Python must make the call. */
static enum outcome call_fast(struct bound *b, const struct given *g, PyObject **result)
{
    struct dispatch *d = (struct dispatch *)b->dispatch;
    struct call c;
    c.d = d;
    if (is_watched(d))
        return UNUSUAL;
    if (!d->count || !make_key(&c, g) || !globals_are_as_before(d))
        return NEW_KEY;
    struct entry **place = find(d, hash_of(c.key.words, c.key.nwords), c.key.words, c.key.nwords);
    if (!*place)
        return NEW_KEY;
    *result = launch(&c, *place, b->grid);
    return LAUNCHED;
}

static PyObject *bound_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct bound *b = (struct bound *)self;
    struct given g;
    PyObject *room[PARAMS_MOST], *result;
    enum outcome o = given_of(&g, room, args, kwargs) ? call_fast(b, &g, &result) : UNUSUAL;
    return o == LAUNCHED ? result : call_slow(b, args, kwargs ? kwargs : Py_None, o == NEW_KEY);
}

/* Makes a call in Python by call_slow: converts the arguments of a vector call to a tuple and a
 * dictionary. */
static PyObject *call_unpacked(struct bound *b, PyObject *const *args, Py_ssize_t n, PyObject *names,
                               int may_keep)
{
    PyObject *positional = PyTuple_New(n), *kwargs = names ? PyDict_New() : NULL, *result = NULL;
    int good = positional && (kwargs || !names);
    for (Py_ssize_t i = 0; good && i < n; i++) {
        Py_INCREF(args[i]);
        good = PyTuple_SetItem(positional, i, args[i]) == 0;
    }
    for (Py_ssize_t i = 0; good && names && i < PyTuple_Size(names); i++)
        good = PyDict_SetItem(kwargs, PyTuple_GetItem(names, i), args[n + i]) == 0;
    if (good)
        result = call_slow(b, positional, kwargs ? kwargs : Py_None, may_keep);
    Py_XDECREF(positional);
    Py_XDECREF(kwargs);
    return result;
}

static PyObject *bound_vector(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    struct bound *b = (struct bound *)self;
    Py_ssize_t n = (Py_ssize_t)(nargsf & ~FLAG_OF_VECTORCALL), nnames = names ? PyTuple_Size(names) : 0;
    enum outcome o = UNUSUAL;
    PyObject *result;
    if (nnames <= PARAMS_MOST + OPTIONS_MOST) {
        struct given g;
        g.positional = args;
        g.npositional = n;
        g.nnamed = (int)nnames;
        g.keywords = names;
        for (int i = 0; i < g.nnamed; i++) {
            g.names[i] = PyTuple_GetItem(names, i);
            g.named[i] = args[n + i];
        }
        o = call_fast(b, &g, &result);
    }
    return o == LAUNCHED ? result : call_unpacked(b, args, n, names, o == NEW_KEY);
}

/* -- objects -- */

static int dispatch_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct dispatch *d = (struct dispatch *)self;
    PyObject *given[HELD], *bytes, *calls = NULL, *types = NULL;
    char *flags;
    Py_ssize_t n;
    (void)kwargs;
    given[RUN] = Py_None;
    if (!PyArg_ParseTuple(args, "O!O!SOOOOOO!OO|OO!O!", &PyTuple_Type, &given[NAMES], &PyTuple_Type,
                          &given[DEFAULTS], &bytes, &given[SLOW], &given[REMEMBER], &given[FAIL],
                          &given[GET_DEVICE], &given[GET_STREAM], &PyTuple_Type, &given[WATCHED],
                          &given[ENVIRON], &given[DEBUG], &given[RUN], &PyTuple_Type, &calls, &PyTuple_Type,
                          &types) ||
        PyBytes_AsStringAndSize(bytes, &flags, &n) < 0 || (types && !torch_read(&d->torch, calls)))
        return -1;
    if (n > PARAMS_MOST || PyTuple_Size(given[NAMES]) != n || PyTuple_Size(given[DEFAULTS]) != n) {
        PyErr_Format(PyExc_ValueError, "a kernel has %zd parameters, and at most %d are dispatched here", n,
                     PARAMS_MOST);
        return -1;
    }
    given[GLOBALS] = PyTuple_New(0);
    for (int i = 0; i < HELD; i++) {
        if (i != GLOBALS)
            Py_INCREF(given[i]);
        d->held[i] = given[i];
    }
    d->nparams = (int)n;
    memcpy(d->flags, flags, (size_t)n);
    if (types)
        note_types(d, types);
    d->torch.ntypes = d->ntypes;
    return given[GLOBALS] ? 0 : -1;
}

static void object_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* Visits all owned objects, for Python's garbage collector: a kernel owns its dispatch, and the functions of
 * the dispatch own the kernel. */
static int dispatch_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct dispatch *d = (struct dispatch *)self;
    Py_VISIT(Py_TYPE(self));
    for (int i = 0; i < HELD; i++)
        Py_VISIT(d->held[i]);
    for (int i = 0; i < d->capacity; i++)
        if (d->table[i]) {
            Py_VISIT(d->table[i]->kept);
            Py_VISIT(d->table[i]->kernel);
            Py_VISIT(d->table[i]->chosen);
        }
    return 0;
}

static int dispatch_drop(PyObject *self)
{
    struct dispatch *d = (struct dispatch *)self;
    clear(d);
    for (int i = 0; i < HELD; i++)
        Py_CLEAR(d->held[i]);
    return 0;
}

static void dispatch_free(PyObject *self)
{
    struct dispatch *d = (struct dispatch *)self;
    PyObject_GC_UnTrack(self);
    clear(d);
    for (int i = 0; i < d->ntypes; i++)
        Py_DECREF(d->tensor_types[i]);
    Py_XDECREF(d->last.names);
    for (int i = 0; i < HELD; i++)
        Py_CLEAR(d->held[i]);
    object_free(self);
}

/* Returns kernel[grid], an object that launches the kernel when it is called. */
static PyObject *dispatch_at(PyObject *self, PyObject *grid)
{
    PyTypeObject *type = (PyTypeObject *)bound_class;
    struct bound *b = NULL;
    if (nspare)
        b = (struct bound *)PyObject_Init((PyObject *)spare[--nspare], type);
    else
        b = PyObject_New(struct bound, type);
    if (!b)
        return NULL;
    Py_INCREF(self);
    Py_INCREF(grid);
    b->dispatch = self;
    b->grid = grid;
    b->call = bound_vector;
    return (PyObject *)b;
}

PyObject *dispatch_index(PyObject *dispatch, PyObject *run, PyObject *grid)
{
    if ((PyObject *)Py_TYPE(dispatch) != dispatch_class || ((struct dispatch *)dispatch)->held[RUN] != run)
        return NULL;
    return dispatch_at(dispatch, grid);
}

static PyObject *dispatch_clear(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    clear((struct dispatch *)self);
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *dispatch_size(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return PyLong_FromLong(((struct dispatch *)self)->count);
}

static void bound_free(PyObject *self)
{
    struct bound *b = (struct bound *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_DECREF(b->dispatch);
    Py_DECREF(b->grid);
    if (nspare < SPARE_MOST)
        spare[nspare++] = b;
    else
        PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *dispatch_type(void)
{
    static PyMethodDef methods[] = {{"at", dispatch_at, METH_O, "what kernel[grid] is"},
                                    {"clear", dispatch_clear, METH_NOARGS, "forgets every kernel"},
                                    {"size", dispatch_size, METH_NOARGS, "how many kernels are known"},
                                    {NULL, NULL, 0, NULL}};
    static PyType_Slot slots[] = {
        {Py_tp_new, (void *)PyType_GenericNew},
        {Py_tp_init, (void *)dispatch_init},
        {Py_tp_dealloc, (void *)dispatch_free},
        {Py_tp_methods, methods},
        {Py_tp_traverse, (void *)dispatch_traverse},
        {Py_tp_clear, (void *)dispatch_drop},
        {0, NULL},
    };
    static PyMemberDef bound_members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct bound, call), READONLY, NULL},
        {NULL, 0, 0, 0, NULL}};
    static PyType_Slot bound_slots[] = {{Py_tp_dealloc, (void *)bound_free},
                                        {Py_tp_call, (void *)bound_call},
                                        {Py_tp_members, bound_members},
                                        {0, NULL}};
    static PyType_Spec spec = {"neso._launch.Dispatch", sizeof(struct dispatch), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
    static PyType_Spec bound_spec = {"neso._launch.Bound", sizeof(struct bound), 0,
                                     (unsigned)Py_TPFLAGS_DEFAULT | HAVE_VECTORCALL, bound_slots};
    bound_class = PyType_FromSpec(&bound_spec);
    dispatch_class = PyType_FromSpec(&spec);
    Py_XINCREF(dispatch_class);
    word_best_config = PyUnicode_InternFromString("best_config");
    return key_ready() && word_best_config && bound_class ? dispatch_class : NULL;
}
