/* SPDX-License-Identifier: MIT */
// wrapper.cpp: tests neso.hpp: objects release themselves in any order, errors are exceptions with status and text, values are
// checked against the parameters, helpers are not listed as kernels, launch options have an effect, and a bundle works without its source.
#include "neso.hpp"

#include <cstdio>
#include <cstring>

namespace {

const char source[] = R"(
import triton
import triton.language as tl

@triton.jit
def twice(x):
    return 2 * x

@triton.jit
def put(Y, i, x, mask):
    tl.store(Y + i, x, mask=mask)

@triton.jit
def scale(X, Y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    put(Y, i, twice(tl.load(X + i, mask=i < n)) * factor, i < n)

@triton.jit
def copy(X, Y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i))
)";
const char signature[] = "*fp32:16, *fp32:16, i32, fp32, 256";
int passed, failed;

void check(bool good, const std::string &what)
{
    (good ? passed : failed)++;
    if (!good)
        std::fprintf(stderr, "failed: %s\n", what.c_str());
}

template <typename F> void refused(F &&f, neso_status status, const char *words)
{
    try {
        f();
        check(false, words);
    } catch (const neso::error &e) {
        check(e.status() == status && std::strstr(e.what(), words), e.what());
    }
}

void run(const neso::context &ctx, const neso::kernel &scale, const neso_launch_options *options)
{
    const std::int32_t n = 1000;
    std::vector<float> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); i++)
        values[i] = static_cast<float>(i);
    neso::buffer<float> x(ctx, values.size()), y(ctx, values.size()), moved(std::move(x));
    moved.write(values);
    scale.launch_with(options, {4, 1, 1}, nullptr, moved, y, n, 2.5F);
    ctx.synchronize();
    std::vector<float> out = y.read();
    bool good = out.size() == values.size();
    for (std::size_t i = 0; good && i < out.size(); i++)
        good = out[i] == 5.0F * values[i];
    check(good, "every element");
    refused([&] { scale.launch({4, 1, 1}, nullptr, moved, y, n); }, NESO_INVALID, "scale takes 4 values, and got 3");
    refused([&] { scale.launch({4, 1, 1}, nullptr, moved, y, n, 2.5); }, NESO_INVALID,
            "'factor' is fp32, of 4 bytes, and got a value of 8");
    refused([&] { scale.launch({4, 1, 1}, nullptr, moved, y, n, 2); }, NESO_INVALID, "'factor' is fp32, and got an integer of 32 bits");
    refused([&] { scale.launch({4, 1, 1}, nullptr, moved, y, 1000.0F, 2.5F); }, NESO_INVALID, "'n' is i32, and got fp32");
    refused([&] { scale.launch({4, 1, 1}, nullptr, 2.5, y, n, 2.5F); }, NESO_INVALID, "'X' is *fp32, and got fp64");
    neso::buffer<double> wide(ctx, values.size());
    neso::buffer<std::int32_t> integers(ctx, values.size());
    neso::buffer<unsigned char> bytes(ctx, values.size() * sizeof(float));
    refused([&] { scale.launch({4, 1, 1}, nullptr, wide, y, n, 2.5F); }, NESO_INVALID, "'X' is *fp32, and got a pointer to fp64");
    refused([&] { scale.launch({4, 1, 1}, nullptr, moved, integers, n, 2.5F); }, NESO_INVALID,
            "'Y' is *fp32, and got a pointer to an integer of 32 bits");
    scale.launch({4, 1, 1}, nullptr, reinterpret_cast<const float *>(moved.address()), bytes, n, 2.5F);
    scale.launch({4, 1, 1}, nullptr, moved.address(), reinterpret_cast<void *>(y.address()), n, 2.5F);
    refused([&] { scale.launch({4, 1, 1}, nullptr, moved.address() + 4, y, n, 2.5F); }, NESO_INVALID, "multiple of 16");
    refused([&] { scale.launch({4, 1, 1}, nullptr, moved, y, 1500, 2.5F); }, NESO_FAILED,
            ":16:21: error: access out of bounds in program (3, 0, 0)");
    refused([&] { moved.write(std::vector<float>(2000)); }, NESO_INVALID, "more elements");
}

} // namespace

int main()
{
    std::string bundle;
    {
        neso::kernel scale;
        neso::context ctx("interpreter");
        check(ctx.device() == "interpreter", ctx.device_text());
        {
            neso::module m = ctx.module("scale.py", source);
            std::vector<std::string> names = m.kernels();
            check(names == std::vector<std::string>{"scale", "copy"}, "the kernels, without helpers");
            check(neso_module_kernel(m.get(), 3) && !neso_module_kernel(m.get(), 4), "four functions in all");
            refused([&] { m.compile("sub", signature); }, NESO_INVALID, "there is no kernel 'sub'");
            refused([&] { ctx.use_device("emulator"); }, NESO_INVALID, "while modules are in use");
            scale = m.compile("scale", signature);
        }
        check(scale.name() == "scale" && scale.params().size() == 4 && scale.params()[1].written == 1, "the parameters");
        run(ctx, scale, nullptr);
        refused([&] { scale.function(); }, NESO_NO_DEVICE, "has no driver whose function");
        bundle = scale.text(NESO_TEXT_BUNDLE);
    }
    {
        neso::context ctx("emulator");
        neso::kernel scale = ctx.bundle("scale.neso", bundle).compile("scale", signature);
        neso_launch_options options = neso::launch_options();
        options.cooperative = 1;
        options.priority = -3;
        run(ctx, scale, &options);
        options.size = 3;
        refused([&] { run(ctx, scale, &options); }, NESO_INVALID, "size");
        check(scale.ptx().find(".entry scale") != std::string::npos && scale.resources().num_threads == 128, "PTX");
    }
    refused([] { neso::context("toaster"); }, NESO_INVALID, "unknown device 'toaster'");
    refused([] { neso::context().module("k.py", "def f(:\n"); }, NESO_INVALID, "k.py:1:6");
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
