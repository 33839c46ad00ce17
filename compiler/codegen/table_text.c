/* Table text: C literals of what a program says. */
#include "compiler/codegen/table_text.h"

#include "compiler/codegen/names.h"

const char *string_text(Printer *printer, const char *string) {
    return string_literal(printer->arena, string);
}

const char *number_text(Printer *printer, double value) {
    return number_literal(printer->arena, TYPE_f64, value);
}
