/* dispatch.c: launches kernel[grid](arguments) without executing Python code if an equal call was made before.
 *
 *     arguments ─► one slot a parameter ─► two words each: what Triton specializes on ─► the table ─► values ─► neso_launch
 *
 * Unusual calls (tuples, descriptors, hooks, a first call, a wrong argument) go to `slow`, which is JITFunction.run;
 * `remember` then enters the kernel that it compiled into the table. A key distinguishes at least as much as Triton's key,
 * so a hit is always the kernel that `slow` would have chosen. */
#include "runtime/python/neso/extension/launch.h"

#include <stdlib.h>
#include <string.h>

enum {
    PARAMS_MOST = 64,
    OPTIONS_MOST = 8,
    WORDS_MOST = 2 + 2 * PARAMS_MOST + 2 * OPTIONS_MOST,
    TABLE_MOST = 4096
};
enum { TENSOR_TYPES_MOST = 8 };

/* The objects that a dispatch owns. */
enum held {
    NAMES,    /* a tuple of interned strings */
    DEFAULTS, /* a tuple; the type Dispatch itself stands for none */
    SLOW,
    REMEMBER,
    FAIL,
    GET_DEVICE,
    GET_STREAM,
    WATCHED, /* a tuple of lists of hooks: if one is not empty, the call goes to `slow` */
    GLOBALS, /* a tuple of (dictionary, name, value) */
    HELD
};

/* What is known of a parameter. */
enum param_flags { IS_CONSTEXPR = 1, NO_SPECIALIZE = 2, NO_ALIGN = 4 };
/* The first word of a slot. */
enum slot_kind { SLOT_int = 1, SLOT_object, SLOT_float, SLOT_bool, SLOT_number, SLOT_tensor };

struct entry {
    uint64_t hash;
    int nwords;
    uint64_t *words;
    PyObject *kept;   /* a tuple of the objects whose addresses are in the key's words */
    PyObject *kernel; /* what a launch returns */
    struct plan plan;
};

struct dispatch {
    PyObject_HEAD int nparams;
    uint8_t flags[PARAMS_MOST];
    PyObject *held[HELD];
    PyObject *tensor_types[TENSOR_TYPES_MOST];
    int ntypes;
    struct entry **table; /* open addressing */
    int capacity, count;
};

struct bound {
    PyObject_HEAD PyObject *dispatch, *grid;
};

/* The call that is being dispatched. */
struct call {
    struct dispatch *d;
    PyObject *slots[PARAMS_MOST]; /* borrowed; NULL: not given */
    uint64_t values[PARAMS_MOST]; /* of numbers and addresses */
    double floats[PARAMS_MOST];
    uint64_t words[WORDS_MOST];
    int nwords;
    PyObject *kept[PARAMS_MOST + 2 * OPTIONS_MOST]; /* borrowed */
    int nkept;
};

static PyObject *dispatch_class, *bound_class;
static PyObject *word_dtype, *word_is_cuda;

/* -- keys -- */

static void word(struct call *c, uint64_t kind, uint64_t value)
{
    c->words[c->nwords++] = kind;
    c->words[c->nwords++] = value;
}

/* Constants: numbers by their value, anything else by its address. */
static int add_constant(struct call *c, PyObject *x)
{
    int overflow = 0;
    if (PyLong_CheckExact(x)) {
        long long value = PyLong_AsLongLongAndOverflow(x, &overflow);
        word(c, SLOT_int, (uint64_t)value);
        return !overflow;
    }
    word(c, SLOT_object, (uint64_t)(uintptr_t)x);
    c->kept[c->nkept++] = x;
    return 1;
}

static int add_int(struct call *c, int i, PyObject *x)
{
    int overflow = 0;
    uint8_t flags = c->d->flags[i];
    long long value = PyLong_AsLongLongAndOverflow(x, &overflow);
    if (overflow)
        return 0;
    uint64_t class = value >= INT32_MIN && value <= INT32_MAX ? 1 : 2;
    if (!(flags & NO_SPECIALIZE))
        class |= (value == 1 ? 4u : 0u) | (!(flags & NO_ALIGN) && value % 16 == 0 ? 8u : 0u);
    c->values[i] = (uint64_t)value;
    word(c, SLOT_number, class);
    return 1;
}

