/* SPDX-License-Identifier: MIT */
// neso.hpp: wraps neso.h for C++17: objects release themselves, and errors are exceptions.
//
//     neso::context ctx("best");
//     neso::kernel scale = ctx.module("scale.py", text).compile("scale", "*fp32:16, *fp32:16, i32, fp32, 256");
//     neso::buffer<float> x(ctx, n), y(ctx, n);
//     x.write(values);
//     scale.launch({(n + 255) / 256, 1, 1}, nullptr, x, y, n, 2.5f);
//
// Objects can be moved, but not copied. They may be destroyed in any order, except that a buffer must not outlive its
// context. The rules of neso.h about threads apply. To call a function of neso.h that has no wrapper here, use the
// handle that an object's get() returns.
#ifndef NESO_HPP
#define NESO_HPP

#include "neso.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace neso {

// An error of the library: what() returns the messages, status() the status.
class error : public std::runtime_error {
public:
    error(neso_status status, const std::string &text)
        : std::runtime_error(std::string(neso_status_name(status)) + ": " + text), status_(status)
    {
    }
    neso_status status() const noexcept { return status_; }

private:
    neso_status status_;
};

namespace detail {

struct releaser {
    void operator()(neso_context *x) const noexcept { neso_context_release(x); }
    void operator()(neso_module *x) const noexcept { neso_module_release(x); }
    void operator()(neso_kernel *x) const noexcept { neso_kernel_release(x); }
};
template <typename T> using handle = std::unique_ptr<T, releaser>;

inline void require(neso_context *ctx, neso_status status)
{
    if (status != NESO_OK)
        throw error(status, ctx ? neso_error_text(ctx) : "");
}

// Returns a structure of options whose member `size` is set; all other members are 0.
template <typename T> T sized()
{
    T x{};
    x.size = sizeof x;
    return x;
}

} // namespace detail

inline neso_context_options context_options() { return detail::sized<neso_context_options>(); }
inline neso_compile_options compile_options() { return detail::sized<neso_compile_options>(); }
inline neso_launch_options launch_options() { return detail::sized<neso_launch_options>(); }

using grid = std::array<std::uint32_t, 3>;

template <typename T> class buffer;

class kernel {
public:
    kernel() = default;
    kernel(neso_context *ctx, neso_kernel *owned) : ctx_(ctx), handle_(owned) {}
    neso_kernel *get() const noexcept { return handle_.get(); }

    std::string name() const { return neso_kernel_name(get()); }
    std::string id() const { return neso_kernel_id(get()); }
    std::string text(neso_text which) const
    {
        const char *s = nullptr;
        std::size_t n = 0;
        detail::require(ctx_, neso_kernel_text(get(), which, &s, &n));
        return std::string(s, n);
    }
    std::string ptx() const { return text(NESO_TEXT_PTX); }
    neso_resources resources() const
    {
        neso_resources r = detail::sized<neso_resources>();
        detail::require(ctx_, neso_kernel_resources(get(), &r));
        return r;
    }
    std::vector<neso_param> params() const
    {
        std::vector<neso_param> list(neso_kernel_param_count(get()), detail::sized<neso_param>());
        for (std::size_t i = 0; i < list.size(); i++)
            neso_kernel_param(get(), i, &list[i]);
        return list;
    }
    void load() const { detail::require(ctx_, neso_kernel_load(get())); }
    void *function() const // CUfunction
    {
        void *f = nullptr;
        detail::require(ctx_, neso_kernel_function(get(), &f));
        return f;
    }

    // Launches the kernel. `values` has one value for each parameter, of the parameter's size and class: an integer
    // for i32, a float for fp32. For a pointer parameter, the value is a buffer or C++ pointer whose elements are of
    // the parameter's type or bytes, or an address as an integer. For 16-bit and 8-bit floats, which C++17 lacks, the
    // value is an integer or class of that size.
    template <typename... T> void launch(const grid &g, void *stream, const T &...values) const
    {
        launch_with(nullptr, g, stream, values...);
    }
    template <typename... T>
    void launch_with(const neso_launch_options *options, const grid &g, void *stream, const T &...values) const
    {
        static_assert((std::is_trivially_copyable_v<decltype(value_of(values))> && ...), "values are numbers, addresses or buffers");
        const form forms[] = {form_of(values)..., form{}};
        check_forms(forms, sizeof...(values));
        launch_values(options, g, stream, value_of(values)...);
    }

private:
    neso_context *ctx_ = nullptr;
    detail::handle<neso_kernel> handle_;

