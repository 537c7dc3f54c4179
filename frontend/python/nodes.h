/* SPDX-License-Identifier: MIT */
/* nodes.h: every kind of node of the syntax tree, and every operator, one row each. A file defines NODE and the
 * field macros, or OPERATOR, and then includes this table; see ast.h.
 *
 *   NODE(kind, member, fields)
 *
 *   kind     the enumerator is AST_kind; ast_print prints the kind
 *   member   n->member.field; differs from the kind if that word is a keyword of C or C++, or a macro of C
 *   fields   in source order, which is also the order in which ast_print prints them:
 *     EXPR(x)   a node, NULL where the source has none      LIST(x)   nodes, in order
 *     BODY(x)   statements, in order (empty: no such part)  NAME(x)   an interned name, and its place x_loc; may be NULL
 *     OPER(x)   an operator, and its place x_loc            FLAG(x)   bool
 *     WORD(x)   an interned name, dotted perhaps            NUMBER(x) int
 *     BIGINT(x) struct ast_int                              REAL(x)   double
 *     BYTES(x)  struct ast_bytes                            FORM(x)   enum ast_form
 *     ROLE(x)   enum ast_role                               RANGE(x)  struct ast_range
 *
 *   OPERATOR(name, spelling, precedence, class)
 *
 *   OPER_name; a higher precedence binds tighter; class is binary, unary, compare or boolean. */

#ifdef NODE
/* -- statements -- */
NODE(module,      module,      BODY(body))
NODE(eval,        eval,        EXPR(value))                      /* an expression that is a statement */
NODE(assign,      assign,      LIST(targets) EXPR(value))        /* a = b = value has two targets */
NODE(augmented,   augmented,   EXPR(target) OPER(op) EXPR(value)) /* op is the binary operator: `add` for += */
NODE(annotated,   annotated,   EXPR(target) EXPR(annotation) EXPR(value))
NODE(def,         def,         LIST(decorators) FLAG(is_async) NAME(name) LIST(params) EXPR(returns) RANGE(text) BODY(body))
NODE(class,       klass,       LIST(decorators) NAME(name) LIST(args) BODY(body)) /* args are as in a call */
NODE(if,          if_,         EXPR(test) BODY(body) BODY(orelse)) /* for elif, orelse contains one `if` */
NODE(for,         for_,        FLAG(is_async) EXPR(target) EXPR(iter) BODY(body) BODY(orelse))
NODE(while,       while_,      EXPR(test) BODY(body) BODY(orelse))
NODE(with,        with,        FLAG(is_async) LIST(items) BODY(body)) /* items are with_item nodes */
NODE(with_item,   with_item,   EXPR(context) EXPR(target))
NODE(try,         try_,        BODY(body) LIST(handlers) BODY(orelse) BODY(final)) /* handlers are except nodes */
NODE(except,      except,      FLAG(is_group) EXPR(type) NAME(name) BODY(body)) /* is_group: `except*` */
NODE(raise,       raise,       EXPR(value) EXPR(cause))
NODE(assert,      assert_,     EXPR(test) EXPR(message))
NODE(del,         del,         LIST(targets))
NODE(import,      import,      LIST(names))                      /* names are alias nodes */
NODE(import_from, import_from, NUMBER(level) WORD(module) LIST(names)) /* level: leading dots; module may be NULL */
NODE(alias,       alias,       WORD(name) NAME(as))              /* name may be dotted, or "*" */
NODE(global,      global,      LIST(names))                      /* names are name nodes */
NODE(nonlocal,    nonlocal,    LIST(names))
NODE(return,      return_,     EXPR(value))
NODE(pass,        pass,        )
NODE(break,       break_,      )
NODE(continue,    continue_,   )

/* -- parts of calls and definitions -- */
NODE(param,       param,       ROLE(role) NAME(name) EXPR(annotation) EXPR(value)) /* value is the default */
NODE(keyword,     keyword,     NAME(name) EXPR(value))           /* name=value, or **value if name is NULL */
NODE(starred,     starred,     EXPR(value))                      /* *value in a call, display or target */

