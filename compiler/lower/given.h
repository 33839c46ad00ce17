/* Given: the arguments of a call that makes something of a field. After a wrong one, which is reported, `broken`
 * is set and the rest is not looked at. */
#ifndef FLOW_LOWER_GIVEN_H
#define FLOW_LOWER_GIVEN_H

#include "compiler/lower/field.h"

enum { ARGUMENT_LIMIT = 8 };

/* What the call's parameters were given; parameters are a list that NULL ends, `required` of them have
 * no default. */
typedef struct Given {
    const FieldCall *call;
    const char *const *parameters;
    const Expression *values[ARGUMENT_LIMIT];
    bool broken;
} Given;

Given given_arguments(const FieldCall *call, const char *const *parameters, int required,
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

/* A text; value_error when it is none, or not given. */
Value given_string(Given *given, int which);

#endif