    template <typename T> static std::uint64_t value_of(const buffer<T> &b) { return b.address(); }
    template <typename T> static T value_of(const T &x) { return x; }

    // The properties of a value that a launch checks. Kinds: 'i' integer, 'f' float, 'p' pointer, '?' anything else.
    struct form {
        std::size_t bytes = 0;
        char kind = '?';
        std::size_t element_bytes = 0; // the size of a pointer's element; 0: unknown
        char element_kind = '?';
    };
    template <typename T> static constexpr char kind_of()
    {
        return std::is_floating_point_v<T> ? 'f' : std::is_integral_v<T> || std::is_enum_v<T> ? 'i' : '?';
    }
    template <typename T> static form form_of(const buffer<T> &) { return {sizeof(std::uint64_t), 'p', sizeof(T), kind_of<T>()}; }
    template <typename T> static form form_of(const T &)
    {
        using element = std::remove_pointer_t<T>;
        if constexpr (std::is_pointer_v<T> && (std::is_arithmetic_v<element> || std::is_enum_v<element>))
            return {sizeof(T), 'p', sizeof(element), kind_of<std::remove_cv_t<element>>()};
        else if constexpr (std::is_pointer_v<T> || std::is_null_pointer_v<T>)
            return {sizeof(T), 'p', 0, '?'};
        else
            return {sizeof(T), kind_of<T>(), 0, '?'};
    }

    // Returns whether a number of this size and kind fits a type ("fp32", "i1", "u64").
    static bool fits(std::string_view type, std::size_t bytes, char kind)
    {
        const bool is_float = type.find("fp") == 0 || type.find("bf") == 0;
        std::size_t bits = 0, digit = type.find_first_of("0123456789");
        for (; digit < type.size() && type[digit] >= '0' && type[digit] <= '9'; digit++)
            bits = 10 * bits + static_cast<std::size_t>(type[digit] - '0');
        if (kind == '?' || bits == 0)
            return true;
        if (bytes != (bits + 7) / 8)
            return false;
        return is_float ? kind == 'f' || (kind == 'i' && bytes < 4) : kind == 'i';
    }
    static bool fits(std::string_view type, const form &f)
    {
        if (type.substr(0, 1) != "*")
            return f.kind != 'p' && fits(type, f.bytes, f.kind);
        if (f.kind != 'p')
            return f.kind != 'f';
        type.remove_prefix(type.substr(1, 1) == "k" ? 2 : 1);
        const bool is_bytes = f.element_bytes <= 1 && f.element_kind != 'f';
        return is_bytes || type.substr(0, 1) == "*" || fits(type, f.element_bytes, f.element_kind);
    }
    static std::string described(const form &f)
    {
        const std::string pointed = !f.element_bytes ? "" : " to " + described({f.element_bytes, f.element_kind, 0, '?'});
        const std::string bits = std::to_string(8 * f.bytes);
        return f.kind == 'p' ? "a pointer" + pointed : f.kind == 'f' ? "fp" + bits : f.kind == 'i' ? "an integer of " + bits + " bits" : "an object";
    }
    void check_forms(const form *forms, std::size_t n) const
    {
        neso_param p = detail::sized<neso_param>();
        if (n != neso_kernel_param_count(get()))
            throw error(NESO_INVALID, name() + " takes " + std::to_string(neso_kernel_param_count(get())) + " values, and got " +
                                          std::to_string(n));
        for (std::size_t i = 0; i < n; i++) {
            if (!neso_kernel_param(get(), i, &p))
                continue;
            const std::string what = std::string("'") + p.name + "' is " + p.type;
            if (static_cast<std::size_t>(p.bytes) != forms[i].bytes)
                throw error(NESO_INVALID, what + ", of " + std::to_string(p.bytes) + " bytes, and got a value of " +
                                              std::to_string(forms[i].bytes));
            if (!fits(p.type, forms[i]))
                throw error(NESO_INVALID, what + ", and got " + described(forms[i]));
        }
    }
    template <typename... T>
    void launch_values(const neso_launch_options *options, const grid &g, void *stream, const T &...values) const
    {
        const void *args[] = {&values..., nullptr};
        neso_error e = detail::sized<neso_error>();
        neso_status status = neso_launch_with(get(), g.data(), stream, args, options, &e);
        if (status != NESO_OK)
            throw error(status, e.message);
    }
};

