/* Status: how a failure travels up to the one place that tells the user. */
#include "runtime/flow.h"

#include <stdarg.h>
#include <stdio.h>

const FlowStatus flow_ok = {.exit = FLOW_EXIT_ok};

/* File names may hold anything; a message stays one line and cannot command a terminal. */
static void replace_control_characters(char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127) *text = '?';
}

FlowStatus flow_failure(FlowExit exit, const char *format, ...) {
    FlowStatus status = {.exit = exit};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(status.text, sizeof status.text, format, arguments);
    va_end(arguments);
    replace_control_characters(status.text);
    return status;
}
