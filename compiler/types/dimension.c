/* Dimension: polynomials with whole coefficients, interned.
 *
 * Terms are sorted by their atoms' identities, atoms within a term likewise, zero terms left out;
 * so two dimensions are equal exactly when they look alike, up to what quotients hide. */
#include "compiler/types/dimension.h"

#include <string.h>

enum { ATOM_LIMIT = 8, TERM_LIMIT = 32 };

typedef struct Atom {
    int id;           /* in order of creation */
    const char *name; /* of a symbol; NULL: a quotient */
    int64_t bound;
    bool batch;
    int bounded;           /* 1 + the number of one whose value each run chooses; else 0 */
    Dim dividend, divisor; /* of a quotient */
} Atom;

typedef struct Term {
    int64_t coefficient;
    int64_t count; /* of atoms; as wide as the rest, so that terms have no padding to differ in */
    const Atom *atoms[ATOM_LIMIT];
} Term;

struct Dimension {
    int count;
    Term terms[];
};

/* A dimension under construction. Terms past count are not set. */
typedef struct Sum {
    int count;
    Term terms[TERM_LIMIT];
} Sum;

Dimensions *dimensions_new(Arena *arena) {
    Dimensions *table = arena_new_item(arena, Dimensions);
    table->arena = arena;
    table->interned = map_new(arena);
    return table;
}

/* The batch, then the order of creation: that of a graph's text too. */
static bool comes_before(const Atom *a, const Atom *b) {
    return a->batch != b->batch ? a->batch : a->id < b->id;
}

static int compare_atoms(const Term *a, const Term *b) {
    for (int i = 0; i < a->count && i < b->count; i++)
        if (a->atoms[i] != b->atoms[i]) return comes_before(a->atoms[i], b->atoms[i]) ? -1 : 1;
    return b->count - a->count; /* more atoms first: constants end the sum */
}

/* Adds the term to the sum in its place. False at a limit. */
static bool add_term(Sum *sum, const Term *term) {
    int at = 0;
    while (at < sum->count && compare_atoms(&sum->terms[at], term) < 0) at++;
    if (at < sum->count && !compare_atoms(&sum->terms[at], term)) {
        Term *same = &sum->terms[at];
        if (__builtin_add_overflow(same->coefficient, term->coefficient, &same->coefficient))
            return false;
        if (same->coefficient) return true;
        memmove(same, same + 1, sizeof(Term) * (size_t)(--sum->count - at));
        return true;
    }
    if (sum->count == TERM_LIMIT) return false;
    memmove(&sum->terms[at + 1], &sum->terms[at], sizeof(Term) * (size_t)(sum->count++ - at));
    sum->terms[at] = *term;
    return true;
}

static Dim intern(Dimensions *table, const Sum *sum) {
    size_t size = sizeof(Term) * (size_t)sum->count;
    Dim known = map_get_bytes(&table->interned, sum->terms, size);
    if (known) return known;
    struct Dimension *dim = arena_allocate(table->arena, sizeof *dim + size);
    dim->count = sum->count;
    memcpy(dim->terms, sum->terms, size);
    map_put_bytes(&table->interned, dim->terms, size, dim);
    return dim;
}

/* A number, without symbols that can only be 1. */
static bool is_plain(Dim dim) {
    return !dim->count || (dim->count == 1 && !dim->terms[0].count);
}

static int64_t plain_value(Dim dim) {
    return dim->count ? dim->terms[0].coefficient : 0;
}

Dim dim_constant(Dimensions *table, int64_t value) {
    Dim *recent = &table->recent[(uint64_t)value % DIMENSIONS_RECENT];
    if (*recent && plain_value(*recent) == value) return *recent;
    Sum sum;
    sum.count = value != 0;
    sum.terms[0] = (Term){.coefficient = value};
    return *recent = intern(table, &sum);
}

static Dim intern_atom(Dimensions *table, const Atom *atom) {
    Sum sum;
    sum.count = 1;
    sum.terms[0] = (Term){1, 1, {atom}};
    return intern(table, &sum);
}

Dim dim_symbol(Dimensions *table, const char *name, int64_t bound, bool batch) {
    Atom *atom = arena_new_item(table->arena, Atom);
    *atom = (Atom){table->symbol_count++, name, bound, batch, 0, NULL, NULL};
    return intern_atom(table, atom);
}

Dim dim_bounded(Dimensions *table, const char *name, int64_t bound) {
    Atom *atom = arena_new_item(table->arena, Atom);
    *atom = (Atom){.id = table->symbol_count++,
                   .name = name,
                   .bound = bound,
                   .bounded = ++table->bounded_count};
    return intern_atom(table, atom);
}

/* Which of the term's atoms is a quotient whose divisor divides the coefficient, as in 4*(H/2);
 * -1: none. */
