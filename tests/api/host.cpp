/* SPDX-License-Identifier: MIT */
// host.cpp: a C++ program that embeds neso. The program tests handles that release themselves, a kernel that is
// compiled for two block sizes and launched on memory of the context's device, and an error that becomes an
// exception, which contains the error's source location.
#include "neso.h"

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

const char source[] = R"(
import triton
import triton.language as tl

@triton.jit
def axpy(X, Y, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(Y + i, a * tl.load(X + i, mask=mask) + tl.load(Y + i, mask=mask), mask=mask)
)";

struct releaser {
    void operator()(neso_context *x) const { neso_context_release(x); }
    void operator()(neso_module *x) const { neso_module_release(x); }
    void operator()(neso_kernel *x) const { neso_kernel_release(x); }
};
template <typename T> using handle = std::unique_ptr<T, releaser>;

struct neso_exception : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void require(neso_context *ctx, neso_status status)
{
    if (status != NESO_OK)
        throw neso_exception(std::string(neso_status_name(status)) + ": " + neso_error_text(ctx));
}

handle<neso_context> open(const char *device)
{
    neso_context *ctx = nullptr;
    require(nullptr, neso_context_create(nullptr, &ctx));
    handle<neso_context> owner(ctx);
    require(ctx, neso_context_use_device(ctx, device, nullptr));
    return owner;
}

handle<neso_module> read(neso_context *ctx, const std::string &text)
{
    neso_module *module = nullptr;
    require(ctx, neso_module_from_source(ctx, "axpy.py", text.data(), text.size(), &module));
    return handle<neso_module>(module);
}

handle<neso_kernel> compile(neso_context *ctx, neso_module *module, const std::string &signature)
{
    neso_kernel *kernel = nullptr;
    neso_compile_options o{};
    o.size = sizeof o;
    o.signature = signature.c_str();
    require(ctx, neso_kernel_compile(module, "axpy", &o, &kernel));
    return handle<neso_kernel>(kernel);
}

bool run(neso_context *ctx, neso_kernel *kernel, int block)
{
    const int n = 1000;
    const std::size_t bytes = n * sizeof(float);
    std::vector<float> x(n), y(n, 1.0f);
    for (int i = 0; i < n; i++)
        x[static_cast<std::size_t>(i)] = static_cast<float>(i);
    std::uint64_t dx = 0, dy = 0;
    require(ctx, neso_memory_allocate(ctx, bytes, &dx));
    require(ctx, neso_memory_allocate(ctx, bytes, &dy));
    require(ctx, neso_memory_write(ctx, dx, x.data(), bytes));
    require(ctx, neso_memory_write(ctx, dy, y.data(), bytes));
    const float a = 2.0f;
    const std::int32_t count = n;
    const void *args[] = {&dx, &dy, &a, &count};
    const std::uint32_t grid[3] = {static_cast<std::uint32_t>((n + block - 1) / block), 1, 1};
    neso_error error{};
    error.size = sizeof error;
    if (neso_launch(kernel, grid, nullptr, args, &error) != NESO_OK)
        throw neso_exception(error.message);
    require(ctx, neso_synchronize(ctx, nullptr));
    require(ctx, neso_memory_read(ctx, y.data(), dy, bytes));
    require(ctx, neso_memory_release(ctx, dx));
    require(ctx, neso_memory_release(ctx, dy));
    for (int i = 0; i < n; i++)
        if (y[static_cast<std::size_t>(i)] != 2.0f * static_cast<float>(i) + 1.0f)
            return false;
    return true;
}

bool says_where()
{
    auto ctx = open("interpreter");
    std::string text = source;
    text.replace(text.find("n, BLOCK"), 1, "m");
    auto module = read(ctx.get(), text);
    try {
        compile(ctx.get(), module.get(), "*fp32, *fp32, fp32, i32, 256");
    } catch (const neso_exception &) {
        neso_diagnostic d{};
        d.size = sizeof d;
        return neso_diagnostic_get(ctx.get(), 0, &d) && d.severity == NESO_ERROR && d.line == 8 && d.column == 16 &&
               std::string(d.file) == "axpy.py";
    }
    return false;
}

} // namespace

int main()
{
    int passed = 0, failed = 0;
    try {
        for (const char *device : {"interpreter", "emulator"}) {
            auto ctx = open(device);
            auto module = read(ctx.get(), source);
            for (int block : {64, 256}) {
                auto kernel = compile(ctx.get(), module.get(), "*fp32:16, *fp32:16, fp32, i32, " + std::to_string(block));
                ++(run(ctx.get(), kernel.get(), block) ? passed : failed);
            }
        }
        ++(says_where() ? passed : failed);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        failed++;
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
