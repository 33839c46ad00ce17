/* Report: diagnostics on standard error, in the form that was asked for. */
#ifndef FLOW_DRIVER_REPORT_H
#define FLOW_DRIVER_REPORT_H

#include "compiler/driver/arguments.h"
#include "lang/diagnostic.h"

/* Whether there were any. */
bool report_diagnostics(const Arguments *arguments, const Diagnostics *diagnostics);

/* A file that can't be read or written. */
void report_file(const Arguments *arguments, const char *path, const char *why);

/* Whether --diagnostics names a form; false after printing that it does not. */
bool report_form_known(const Arguments *arguments);

#endif
