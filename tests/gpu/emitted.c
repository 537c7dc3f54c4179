/* SPDX-License-Identifier: MIT */
/* emitted.c: tests that C code from `neso compile --emit c` launches the right kernels on a GPU. The test is linked
 * only with this C code and the driver. The test launches all variants of the kernel in tests/gpu/emitted.py, by three
 * products. The first has at most as many programs as the GPU has SMs, and the second has more programs. No tensor map
 * can describe the rows of the third. The test also launches an empty grid, and passes arguments that break a promise.
 *
 * Operands are small integers, so every sum is exact. tests/gpu.sh builds and runs this program (part `embed`). */
#include "product.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCK_M = 128, BLOCK_N = 256 };

#ifdef __cplusplus
extern "C" {
#endif
extern int cuInit(unsigned flags);
extern int cuDeviceGet(int *device, int ordinal);
extern int cuDevicePrimaryCtxRetain(void **context, int device);
extern int cuCtxSetCurrent(void *context);
extern int cuCtxSynchronize(void);
extern int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
extern int cuMemFree_v2(unsigned long long address);
extern int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes);
extern int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes);
#ifdef __cplusplus
}
#endif

static int passed, failed;

static void check(int good, const char *what)
{
    *(good ? &passed : &failed) += 1;
    if (!good)
        printf("FAILED %s\n", what);
}

static uint16_t half_of(int x)
{
    static const uint16_t halves[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000};
    return halves[x + 2];
}

static float float_of(uint16_t h)
{
    int exponent = h >> 10 & 31;
    float x = (float)(h & 1023) + (exponent ? 1024.0f : 0.0f);
    for (exponent += !exponent; exponent < 25; exponent++)
        x /= 2;
    for (; exponent > 25; exponent--)
        x *= 2;
    return h >> 15 ? -x : x;
}

/* Returns the value of an operand's element: -2 to 2. */
static int value(int row, int column)
{
    return (int)(((unsigned)row * 7919u + (unsigned)column * 104729u) >> 3) % 5 - 2;
}

static unsigned long long tensor(int rows, int columns, int stride)
{
    size_t bytes = sizeof(uint16_t) * (size_t)rows * (size_t)stride;
    uint16_t *host = (uint16_t *)calloc(1, bytes);
    unsigned long long address = 0;
    for (int i = 0; host && i < rows; i++)
        for (int j = 0; j < columns; j++)
            host[(size_t)i * (size_t)stride + (size_t)j] = half_of(value(i, j));
    if (!host || cuMemAlloc_v2(&address, bytes) || cuMemcpyHtoD_v2(address, host, bytes))
        check(0, "memory");
    free(host);
    return address;
}

static int is_right(const uint16_t *c, int m, int n, int k, int stride)
{
    for (int i = 0; i < m; i += i < BLOCK_M ? 1 : 37)
        for (int j = 0; j < n; j++) {
            int sum = 0;
            for (int x = 0; x < k; x++)
                sum += value(i, x) * value(x, j);
            if (float_of(c[(size_t)i * (size_t)stride + (size_t)j]) != (float)sum) {
                printf("element %d, %d is %g, not %d\n", i, j,
                       (double)float_of(c[(size_t)i * (size_t)stride + (size_t)j]), sum);
                return 0;
            }
        }
    return 1;
}

static void multiply(const struct product_module *module, int m, int n, int k, int pad, const char *what)
{
    int stride = n + pad;
    size_t bytes = sizeof(uint16_t) * (size_t)m * (size_t)stride;
    uint16_t *host = (uint16_t *)malloc(bytes);
    unsigned long long a = tensor(m, k, k + pad), b = tensor(k, n, stride), c = tensor(m, n, stride);
    unsigned grid_m = (unsigned)(m + BLOCK_M - 1) / BLOCK_M, grid_n = (unsigned)(n + BLOCK_N - 1) / BLOCK_N;
    int result = product_launch(module, 0, grid_m, grid_n, 1, a, b, c, m, n, k, k + pad, stride, stride);
    result = result ? result : cuCtxSynchronize();
    if (result)
        printf("the driver says %d\n", result);
    check(host && !result && !cuMemcpyDtoH_v2(host, c, bytes) && is_right(host, m, n, k, stride), what);
    check(cuMemFree_v2(a) == 0 && cuMemFree_v2(b) == 0 && cuMemFree_v2(c) == 0, "memory back");
    free(host);
}

int main(void)
{
    struct product_module module;
    void *context = 0;
    int device = 0;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
        cuCtxSetCurrent(context)) {
        puts("no GPU");
        return 1;
    }
    int result = product_load(&module);
    if (result) {
        printf("product_load: %d\n", result);
        return 1;
    }
    multiply(&module, 256, 512, 128, 0, "a grid that fits at once");
    multiply(&module, 2048, 2560, 192, 0, "a grid of several waves");
    multiply(&module, 1000, 1000, 104, 0, "sizes that are no multiple of the block");
    multiply(&module, 1000, 993, 104, 7, "rows that no map for stores ends");
    multiply(&module, 1000, 1000, 100, 1, "rows that no tensor map addresses");
    check(product_launch(&module, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1) == 0, "an empty grid");
    check(product_launch(&module, 0, 1, 1, 1, 8, 0, 0, 1, 1, 1, 1, 1, 1) == 1, "a promise that is broken");
    check(product_unload(&module) == 0, "unload");
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