static int find_reducible(const Term *term) {
    int64_t divisor;
    for (int i = 0; i < term->count; i++)
        if (term->atoms[i]->divisor && dim_is_constant(term->atoms[i]->divisor, &divisor) &&
            term->coefficient % divisor == 0)
            return i;
    return -1;
}

/* The term with that quotient's dividend in its place: 2*H. */
static Dim reduce_term(Dimensions *table, const Term *term, int at) {
    int64_t divisor = 1;
    Sum rest = {.count = 1, .terms = {*term}};
    Term *left = &rest.terms[0];
    dim_is_constant(term->atoms[at]->divisor, &divisor);
    left->coefficient /= divisor;
    memmove(&left->atoms[at], &left->atoms[at + 1],
            sizeof(Atom *) * (size_t)(left->count - at - 1));
    left->atoms[--left->count] = NULL;
    return dim_multiply(table, intern(table, &rest), term->atoms[at]->dividend);
}

/* A sum without such terms. NULL at a limit. */
static Dim reduce(Dimensions *table, const Sum *sum) {
    for (int i = 0; i < sum->count; i++) {
        int at = find_reducible(&sum->terms[i]);
        if (at < 0) continue;
        Sum others = *sum;
        memmove(&others.terms[i], &others.terms[i + 1],
                sizeof(Term) * (size_t)(--others.count - i));
        Dim reduced = reduce_term(table, &sum->terms[i], at);
        return reduced ? dim_add(table, reduced, intern(table, &others)) : NULL;
    }
    return intern(table, sum);
}

static Dim within_limit(Dimensions *table, const Sum *sum) {
    Dim dim = reduce(table, sum);
    if (!dim) return NULL;
    int64_t bound = dim_bound(dim);
    return bound == SIZE_UNKNOWN || bound <= DIMENSION_LIMIT ? dim : NULL;
}

static Dim plain_sum(Dimensions *table, int64_t a, int64_t b) {
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum) || sum > DIMENSION_LIMIT) return NULL;
    return dim_constant(table, sum);
}

static Dim plain_product(Dimensions *table, int64_t a, int64_t b) {
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product) || product > DIMENSION_LIMIT) return NULL;
    return dim_constant(table, product);
}

Dim dim_add(Dimensions *table, Dim a, Dim b) {
    if (is_plain(a) && is_plain(b)) return plain_sum(table, plain_value(a), plain_value(b));
    Sum sum;
    sum.count = a->count;
    memcpy(sum.terms, a->terms, sizeof(Term) * (size_t)a->count);
    for (int i = 0; i < b->count; i++)
        if (!add_term(&sum, &b->terms[i])) return NULL;
    return within_limit(table, &sum);
}

Dim dim_subtract(Dimensions *table, Dim a, Dim b) {
    Dim negative = dim_multiply(table, b, dim_constant(table, -1));
    return negative ? dim_add(table, a, negative) : NULL;
}

/* The product of two terms, atoms merged in order. False at a limit. */
static bool multiply_terms(const Term *a, const Term *b, Term *product) {
    *product = (Term){0};
    if (__builtin_mul_overflow(a->coefficient, b->coefficient, &product->coefficient)) return false;
    if (a->count + b->count > ATOM_LIMIT) return false;
    for (int i = 0, j = 0; i < a->count || j < b->count;) {
        bool first = j == b->count || (i < a->count && !comes_before(b->atoms[j], a->atoms[i]));
        const Atom *atom = first ? a->atoms[i++] : b->atoms[j++];
        if (atom->bound != 1) product->atoms[product->count++] = atom;
    }
    return true;
}

static Dim product_of_terms(Dimensions *table, Dim a, Dim b) {
    Sum sum;
    sum.count = 0;
    for (int i = 0; i < a->count; i++)
        for (int j = 0; j < b->count; j++) {
            Term product;
            if (!multiply_terms(&a->terms[i], &b->terms[j], &product)) return NULL;
            if (!add_term(&sum, &product)) return NULL;
        }
    return within_limit(table, &sum);
}

Dim dim_multiply(Dimensions *table, Dim a, Dim b) {
    if (dim_is_one(a)) return b;
    if (dim_is_one(b)) return a;
    if (is_plain(a) && is_plain(b)) return plain_product(table, plain_value(a), plain_value(b));
    const size_t at = ((uintptr_t)a / 16 * 31 + (uintptr_t)b / 16) % DIMENSIONS_RECENT;
    if (table->products[at].a != a || table->products[at].b != b) {
        Dim product = product_of_terms(table, a, b); /* which multiplies, too */
        table->products[at].a = a, table->products[at].b = b;
        table->products[at].product = product;
    }
    return table->products[at].product;
}

