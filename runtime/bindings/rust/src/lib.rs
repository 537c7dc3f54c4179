// SPDX-License-Identifier: MIT
//! Compiles and launches Triton kernels through `libneso`. `neso.h` documents each function.
use std::{ffi::{CStr, CString}, os::raw::{c_char, c_int, c_void}};
use std::{marker::PhantomData, ptr::{null, null_mut}};

type Ptr = *mut c_void;
type Const = *const c_void;
type Str = *const c_char;

/// neso_compile_options on a machine of 64 bits: zeros are the defaults. The library rejects a struct of another size.
#[repr(C)]
struct CompileOptions { size: usize, signature: Str, target: Str, others: [u64; 17] }
#[repr(C)]
struct Param { size: usize, name: Str, kind: Str, others: [c_int; 4] }
#[repr(C)]
struct LaunchError { size: usize, status: c_int, driver_code: c_int, message: [c_char; 496] }

extern "C" {
    fn neso_context_create(options: Const, context: *mut Ptr) -> c_int;
    fn neso_context_release(context: Ptr);
    fn neso_context_use_device(context: Ptr, device: Str, cuda: Ptr) -> c_int;
    fn neso_context_device_text(context: Const) -> Str;
    fn neso_context_use_bundle(context: Ptr, name: Str, text: Str, length: usize) -> c_int;
    fn neso_module_from_bundle(context: Ptr, module: *mut Ptr) -> c_int;
    fn neso_module_from_source(context: Ptr, name: Str, text: Str, length: usize, module: *mut Ptr) -> c_int;
    fn neso_module_release(module: Ptr);
    fn neso_error_text(context: Ptr) -> Str;
    fn neso_kernel_compile(module: Ptr, name: Str, options: *const CompileOptions, kernel: *mut Ptr) -> c_int;
    fn neso_kernel_release(kernel: Ptr);
    fn neso_kernel_text(kernel: Ptr, which: c_int, text: *mut Str, length: *mut usize) -> c_int;
    fn neso_kernel_param_count(kernel: Const) -> usize;
    fn neso_kernel_param(kernel: Const, index: usize, out: *mut Param) -> c_int;
    fn neso_launch(kernel: Ptr, grid: *const u32, stream: Ptr, args: *const Const, error: *mut LaunchError) -> c_int;
    fn neso_memory_allocate(context: Ptr, bytes: usize, address: *mut u64) -> c_int;
    fn neso_memory_release(context: Ptr, address: u64) -> c_int;
    fn neso_memory_write(context: Ptr, address: u64, from: Const, bytes: usize) -> c_int;
    fn neso_memory_read(context: Ptr, to: Ptr, address: u64, bytes: usize) -> c_int;
}

/// A failed call: the number of its status in neso.h (1 is NESO_INVALID), and the messages.
#[derive(Debug)]
pub struct Error { pub status: i32, pub text: String }
impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(&self.text) }
}
impl std::error::Error for Error {}
pub type Result<T> = std::result::Result<T, Error>;

fn invalid(text: String) -> Error { Error { status: 1, text } }
fn c_string(s: &str) -> Result<CString> { CString::new(s).map_err(|_| invalid(format!("{s:?} contains a 0"))) }
unsafe fn owned(s: Str) -> String { CStr::from_ptr(s).to_string_lossy().into_owned() }

struct Handle(Ptr, unsafe extern "C" fn(Ptr));
impl Drop for Handle {
    fn drop(&mut self) { unsafe { (self.1)(self.0) } }
}

/// A context with a device. Only one thread at a time may use the context and the objects made from it.
pub struct Context(Handle);
impl Context {
    /// `device` is "best", "cuda", "cuda:1", "emulator", "interpreter", or "": no device, which suffices to compile.
    pub fn new(device: &str) -> Result<Context> {
        let mut context = Context(Handle(null_mut(), neso_context_release));
        let status = unsafe { neso_context_create(null(), &mut context.0.0) };
        if status != 0 {
            return Err(Error { status, text: "no context".into() });
        }
        let name = c_string(device)?;
        if !device.is_empty() {
            context.check(unsafe { neso_context_use_device(context.0.0, name.as_ptr(), null_mut()) })?;
        }
        Ok(context)
    }
    fn check(&self, status: c_int) -> Result<()> {
        if status == 0 { Ok(()) } else { Err(Error { status, text: unsafe { owned(neso_error_text(self.0.0)) } }) }
    }
    pub fn device_text(&self) -> String { unsafe { owned(neso_context_device_text(self.0.0)) } }
    pub fn module(&self, name: &str, text: &str) -> Result<Module<'_>> {
        let (name, mut module) = (c_string(name)?, Module(Handle(null_mut(), neso_module_release), self));
        let at = text.as_ptr().cast();
        self.check(unsafe { neso_module_from_source(self.0.0, name.as_ptr(), at, text.len(), &mut module.0.0) })?;
        Ok(module)
    }
    /// Returns the kernels of a bundle; from then on, the context compiles nothing.
    pub fn bundle(&self, name: &str, text: &str) -> Result<Module<'_>> {
        let (name, mut module) = (c_string(name)?, Module(Handle(null_mut(), neso_module_release), self));
        self.check(unsafe { neso_context_use_bundle(self.0.0, name.as_ptr(), text.as_ptr().cast(), text.len()) })?;
        self.check(unsafe { neso_module_from_bundle(self.0.0, &mut module.0.0) })?;
        Ok(module)
    }
    /// Allocates memory of the device, and copies the elements to it.
    pub fn buffer<T: Number>(&self, values: &[T]) -> Result<Buffer<'_, T>> {
        let mut buffer = Buffer { address: 0, count: values.len(), context: self, of: PhantomData };
        let bytes = std::mem::size_of_val(values);
        self.check(unsafe { neso_memory_allocate(self.0.0, bytes, &mut buffer.address) })?;
        self.check(unsafe { neso_memory_write(self.0.0, buffer.address, values.as_ptr().cast(), bytes) })?;
        Ok(buffer)
    }
}

