/* SPDX-License-Identifier: MIT */
/* gpus.c: queries the driver and the GPUs of this machine, and the limits of targets. Each query of the
 * driver opens the driver library, and closes it again. */
#include "runtime/devices/cuda/cuda.h"
#include "runtime/runtime.h"

neso_status neso_find_gpus(neso_context *context, int *driver_version, int *gpus)
{
    struct driver d;
    struct fault f;
    *driver_version = *gpus = 0;
    report_begin(context);
    if (!driver_open(&d, &f))
        return report_fault(context, &f);
    bool good = driver_check(&d, d.driver_version(driver_version), "cuDriverGetVersion", &f) &&
                driver_check(&d, d.device_count(gpus), "cuDeviceGetCount", &f);
    driver_close(&d);
    return good ? NESO_OK : report_fault(context, &f);
}

neso_status neso_gpu_get(neso_context *context, int index, neso_gpu *out)
{
    struct driver d;
    struct fault f;
    report_begin(context);
    if (out->size != sizeof *out)
        return context->status = NESO_INVALID;
    if (!driver_open(&d, &f))
        return report_fault(context, &f);
    bool good = driver_gpu(&d, index, out, &f);
    driver_close(&d);
    return good ? NESO_OK : report_fault(context, &f);
}

int neso_target_limits(const char *target, neso_limits *out)
{
    const struct target *t = target_by_name(target);
    if (!t || out->size != sizeof *out)
        return 0;
    *out = (neso_limits){.size = sizeof *out,
                         .shared_bytes = t->smem_bytes,
                         .registers = t->regs_thread,
                         .sm_shared_bytes = t->smem_sm_bytes,
                         .sm_registers = t->regs_sm,
                         .sm_threads = t->threads_sm,
                         .sm_programs = t->ctas_sm};
    return 1;
}
