/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The module netfathom_mark: the header for C, called from Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "netfathom_mark.h"

/* Says it if somebody listens: what a name costs in UTF-8 is for the listener only. */
static PyObject *marked(PyObject *name, int at_a_time, uint64_t at_ns) {
    PyObject *bytes;
    if (!PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "the name of a mark is a str");
        return NULL;
    }
    if (!netfathom_mark_is_listened())
        Py_RETURN_NONE;
    if (!at_a_time)
        at_ns = netfathom_mark_now_ns();
    /* A lone surrogate has no UTF-8, and a mark is no place for a program to fail. */
    bytes = PyUnicode_AsEncodedString(name, "utf-8", "replace");
    if (!bytes)
        return NULL;
    netfathom_mark_bytes_at(PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes), at_ns);
    Py_DECREF(bytes);
    Py_RETURN_NONE;
}

static PyObject *mark(PyObject *module, PyObject *name) {
    (void)module;
    return marked(name, 0, 0);
}

static PyObject *mark_at(PyObject *module, PyObject *arguments) {
    PyObject *name, *number;
    unsigned long long at_ns;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO:mark_at", &name, &number))
        return NULL;
    at_ns = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred())
        return NULL;
    return marked(name, 1, at_ns);
}

static PyObject *status(PyObject *module, PyObject *unused) {
    struct netfathom_mark_counts counts = netfathom_mark_status();
    (void)module, (void)unused;
    return Py_BuildValue("(NKK)", PyBool_FromLong(counts.listened), (unsigned long long)counts.recorded,
                         (unsigned long long)counts.lost);
}

static PyMethodDef methods[] = {
    {"mark", mark, METH_O,
     "mark(name)\n--\n\nSays that the program is here, now. At most 38 bytes of the name are kept."},
    {"mark_at", mark_at, METH_VARARGS,
     "mark_at(name, ns, /)\n--\n\nSays that it was here at a time that it took itself: time.monotonic_ns()."},
    {"status", status, METH_NOARGS,
     "status()\n--\n\nWhat became of the marks so far: (listened, recorded, lost)."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "netfathom_mark", "Observation points for netfathom.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_netfathom_mark(void) { return PyModuleDef_Init(&definition); }
