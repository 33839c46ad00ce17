/* Status: how a failure travels up to the one place that tells the user. */
#include "runtime/flow.h"

#include <stdarg.h>
#include <stdio.h>

/* U+0080 to U+009F in UTF-8. */
static bool is_late_control(const char *text) {
    return (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] >= 0x80 &&
           (unsigned char)text[1] < 0xa0;
}

/* File names may hold anything; a message stays one line and cannot command a terminal. */
static void replace_control_characters(char *text) {
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 127) *text = '?';
        if (is_late_control(text)) text[0] = text[1] = '?';
    }
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
