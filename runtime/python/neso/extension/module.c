/* SPDX-License-Identifier: MIT */
/* module.c: the Python module neso._launch. */
#include "runtime/python/neso/extension/launch.h"

PyMODINIT_FUNC PyInit__launch(void);

PyMODINIT_FUNC PyInit__launch(void)
{
    static struct PyModuleDef definition = {
        PyModuleDef_HEAD_INIT, "_launch", "launches from Python, in C", -1, NULL, NULL, NULL, NULL, NULL};
    PyObject *module = PyModule_Create(&definition);
    PyObject *launcher = launcher_type(), *dispatch = dispatch_type();
    word_data_ptr = PyUnicode_InternFromString("data_ptr");
    if (module && launcher && dispatch && word_data_ptr &&
        PyModule_AddObject(module, "Launcher", launcher) == 0 &&
        PyModule_AddObject(module, "Dispatch", dispatch) == 0)
        return module;
    Py_XDECREF(module);
    return NULL;
}
