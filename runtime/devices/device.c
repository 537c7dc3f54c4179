/* SPDX-License-Identifier: MIT */
/* device.c: lists the devices, and opens one by name: "cuda", "cuda:1", "interpreter", "emulator", or "best", the first
 * device in the list that can be opened. */
#include "runtime/devices/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The device classes, in order of preference. */
static const struct device_class *const classes[] = {&device_cuda, &device_interpreter, &device_emulator};
enum { CLASSES = sizeof classes / sizeof *classes };

bool fault_set(struct fault *f, enum neso_status status, enum error e, const char *detail, ...)
{
    *f = (struct fault){.status = status, .error = e};
    va_list args;
    va_start(args, detail);
    vsnprintf(f->detail, sizeof f->detail, detail, args);
    va_end(args);
    return false;
}

enum neso_status fault_status(enum error e)
{
    return e == ERR_time_limit ? NESO_OUT_OF_MEMORY : e == ERR_cancelled ? NESO_CANCELLED : NESO_FAILED;
}

void fault_text(const struct fault *f, char *out, size_t n)
{
    const char *row = error_text(f->error), *verb = strstr(row, "%s");
    if (!verb)
        snprintf(out, n, "%s", row);
    else
        snprintf(out, n, "%.*s%s%s", (int)(verb - row), row, f->detail, verb + 2);
}

static bool open_class(struct device *d, const struct device_class *class, int ordinal, void *cuda_context,
                       const struct memory *mem, struct fault *f)
{
    *d = (struct device){.class = class, .mem = mem};
    if (class->open(d, ordinal, cuda_context, f))
        return true;
    d->class = NULL;
    return false;
}

static bool open_best(struct device *d, void *cuda_context, const struct memory *mem, struct fault *f)
{
    for (int i = 0; i < CLASSES; i++)
        if (open_class(d, classes[i], 0, cuda_context, mem, f))
            return true;
    return false;
}

/* Returns whether the name denotes a device of this class. Sets *ordinal to the number after the colon, or to
 * 0 if the name has no colon: "cuda:1" denotes GPU 1 of class cuda. */
static bool matches(const char *name, const struct device_class *class, int *ordinal)
{
    size_t n = strlen(class->name);
    *ordinal = 0;
    if (strncmp(name, class->name, n) != 0)
        return false;
    if (name[n] == '\0')
        return true;
    size_t digits = name[n] == ':' ? strspn(name + n + 1, "0123456789") : 0;
    if (digits == 0 || digits > 4 || name[n + 1 + digits] != '\0')
        return false;
    *ordinal = atoi(name + n + 1);
    return true;
}

static bool refuse(const char *name, struct fault *f)
{
    char known[120] = "";
    for (int i = 0; i < CLASSES; i++) {
        size_t at = strlen(known);
        snprintf(known + at, sizeof known - at, "%s, ", classes[i]->name);
    }
    return fault_set(f, NESO_INVALID, ERR_device_unknown, "'%.60s' (there are %sand best)", name, known);
}

bool device_open(struct device *d, const char *name, void *cuda_context, const struct memory *mem,
                 struct fault *f)
{
    int ordinal;
    if (strcmp(name, "best") == 0)
        return open_best(d, cuda_context, mem, f);
    for (int i = 0; i < CLASSES; i++)
        if (matches(name, classes[i], &ordinal))
            return open_class(d, classes[i], ordinal, cuda_context, mem, f);
    return refuse(name, f);
}

void device_close(struct device *d)
{
    if (d->class)
        d->class->close(d);
    *d = (struct device){0};
}