class module {
public:
    module() = default;
    module(neso_context *ctx, neso_module *owned) : ctx_(ctx), handle_(owned) {}
    neso_module *get() const noexcept { return handle_.get(); }

    // Returns the names of the module's kernels, without helper functions.
    std::vector<std::string> kernels() const
    {
        std::vector<std::string> list;
        while (const char *name = neso_module_entry(get(), list.size()))
            list.emplace_back(name);
        return list;
    }
    kernel compile(const std::string &name, const std::string &signature) const
    {
        neso_compile_options o = compile_options();
        o.signature = signature.c_str();
        return compile(name, o);
    }
    kernel compile(const std::string &name, const neso_compile_options &options) const
    {
        neso_kernel *k = nullptr;
        detail::require(ctx_, neso_kernel_compile(get(), name.c_str(), &options, &k));
        return kernel(ctx_, k);
    }

private:
    neso_context *ctx_ = nullptr;
    detail::handle<neso_module> handle_;
};

class context {
public:
    // Creates a context without a device, which suffices to compile.
    context() : context(context_options()) {}
    explicit context(const neso_context_options &options)
    {
        neso_context *ctx = nullptr;
        detail::require(nullptr, neso_context_create(&options, &ctx));
        handle_.reset(ctx);
    }
    // Creates a context with a device: "best", "cuda", "cuda:1", "interpreter" or "emulator". cuda_context is a
    // CUcontext; null: the device's primary context.
    explicit context(const std::string &device, void *cuda_context = nullptr) : context() { use_device(device, cuda_context); }
    neso_context *get() const noexcept { return handle_.get(); }

    void use_device(const std::string &device, void *cuda_context = nullptr)
    {
        detail::require(get(), neso_context_use_device(get(), device.c_str(), cuda_context));
    }
    std::string device() const { return neso_context_device(get()); }
    std::string device_text() const { return neso_context_device_text(get()); }
    void synchronize(void *stream = nullptr) const { detail::require(get(), neso_synchronize(get(), stream)); }

    neso::module module(const std::string &name, std::string_view text) const
    {
        neso_module *m = nullptr;
        detail::require(get(), neso_module_from_source(get(), name.c_str(), text.data(), text.size(), &m));
        return neso::module(get(), m);
    }
    // Returns the kernels of a bundle as a module; afterwards the context compiles nothing.
    neso::module bundle(const std::string &name, std::string_view text) const
    {
        neso_module *m = nullptr;
        detail::require(get(), neso_context_use_bundle(get(), name.c_str(), text.data(), text.size()));
        detail::require(get(), neso_module_from_bundle(get(), &m));
        return neso::module(get(), m);
    }

private:
    detail::handle<neso_context> handle_;
};

// Memory of a context's device: `count` elements. The context must outlive the buffer.
template <typename T> class buffer {
    static_assert(std::is_trivially_copyable_v<T>, "elements are copied as bytes");

public:
    buffer(const context &ctx, std::size_t count) : ctx_(ctx.get()), count_(count)
    {
        detail::require(ctx_, neso_memory_allocate(ctx_, count * sizeof(T), &address_));
    }
    buffer(const buffer &) = delete;
    buffer &operator=(const buffer &) = delete;
    buffer(buffer &&from) noexcept { *this = std::move(from); }
    buffer &operator=(buffer &&from) noexcept
    {
        std::swap(ctx_, from.ctx_);
        std::swap(address_, from.address_);
        std::swap(count_, from.count_);
        return *this;
    }
    ~buffer()
    {
        if (address_)
            neso_memory_release(ctx_, address_);
    }
    std::uint64_t address() const noexcept { return address_; }
    std::size_t size() const noexcept { return count_; }
    void write(const std::vector<T> &from)
    {
        if (from.size() > count_)
            throw error(NESO_INVALID, "more elements than the buffer has");
        detail::require(ctx_, neso_memory_write(ctx_, address_, from.data(), from.size() * sizeof(T)));
    }
    std::vector<T> read() const
    {
        std::vector<T> to(count_);
        detail::require(ctx_, neso_memory_read(ctx_, to.data(), address_, count_ * sizeof(T)));
        return to;
    }

private:
    neso_context *ctx_ = nullptr;
    std::uint64_t address_ = 0;
    std::size_t count_ = 0;
};

} // namespace neso

#endif