/* -- expressions -- */
NODE(name,        name,        WORD(id))
NODE(none,        none,        )
NODE(true,        true_,       )
NODE(false,       false_,      )
NODE(ellipsis,    ellipsis,    )
NODE(int,         integer,     BIGINT(value))
NODE(float,       real,        REAL(value))
NODE(imaginary,   imaginary,   REAL(value))
NODE(str,         str,         BYTES(value))                     /* in UTF-8; adjacent literals are one node */
NODE(bytes,       bytes,       BYTES(value))
NODE(fstring,     fstring,     LIST(parts))                      /* parts are str and field nodes */
NODE(field,       field,       EXPR(value) NUMBER(conversion) EXPR(spec)) /* conversion: 0, 'r', 's', 'a'; spec: fstring */
NODE(tuple,       tuple,       LIST(items))
NODE(list,        list,        LIST(items))
NODE(set,         set,         LIST(items))
NODE(dict,        dict,        LIST(items))                      /* items are pair nodes */
NODE(pair,        pair,        EXPR(key) EXPR(value))            /* key is NULL for **value */
NODE(comprehension, comprehension, FORM(form) EXPR(element) LIST(clauses)) /* a dict's element is a pair */
NODE(clause,      clause,      FLAG(is_async) EXPR(target) EXPR(iter) LIST(tests)) /* for target in iter if ... */
NODE(lambda,      lambda,      LIST(params) EXPR(body))
NODE(conditional, conditional, EXPR(then) EXPR(test) EXPR(orelse))
NODE(boolean,     boolean,     OPER(op) LIST(operands))          /* `a and b and c` is one node */
NODE(compare,     compare,     EXPR(left) LIST(links))           /* links are link nodes: a < b <= c has two */
NODE(link,        link,        OPER(op) EXPR(right))
NODE(binary,      binary,      EXPR(left) OPER(op) EXPR(right))
NODE(unary,       unary,       OPER(op) EXPR(operand))
NODE(walrus,      walrus,      EXPR(target) EXPR(value))         /* target is a name node */
NODE(call,        call,        EXPR(func) LIST(args))            /* args: expressions, starred, keyword nodes */
NODE(attribute,   attribute,   EXPR(value) NAME(name))
NODE(subscript,   subscript,   EXPR(value) EXPR(index))          /* index may be a slice, or a tuple with slices */
NODE(slice,       slice,       EXPR(lower) EXPR(upper) EXPR(step))
NODE(await,       await,       EXPR(value))
NODE(yield,       yield,       FLAG(is_from) EXPR(value))
#endif

#ifdef OPERATOR
OPERATOR(or,        "or",      1,  boolean)
OPERATOR(and,       "and",     2,  boolean)
OPERATOR(not,       "not",     3,  unary)
OPERATOR(eq,        "==",      4,  compare)
OPERATOR(ne,        "!=",      4,  compare)
OPERATOR(lt,        "<",       4,  compare)
OPERATOR(le,        "<=",      4,  compare)
OPERATOR(gt,        ">",       4,  compare)
OPERATOR(ge,        ">=",      4,  compare)
OPERATOR(in,        "in",      4,  compare)
OPERATOR(not_in,    "not in",  4,  compare)
OPERATOR(is,        "is",      4,  compare)
OPERATOR(is_not,    "is not",  4,  compare)
OPERATOR(bitor,     "|",       5,  binary)
OPERATOR(xor,       "^",       6,  binary)
OPERATOR(bitand,    "&",       7,  binary)
OPERATOR(shl,       "<<",      8,  binary)
OPERATOR(shr,       ">>",      8,  binary)
OPERATOR(add,       "+",       9,  binary)
OPERATOR(sub,       "-",       9,  binary)
OPERATOR(mul,       "*",       10, binary)
OPERATOR(matmul,    "@",       10, binary)
OPERATOR(div,       "/",       10, binary)
OPERATOR(floordiv,  "//",      10, binary)
OPERATOR(mod,       "%",       10, binary)
OPERATOR(plus,      "+",       11, unary)
OPERATOR(neg,       "-",       11, unary)
OPERATOR(invert,    "~",       11, unary)
OPERATOR(pow,       "**",      12, binary)
#endif
