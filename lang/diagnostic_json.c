/* Diagnostics as JSON, for editors. */
#include "lang/diagnostic.h"

static void print_code_point(FILE *file, const char *text, uint32_t length) {
    unsigned char byte = (unsigned char)*text;
    if (!length) fputs("\\ufffd", file);
    else if (byte == '"' || byte == '\\') fprintf(file, "\\%c", byte);
    else if (byte == '\n') fputs("\\n", file);
    else if (byte < 0x20 || byte == 0x7F) fprintf(file, "\\u%04x", byte);
    else fwrite(text, 1, length, file);
}

/* Surrogates and what is longer than it needs to be are no text either. */
static bool is_sound(const unsigned char *bytes, uint32_t length) {
    if (length == 3 && bytes[0] == 0xE0) return bytes[1] >= 0xA0;
    if (length == 3 && bytes[0] == 0xED) return bytes[1] < 0xA0;
    if (length == 4 && bytes[0] == 0xF0) return bytes[1] >= 0x90;
    if (length == 4 && bytes[0] == 0xF4) return bytes[1] < 0x90;
    return true;
}

static void print_string(FILE *file, const char *text) {
    size_t size = strlen(text);
    fputc('"', file);
    for (size_t at = 0; at < size;) {
        uint32_t length = code_point_length(text + at, (uint32_t)(size - at));
        if (!is_sound((const unsigned char *)text + at, length)) length = 0;
        print_code_point(file, text + at, length);
        at += length ? length : 1;
    }
    fputc('"', file);
}

static void print_position(FILE *file, const char *name, const Source *source, uint32_t offset) {
    Position position = source_position(source, offset);
    fprintf(file, ", \"%s\": {\"line\": %u, \"column\": %u, \"byte\": %u}", name, position.line,
            position.column, offset);
}

static void print_place(FILE *file, Range range) {
    fputs("\"place\": ", file);
    if (!range.source) {
        fputs("null", file);
        return;
    }
    fputs("{\"file\": ", file);
    print_string(file, range.source->path);
    print_position(file, "begin", range.source, range.begin);
    print_position(file, "end", range.source, range.end);
    fputc('}', file);
}

static void print_notes(FILE *file, const Diagnostic *diagnostic) {
    fputs(", \"notes\": [", file);
    vector_each(const Note, note, diagnostic->notes) {
        fputs(note == diagnostic->notes.items ? "{\"message\": " : ", {\"message\": ", file);
        print_string(file, note->text);
        fputs(", ", file);
        print_place(file, note->range);
        fputc('}', file);
    }
    fputc(']', file);
}

void diagnostic_print_json(const Diagnostic *diagnostic, FILE *file) {
    fprintf(file, "{\"code\": \"%s\", \"severity\": \"error\", \"title\": ",
            error_name(diagnostic->code));
    print_string(file, error_title(diagnostic->code));
    fputs(", \"message\": ", file);
    print_string(file, diagnostic->text);
    fputs(", ", file);
    print_place(file, diagnostic->range);
    print_notes(file, diagnostic);
    fputs(", \"help\": ", file);
    if (diagnostic->help) print_string(file, diagnostic->help);
    else fputs("null", file);
    fputs("}\n", file);
}
