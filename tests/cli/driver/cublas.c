/* SPDX-License-Identifier: MIT */
/* cublas.c: a fake cuBLAS for tests, which computes with plain loops. As the documentation of cuBLAS specifies, it
 * multiplies column-major matrices of float32 or float64, with strides and batches. A call fails if FAKE_FAIL
 * contains its name. */
#include <stdlib.h>
#include <string.h>

enum { REFUSED = 13, NOT_SUPPORTED = 15, DATA_F32 = 0, DATA_F64 = 1, COMPUTE_F32 = 68, COMPUTE_F64 = 70 };

static int result(const char *symbol)
{
    const char *refused = getenv("FAKE_FAIL");
    return refused && strcmp(refused, symbol) == 0 ? REFUSED : 0;
}

static int something;

int cublasCreate_v2(void **handle);
int cublasCreate_v2(void **handle)
{
    *handle = &something;
    return result("cublasCreate_v2");
}

int cublasDestroy_v2(void *handle);
int cublasDestroy_v2(void *handle)
{
    return handle == &something ? 0 : REFUSED;
}

int cublasSetStream_v2(void *handle, void *stream);
int cublasSetStream_v2(void *handle, void *stream)
{
    return handle == &something && !stream ? result("cublasSetStream_v2") : REFUSED;
}

static double at(const void *x, int type, long long i)
{
    return type == DATA_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

int cublasGemmStridedBatchedEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                               const void *a, int type_a, int lead_a, long long batch_a, const void *b,
                               int type_b, int lead_b, long long batch_b, const void *beta, void *c,
                               int type_c, int lead_c, long long batch_c, int count, int compute,
                               int algorithm);
int cublasGemmStridedBatchedEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                               const void *a, int type_a, int lead_a, long long batch_a, const void *b,
                               int type_b, int lead_b, long long batch_b, const void *beta, void *c,
                               int type_c, int lead_c, long long batch_c, int count, int compute,
                               int algorithm)
{
    if (handle != &something || type_a != type_c || type_b != type_c || algorithm != -1)
        return NOT_SUPPORTED;
    if (compute != (type_c == DATA_F64 ? COMPUTE_F64 : COMPUTE_F32) || at(alpha, type_c, 0) != 1 ||
        at(beta, type_c, 0) != 0)
        return NOT_SUPPORTED;
    if (lead_a < (op_a ? k : m) || lead_b < (op_b ? n : k) || lead_c < m)
        return NOT_SUPPORTED;
    for (int g = 0; g < count; g++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) {
                double sum = 0;
                for (int l = 0; l < k; l++)
                    sum += at(a, type_a,
                              g * batch_a + (op_a ? l + (long long)i * lead_a : i + (long long)l * lead_a)) *
                           at(b, type_b,
                              g * batch_b + (op_b ? j + (long long)l * lead_b : l + (long long)j * lead_b));
                if (type_c == DATA_F32)
                    ((float *)c)[g * batch_c + i + (long long)j * lead_c] = (float)sum;
                else
                    ((double *)c)[g * batch_c + i + (long long)j * lead_c] = sum;
            }
    return result("cublasGemmStridedBatchedEx");
}