/* a / b for a one-term b that divides every term of a. */
static bool divide_terms(Dim a, const Term *b, Sum *sum) {
    for (int i = 0; i < a->count; i++) {
        Term term = a->terms[i];
        if (term.coefficient % b->coefficient) return false;
        term.coefficient /= b->coefficient;
        for (int j = 0; j < b->count; j++) {
            int at = 0;
            while (at < term.count && term.atoms[at] != b->atoms[j]) at++;
            if (at == term.count) return false;
            memmove(&term.atoms[at], &term.atoms[at + 1],
                    sizeof(Atom *) * (size_t)(term.count - at - 1));
            term.atoms[--term.count] = NULL;
        }
        if (!add_term(sum, &term)) return false;
    }
    return true;
}

static Dim quotient(Dimensions *table, Dim a, Dim b) {
    const void *key[3] = {"quotient", a, b};
    Atom *atom = map_get_bytes(&table->interned, key, sizeof key);
    if (!atom) {
        int64_t bound = dim_bound(a), divisor = 1;
        if (dim_is_constant(b, &divisor) && bound != SIZE_UNKNOWN) bound /= divisor;
        atom = arena_new_item(table->arena, Atom);
        *atom = (Atom){.id = table->symbol_count++, .bound = bound, .dividend = a, .divisor = b};
        map_put_bytes(&table->interned, key, sizeof key, atom);
    }
    return intern_atom(table, atom);
}

Dim dim_divide(Dimensions *table, Dim a, Dim b) {
    int64_t value;
    if (!b->count || (dim_is_constant(b, &value) && value <= 0)) return NULL;
    Sum sum;
    sum.count = 0;
    if (b->count == 1 && divide_terms(a, &b->terms[0], &sum)) return intern(table, &sum);
    if (a == b) return dim_constant(table, 1);
    if (dim_is_constant(a, &value) && dim_is_constant(b, &value)) return NULL;
    return quotient(table, a, b);
}

static const Atom *lone_atom(Dim dim) {
    const Term *term = dim->terms;
    if (dim->count != 1 || term->count != 1 || term->coefficient != 1) return NULL;
    return term->atoms[0];
}

bool dim_is_constant(Dim dim, int64_t *value) {
    if (!is_plain(dim)) {
        const Atom *atom = lone_atom(dim);
        if (!atom || !atom->name || atom->bound != 1) return false;
    }
    *value = plain_value(dim);
    return true;
}

bool dim_is_one(Dim dim) {
    int64_t value;
    return dim_is_constant(dim, &value) && value == 1;
}

bool dim_is_symbol(Dim dim) {
    return dim_symbol_name(dim) != NULL;
}

const char *dim_symbol_name(Dim dim) {
    const Atom *atom = lone_atom(dim);
    return atom ? atom->name : NULL;
}

bool dim_is_batch(Dim dim) {
    const Atom *atom = lone_atom(dim);
    return atom && atom->batch;
}

int dim_bounded_number(Dim dim) {
    const Atom *atom = lone_atom(dim);
    return atom ? atom->bounded - 1 : -1;
}

static void note_batch(Dim symbol, void *found) {
    *(bool *)found |= dim_is_batch(symbol);
}

bool dim_counts_records(Dim dim) {
    bool found = false;
    dim_each_symbol(dim, note_batch, &found);
    return found;
}

typedef struct SymbolKinds {
    bool bounded, other;
} SymbolKinds;

static void note_kind(Dim symbol, void *context) {
    SymbolKinds *kinds = context;
    if (dim_bounded_number(symbol) >= 0) kinds->bounded = true;
    else kinds->other = true;
}

bool dim_is_bounded(Dim dim) {
    SymbolKinds kinds = {0};
    dim_each_symbol(dim, note_kind, &kinds);
    return kinds.bounded && !kinds.other;
}

/* Terms with a negative coefficient count with their smallest value, atoms being at least 1. */
int64_t dim_bound(Dim dim) {
    int64_t total = 0;
    for (int i = 0; i < dim->count; i++) {
        const Term *term = &dim->terms[i];
        int64_t product = term->coefficient;
        for (int j = 0; j < term->count && term->coefficient > 0; j++) {
            if (term->atoms[j]->bound == SIZE_UNKNOWN) return SIZE_UNKNOWN;
            if (__builtin_mul_overflow(product, term->atoms[j]->bound, &product))
                return SIZE_UNKNOWN;
        }
        if (__builtin_add_overflow(total, product, &total)) return SIZE_UNKNOWN;
    }
    return total;
}

/* Room for a symbol that is shown to a callback only. */
typedef struct SymbolRoom {
    _Alignas(Term) char bytes[sizeof(struct Dimension) + sizeof(Term)];
} SymbolRoom;

static Dim symbol_in(SymbolRoom *room, const Atom *atom) {
    struct Dimension *symbol = (struct Dimension *)room->bytes;
    symbol->count = 1;
    symbol->terms[0] = (Term){1, 1, {atom}};
    return symbol;
}