static int is_known_tensor(const struct dispatch *d, PyObject *type)
{
    for (int i = 0; i < d->ntypes; i++)
        if (d->tensor_types[i] == type)
            return 1;
    return 0;
}

/* Adds an array on a GPU whose type an earlier call has had. */
static int add_tensor(struct call *c, int i, PyObject *x)
{
    uint8_t flags = c->d->flags[i];
    if (!is_known_tensor(c->d, (PyObject *)Py_TYPE(x)))
        return 0;
    PyObject *on_gpu = PyObject_GetAttr(x, word_is_cuda);
    Py_XDECREF(on_gpu);
    PyObject *dtype = on_gpu == Py_True ? PyObject_GetAttr(x, word_dtype) : NULL;
    if (!dtype || !plan_value('P', x, &c->values[i])) {
        Py_XDECREF(dtype);
        return 0;
    }
    int aligned = !(flags & (NO_SPECIALIZE | NO_ALIGN)) && c->values[i] % 16 == 0;
    word(c, SLOT_tensor + (aligned ? 1u : 0u), (uint64_t)(uintptr_t)dtype);
    c->kept[c->nkept++] = dtype;
    Py_DECREF(dtype); /* the tensor has it; it is kept when it is entered */
    return 1;
}

static int add_slot(struct call *c, int i)
{
    PyObject *x = c->slots[i];
    if (c->d->flags[i] & IS_CONSTEXPR)
        return add_constant(c, x);
    if (PyLong_CheckExact(x))
        return add_int(c, i, x);
    if (PyFloat_CheckExact(x)) {
        c->floats[i] = PyFloat_AsDouble(x);
        word(c, SLOT_float, 0);
        return 1;
    }
    if (PyBool_Check(x)) {
        c->values[i] = x == Py_True;
        word(c, SLOT_bool, 0);
        return 1;
    }
    return x == Py_None ? add_constant(c, x) : add_tensor(c, i, x);
}

static int find_name(const struct dispatch *d, PyObject *name)
{
    for (int i = 0; i < d->nparams; i++)
        if (PyTuple_GetItem(d->held[NAMES], i) == name)
            return i;
    for (int i = 0; i < d->nparams; i++)
        if (PyUnicode_Compare(PyTuple_GetItem(d->held[NAMES], i), name) == 0)
            return i;
    return -1;
}

