/* SPDX-License-Identifier: MIT */
/* module.c: the Python module neso._launch. */
#include "runtime/python/neso/extension/launch.h"

PyMODINIT_FUNC PyInit__launch(void);

PyMODINIT_FUNC PyInit__launch(void)
{
    static struct PyModuleDef definition = {
        PyModuleDef_HEAD_INIT, "_launch", "launches from Python, in C", -1, NULL, NULL, NULL, NULL, NULL};
    static const struct {
        const char *name;
        PyObject *(*make)(void);
    } types[] = {{"Launcher", launcher_type},
                 {"Dispatch", dispatch_type},
                 {"Indexed", indexed_type},
                 {"Folded", folded_type}};
    PyObject *module = PyModule_Create(&definition);
    word_data_ptr = PyUnicode_InternFromString("data_ptr");
    int good = module && word_data_ptr;
    for (size_t i = 0; good && i < sizeof types / sizeof *types; i++) {
        PyObject *type = types[i].make();
        good = type && PyModule_AddObject(module, types[i].name, type) == 0;
    }
    if (good)
        return module;
    Py_XDECREF(module);
    return NULL;
}