pub struct Module<'a>(Handle, &'a Context);
impl<'a> Module<'a> {
    /// Compiles a kernel. `signature` is as for `neso compile`; if `target` is None, compiles for the device's target.
    pub fn compile(&self, name: &str, signature: &str, target: Option<&str>) -> Result<Kernel<'a>> {
        let (name, signature, target) = (c_string(name)?, c_string(signature)?, target.map(c_string).transpose()?);
        let mut options: CompileOptions = unsafe { std::mem::zeroed() };
        options.size = std::mem::size_of::<CompileOptions>();
        options.signature = signature.as_ptr();
        options.target = target.as_ref().map_or(null(), |t| t.as_ptr());
        let mut kernel = Kernel(Handle(null_mut(), neso_kernel_release), self.1);
        self.1.check(unsafe { neso_kernel_compile(self.0.0, name.as_ptr(), &options, &mut kernel.0.0) })?;
        Ok(kernel)
    }
}

pub struct Kernel<'a>(Handle, &'a Context);
impl Kernel<'_> {
    pub fn ptx(&self) -> Result<String> {
        let mut text = null();
        self.1.check(unsafe { neso_kernel_text(self.0.0, 5, &mut text, null_mut()) })?; // NESO_TEXT_PTX
        Ok(unsafe { owned(text) })
    }
    /// Launches a grid on the default stream; each value must have the type of its parameter.
    ///
    /// # Safety
    /// The kernel must access only elements of its buffers. A GPU does not check this; the interpreter does.
    pub unsafe fn launch(&self, grid: [u32; 3], values: &[&dyn Value]) -> Result<()> {
        let (count, got) = (neso_kernel_param_count(self.0.0), values.len());
        if count != got {
            return Err(invalid(format!("the kernel takes {count} values, and got {got}")));
        }
        let mut args = Vec::new();
        for (i, value) in values.iter().enumerate() {
            let mut param: Param = std::mem::zeroed();
            param.size = std::mem::size_of::<Param>();
            neso_kernel_param(self.0.0, i, &mut param);
            let (kind, (expected, at)) = (owned(param.kind).replace("*k", "*"), value.form());
            let same = |kind: &str| kind.replace("fp16", "i16").replace("bf16", "i16").replace('u', "i");
            if same(&kind) != same(&expected) {
                return Err(invalid(format!("'{}' is {kind}, and got {expected}", owned(param.name))));
            }
            args.push(at);
        }
        let mut error: LaunchError = std::mem::zeroed();
        error.size = std::mem::size_of::<LaunchError>();
        let status = neso_launch(self.0.0, grid.as_ptr(), null_mut(), args.as_ptr(), &mut error);
        if status == 0 { Ok(()) } else { Err(Error { status, text: owned(error.message.as_ptr()) }) }
    }
}

pub struct Buffer<'a, T> {
    address: u64,
    count: usize,
    context: &'a Context,
    of: PhantomData<T>,
}
impl<T: Number> Buffer<'_, T> {
    pub fn read(&self) -> Result<Vec<T>> {
        let mut values = vec![T::default(); self.count];
        let (ctx, bytes) = (self.context, std::mem::size_of_val(&values[..]));
        ctx.check(unsafe { neso_memory_read(ctx.0.0, values.as_mut_ptr().cast(), self.address, bytes) })?;
        Ok(values)
    }
}
impl<T> Drop for Buffer<'_, T> {
    fn drop(&mut self) { unsafe { neso_memory_release(self.context.0.0, self.address) }; }
}

/// A value that a launch passes: a number or a buffer.
pub trait Value {
    /// Returns the value's type in a signature, and the address of its bits.
    fn form(&self) -> (String, Const);
}
/// The types of elements. u16 also represents fp16 and bf16.
pub trait Number: Copy + Default + Value {}
macro_rules! numbers {
    ($($t:ty: $name:literal)*) => { $(
        impl Value for $t {
            fn form(&self) -> (String, Const) { ($name.into(), (self as *const $t).cast()) }
        }
        impl Number for $t {}
    )* };
}
numbers! { i8: "i8" i16: "i16" i32: "i32" i64: "i64" u8: "u8" u16: "u16" u32: "u32" u64: "u64" f32: "fp32" f64: "fp64" }
impl<T: Number> Value for Buffer<'_, T> {
    fn form(&self) -> (String, Const) {
        (format!("*{}", T::default().form().0), (&self.address as *const u64).cast())
    }
}