static int64_t evaluate_atom(const Atom *atom, int64_t (*value)(Dim, const void *),
                             const void *context) {
    SymbolRoom room;
    if (atom->bound == 1) return 1;
    if (atom->name) return value(symbol_in(&room, atom), context);
    int64_t divisor = dim_evaluate(atom->divisor, value, context);
    return divisor ? dim_evaluate(atom->dividend, value, context) / divisor : 0;
}

int64_t dim_evaluate(Dim dim, int64_t (*value)(Dim symbol, const void *context),
                     const void *context) {
    int64_t total = 0;
    for (int i = 0; i < dim->count; i++) {
        int64_t product = dim->terms[i].coefficient;
        for (int j = 0; j < dim->terms[i].count; j++)
            product *= evaluate_atom(dim->terms[i].atoms[j], value, context);
        total += product;
    }
    return total;
}

static void each_symbol_of_atom(const Atom *atom, void (*visit)(Dim, void *), void *context) {
    SymbolRoom room;
    if (atom->name) {
        visit(symbol_in(&room, atom), context);
        return;
    }
    dim_each_symbol(atom->dividend, visit, context);
    dim_each_symbol(atom->divisor, visit, context);
}

void dim_each_symbol(Dim dim, void (*visit)(Dim symbol, void *context), void *context) {
    for (int i = 0; i < dim->count; i++)
        for (int j = 0; j < dim->terms[i].count; j++)
            each_symbol_of_atom(dim->terms[i].atoms[j], visit, context);
}

static void each_quotient_of_atom(const Atom *atom, void (*visit)(Dim, Dim, void *),
                                  void *context) {
    if (atom->name) return;
    visit(atom->dividend, atom->divisor, context);
    dim_each_quotient(atom->dividend, visit, context);
    dim_each_quotient(atom->divisor, visit, context);
}

void dim_each_quotient(Dim dim, void (*visit)(Dim, Dim, void *), void *context) {
    for (int i = 0; i < dim->count; i++)
        for (int j = 0; j < dim->terms[i].count; j++)
            each_quotient_of_atom(dim->terms[i].atoms[j], visit, context);
}

/* How a dimension is printed. */
typedef struct DimPrinter {
    SymbolName *name;
    void *context;
    Text *text;
} DimPrinter;

static void print(const DimPrinter *printer, Dim dim);

static void print_bracketed(const DimPrinter *printer, Dim dim, bool bracketed) {
    if (bracketed) text_add(printer->text, "(");
    print(printer, dim);
    if (bracketed) text_add(printer->text, ")");
}

/* One number or one name: needs no brackets anywhere. */
static bool is_single(Dim dim) {
    int64_t value;
    return dim_is_symbol(dim) || (dim_is_constant(dim, &value) && value >= 0);
}

static void print_atom(const DimPrinter *printer, const Atom *atom) {
    SymbolRoom room;
    if (atom->name) {
        const char *name = printer->name(symbol_in(&room, atom), printer->context);
        text_add(printer->text, atom->bound == 1 ? "1" : name);
        return;
    }
    print_bracketed(printer, atom->dividend, atom->dividend->count > 1);
    text_add(printer->text, "/");
    print_bracketed(printer, atom->divisor, !is_single(atom->divisor));
}

/* A factor that follows another: 3*(H/2) is not (3*H)/2. */
static void print_factor(const DimPrinter *printer, const Atom *atom, bool follows) {
    bool bracketed = follows && !atom->name;
    if (bracketed) text_add(printer->text, "(");
    print_atom(printer, atom);
    if (bracketed) text_add(printer->text, ")");
}

static void print(const DimPrinter *printer, Dim dim) {
    Text *text = printer->text;
    if (!dim->count) text_add(text, "0");
    for (int i = 0; i < dim->count; i++) {
        const Term *term = &dim->terms[i];
        int64_t size = term->coefficient;
        if (i) text_add(text, size < 0 ? " - " : " + ");
        if (i && size < 0) size = -size;
        if (!term->count || size != 1) text_format(text, "%lld", (long long)size);
        for (int j = 0; j < term->count; j++) {
            bool follows = j || size != 1;
            if (follows) text_add(text, "*");
            print_factor(printer, term->atoms[j], follows);
        }
    }
}

static const char *own_name(Dim symbol, void *context) {
    (void)context;
    return dim_symbol_name(symbol);
}

void dim_print_as(Dim dim, SymbolName *name, void *context, Text *text) {
    print(&(DimPrinter){name, context, text}, dim);
}

void dim_print(Dim dim, Text *text) {
    dim_print_as(dim, own_name, NULL, text);
}

const char *dim_text(Arena *arena, Dim dim) {
    Text text = text_new(arena);
    dim_print(dim, &text);
    return text_string(&text);
}
