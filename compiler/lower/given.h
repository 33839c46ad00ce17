/* Given: the arguments of a stage, or of a call that makes something of a field, by name or by
 * place. After a wrong one, which is reported, `broken` is set and the rest is not looked at. */
#ifndef FLOW_LOWER_GIVEN_H
#define FLOW_LOWER_GIVEN_H

#include "compiler/lower/field.h"

enum { ARGUMENT_LIMIT = 8 };

/* What the call's parameters were given; parameters are a list that NULL ends. */
typedef struct Given {
    const Context *context;
    const Expression *call;
    const char *const *parameters;
    const Expression *values[ARGUMENT_LIMIT]; /* NULL: nothing */
    bool broken;
} Given;

/* `required` parameters have no default. */
Given given_arguments(const Context *context, const Expression *call, const char *const *parameters,
                      int required, const char *example);

/* The same of what stands behind the field. */
Given given_behind_field(const FieldCall *call, const char *const *parameters, int required,
                         const char *example);

Value given_value(Given *given, int which);

/* Reports that the argument is not `what`. */
void given_refuse(Given *given, int which, const Value *value, const char *what);

/* A whole number from least to most. */
double given_number(Given *given, int which, double otherwise, double least, double most);
bool given_truth(Given *given, int which, bool otherwise);

/* One of the texts, which NULL ends; the first if nothing is said. */
const char *given_choice(Given *given, int which, const char *const *texts);

/* A size of at least 1, perhaps one that a run chooses; NULL when it is wrong. */
Dim given_size(Given *given, int which);

/* How many records or tokens, in the same way: at least 1 with the largest sizes that a run may
 * choose, which looks at those it is given. */
Dim given_distance(Given *given, int which, Dim otherwise);

/* A text; value_error when it is none, or not given. */
Value given_string(Given *given, int which);

#endif
