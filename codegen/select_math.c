/* select_math.c: elementary functions, one element at a time.
 *
 * Where the language asks for the hardware's approximation, that is one or two instructions.
 */
#include "codegen/select.h"

static struct opnd f32(float x)
{
    union {
        float f;
        uint32_t bits;
    } u = {.f = x};
    return opnd_int(CLASS_f32, u.bits);
}

static struct opnd exp_f32(struct select *s, struct opnd x)
{
    static const float log2_e = 0x1.715476p+0f;
    return emit1(s, form1(INSN_ex2, PT_f32, MOD_approx), emit2(s, form1(INSN_mul, PT_f32, MOD_rn), x, f32(log2_e)));
}

static struct opnd math_f32(struct select *s, const struct op *o, struct opnd x)
{
    bool exact = op_int(o, ATTR_round) == ROUND_rn;
    switch (o->code) {
    case OP_exp:   return exp_f32(s, x);
    case OP_exp2:  return emit1(s, form2(INSN_ex2, PT_f32, MOD_approx, MOD_ftz), x);
    case OP_sqrt:
        if (exact)
            return emit1(s, form1(INSN_sqrt, PT_f32, MOD_rn), x);
        return emit1(s, form2(INSN_sqrt, PT_f32, MOD_approx, MOD_ftz), x);
    case OP_rsqrt: return emit1(s, form2(INSN_rsqrt, PT_f32, MOD_approx, MOD_ftz), x);
    case OP_floor: return emit1(s, form_cvt(PT_f32, PT_f32, MOD_rmi), x);
    case OP_ceil:  return emit1(s, form_cvt(PT_f32, PT_f32, MOD_rpi), x);
    default:       select_unsupported(s, op_info[o->code].name);
    }
}

static struct opnd math_f64(struct select *s, const struct op *o, struct opnd x)
{
    switch (o->code) {
    case OP_sqrt:  return emit1(s, form1(INSN_sqrt, PT_f64, MOD_rn), x);
    case OP_floor: return emit1(s, form_cvt(PT_f64, PT_f64, MOD_rmi), x);
    case OP_ceil:  return emit1(s, form_cvt(PT_f64, PT_f64, MOD_rpi), x);
    default:       select_unsupported(s, op_info[o->code].name);
    }
}

struct opnd select_math(struct select *s, const struct op *o, const struct opnd *x)
{
    enum dtype dt = elem_dtype(op_result(o)->type);
    if (dt == DT_f64)
        return math_f64(s, o, x[0]);
    return narrow_from_f32(s, dt, math_f32(s, o, widen_to_f32(s, dt, x[0])), ROUND_rn);
}

struct opnd select_frem(struct select *s, enum dtype dt, const struct opnd *x)
{
    (void)dt;
    (void)x;
    select_unsupported(s, "remainder of floats");
}