/* Puts arguments into slots; other keywords are options, and part of the key. */
static int fill_slots(struct call *c, PyObject *args, PyObject *kwargs)
{
    const struct dispatch *d = c->d;
    Py_ssize_t given = PyTuple_Size(args), at = 0;
    PyObject *name, *value;
    int noptions = 0;
    if (given > d->nparams)
        return 0;
    for (int i = 0; i < d->nparams; i++)
        c->slots[i] = i < given ? PyTuple_GetItem(args, i) : NULL;
    while (kwargs && PyDict_Next(kwargs, &at, &name, &value)) {
        int i = find_name(d, name);
        if (i >= 0 && c->slots[i])
            return 0;
        if (i >= 0)
            c->slots[i] = value;
        else if (noptions++ == OPTIONS_MOST || !add_constant(c, name) || !add_constant(c, value))
            return 0;
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

static int make_key(struct call *c, PyObject *args, PyObject *kwargs)
{
    PyObject *device = PyObject_CallObject(c->d->held[GET_DEVICE], NULL);
    if (!device)
        return 0;
    word(c, SLOT_int, (uint64_t)PyLong_AsLongLong(device));
    Py_DECREF(device);
    if (!fill_slots(c, args, kwargs))
        return 0;
    for (int i = 0; i < c->d->nparams; i++)
        if (!add_slot(c, i))
            return 0;
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

/* The table's place for a key: its entry, or the empty place where the entry belongs. */
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

static PyObject *kept_tuple(const struct call *c)
{
    PyObject *t = PyTuple_New(c->nkept);
    for (int i = 0; t && i < c->nkept; i++) {
        Py_INCREF(c->kept[i]);
        PyTuple_SetItem(t, i, c->kept[i]);
    }
    return t;
}

/* Enters what `slow` has compiled: `found` is (address of neso_launch, kernel's address, plan). */
static int enter(struct dispatch *d, const struct call *c, PyObject *kernel, PyObject *found)
{
    struct entry *e = calloc(1, sizeof *e);
    size_t bytes = (size_t)c->nwords * sizeof *e->words;
    if (d->count >= TABLE_MOST)
        clear(d);
    if (!e || (2 * (d->count + 1) > d->capacity && !grow(d)) || !(e->words = malloc(bytes)) ||
        !(e->kept = kept_tuple(c)) ||
        !plan_read(&e->plan, PyTuple_GetItem(found, 0), PyTuple_GetItem(found, 1),
                   PyTuple_GetItem(found, 2))) {
        entry_free(e);
        return PyErr_Occurred() ? 0 : (PyErr_NoMemory(), 0);
    }
    memcpy(e->words, c->words, bytes);
    e->nwords = c->nwords;
    e->hash = hash_of(c->words, c->nwords);
    Py_INCREF(kernel);
    e->kernel = kernel;
    struct entry **place = find(d, e->hash, e->words, e->nwords);
    d->count += !*place;
    entry_free(*place);
    *place = e;
    return 1;
}

/* -- calls -- */

static int is_watched(const struct dispatch *d)
{
    const char *debug = getenv("TRITON_DEBUG");
    if (debug && *debug && strcmp(debug, "0") != 0)
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

/* Reads the grid's extents; calls the grid if it is a function. */
static int read_grid(const struct call *c, PyObject *grid, uint32_t extents[3])
{
    PyObject *made = NULL;
    extents[0] = extents[1] = extents[2] = 1;
    if (!PyTuple_Check(grid) && !PyList_Check(grid) && PyCallable_Check(grid)) {
        PyObject *named = bound_arguments(c);
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

static PyObject *launch(struct call *c, struct entry *e, PyObject *grid)
{
    uint64_t values[VALUES_MOST];
    uint32_t extents[3];
    void *stream;
    PyObject *device = PyLong_FromUnsignedLongLong(c->words[1]);
    PyObject *current = device ? PyObject_CallFunctionObjArgs(c->d->held[GET_STREAM], device, NULL) : NULL;
    int good = current && stream_of(current, &stream);
    Py_XDECREF(device);
    Py_XDECREF(current);
    PyObject *kernel = e->kernel, *fail = c->d->held[FAIL];
    struct plan plan = {.launch = e->plan.launch, .kernel = e->plan.kernel, .count = e->plan.count};
    Py_INCREF(kernel); /* the entry may go while the grid's function runs */
    for (int i = 0; good && i < e->plan.count; i++) {
        const struct plan_entry *v = &e->plan.entries[i];
        values[i] = v->kind == '1' ? 1 : c->values[v->argument];
        if (v->kind == 'f' || v->kind == 'd')
            good = plan_value(v->kind, c->slots[v->argument], &values[i]);
    }
    if (good && read_grid(c, grid, extents) && plan_launch(&plan, extents, stream, values, fail))
        return kernel;
    Py_DECREF(kernel);
    return NULL;
}

/* Notes the types of arrays, so that the next call need not ask. */
static void note_types(struct dispatch *d, PyObject *types)
{
    for (Py_ssize_t i = 0; i < PyTuple_Size(types) && d->ntypes < TENSOR_TYPES_MOST; i++) {
        PyObject *type = PyTuple_GetItem(types, i);
        if (is_known_tensor(d, type))
            continue;
        Py_INCREF(type);
        d->tensor_types[d->ntypes++] = type;
    }
}

/* The call as Python makes it; a key that is new is entered if `remember` says how: (launch, kernel, plan, globals, types). */
static PyObject *call_slow(struct dispatch *d, PyObject *grid, PyObject *args, PyObject *kwargs, int may_keep)
{
    PyErr_Clear();
    PyObject *kernel = PyObject_CallFunction(d->held[SLOW], "OOO", grid, args, kwargs ? kwargs : Py_None);
    if (!kernel || !may_keep || kernel == Py_None)
        return kernel;
    PyObject *found =
        PyObject_CallFunctionObjArgs(d->held[REMEMBER], kernel, args, kwargs ? kwargs : Py_None, NULL);
    int good = found != NULL;
    if (found && found != Py_None) {
        struct call c = {.d = d};
        PyObject *old = d->held[GLOBALS];
        d->held[GLOBALS] = PyTuple_GetItem(found, 3);
        Py_INCREF(d->held[GLOBALS]);
        Py_XDECREF(old);
        note_types(d, PyTuple_GetItem(found, 4));
        if (make_key(&c, args, kwargs))
            good = enter(d, &c, kernel, found);
        else
            PyErr_Clear();
    }
    Py_XDECREF(found);
    if (good)
        return kernel;
    Py_DECREF(kernel);
    return NULL;
}

static PyObject *bound_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct bound *b = (struct bound *)self;
    struct dispatch *d = (struct dispatch *)b->dispatch;
    struct call c = {.d = d};
    if (is_watched(d))
        return call_slow(d, b->grid, args, kwargs, 0);
    if (!d->count || !make_key(&c, args, kwargs) || !globals_are_as_before(d))
        return call_slow(d, b->grid, args, kwargs, 1);
    struct entry **place = find(d, hash_of(c.words, c.nwords), c.words, c.nwords);
    return *place ? launch(&c, *place, b->grid) : call_slow(d, b->grid, args, kwargs, 1);
}

/* -- objects -- */

static int dispatch_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct dispatch *d = (struct dispatch *)self;
    PyObject *given[HELD], *bytes;
    char *flags;
    Py_ssize_t n;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O!SOOOOOO!", &PyTuple_Type, &given[NAMES], &PyTuple_Type, &given[DEFAULTS],
                          &bytes, &given[SLOW], &given[REMEMBER], &given[FAIL], &given[GET_DEVICE],
                          &given[GET_STREAM], &PyTuple_Type, &given[WATCHED]) ||
        PyBytes_AsStringAndSize(bytes, &flags, &n) < 0)
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
    return given[GLOBALS] ? 0 : -1;
}

static void object_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* A kernel owns its dispatch, whose functions own the kernel: Python's collector has to see that. */
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
    for (int i = 0; i < HELD; i++)
        Py_CLEAR(d->held[i]);
    object_free(self);
}

/* kernel[grid]: the object that is then called. */
static PyObject *dispatch_at(PyObject *self, PyObject *grid)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)bound_class, Py_tp_alloc);
    struct bound *b = (struct bound *)allocate((PyTypeObject *)bound_class, 0);
    if (!b)
        return NULL;
    Py_INCREF(self);
    Py_INCREF(grid);
    b->dispatch = self;
    b->grid = grid;
    return (PyObject *)b;
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
    Py_XDECREF(b->dispatch);
    Py_XDECREF(b->grid);
    object_free(self);
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
    static PyType_Slot bound_slots[] = {
        {Py_tp_dealloc, (void *)bound_free}, {Py_tp_call, (void *)bound_call}, {0, NULL}};
    static PyType_Spec spec = {"neso._launch.Dispatch", sizeof(struct dispatch), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
    static PyType_Spec bound_spec = {"neso._launch.Bound", sizeof(struct bound), 0, Py_TPFLAGS_DEFAULT,
                                     bound_slots};
    word_dtype = PyUnicode_InternFromString("dtype");
    word_is_cuda = PyUnicode_InternFromString("is_cuda");
    bound_class = PyType_FromSpec(&bound_spec);
    dispatch_class = PyType_FromSpec(&spec);
    Py_XINCREF(dispatch_class);
    return word_dtype && word_is_cuda && bound_class ? dispatch_class : NULL;
}
