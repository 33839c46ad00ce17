/* jsonl: an object a line: {"x":1.5,"y":[[1,2],[3,4]],"name":"text"}. JSON has neither infinity nor
 * what is no number: they are null. */
#include "runtime/sink/number.h"
#include "runtime/sink/writer.h"

#include <stdio.h>

static const NumberStyle style = {.comma = ",", .special = "null"};

/* The bytes of the character at text: 1 to 4, or 0 when it is none in UTF-8. */
static size_t character_size(const unsigned char *text, size_t size) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = 0;
    if (text[0] < 0x80) return 1;
    if (text[0] >= 0xc0 && text[0] < 0xf8) length = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    if (!length || length > size) return 0;
    uint32_t code = text[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (text[i] >> 6 != 2) return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    bool surrogate = code >> 11 == 0x1b;
    return code >= least[length] && code <= 0x10ffff && !surrogate ? length : 0;
}

/* The first byte that is of no character; or size. */
static size_t valid_size(const char *text, size_t size) {
    size_t at = 0, length = 1;
    while (at < size && (length = character_size((const unsigned char *)text + at, size - at)))
        at += length;
    return at;
}

static bool is_plain(char c) {
    return (unsigned char)c >= ' ' && c != '"' && c != '\\';
}

static void write_escape(Output *output, char c) {
    char escape[8];
    if (c == '\n') snprintf(escape, sizeof escape, "\\n");
    else if (c == '"' || c == '\\') snprintf(escape, sizeof escape, "\\%c", c);
    else snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)c);
    output_text(output, escape);
}

static void write_string(Output *output, const char *text, size_t size) {
    output_add(output, "\"", 1);
    for (size_t at = 0; at < size;) {
        size_t begin = at;
        while (at < size && is_plain(text[at])) at++;
        output_add(output, text + begin, at - begin);
        if (at < size) write_escape(output, text[at++]);
    }
    output_add(output, "\"", 1);
}

static FlowStatus check_texts(const FlowWriter *writer, int64_t first, int64_t record) {
    for (int i = 0; i < writer->count; i++) {
        const FlowSinkField *field = &writer->fields[i];
        if (!field->text) continue;
        const char *text = value_of(field, record);
        size_t size = text_size(field, text), valid = valid_size(text, size);
        if (valid < size)
            return flow_failure(FLOW_EXIT_data,
                                "record %lld: `%s` is no UTF-8 from byte %zu on, so it is no text "
                                "in JSON",
                                (long long)(first + record), field->name, valid);
    }
    return flow_ok;
}

static void write_object(Output *output, const FlowSinkField *fields, int count, int64_t record) {
    for (int i = 0; i < count; i++) {
        const char *value = value_of(&fields[i], record);
        output_text(output, i ? ",\"" : "{\"");
        output_text(output, fields[i].name); /* an identifier */
        output_add(output, "\":", 2);
        if (fields[i].text) write_string(output, value, text_size(&fields[i], value));
        else write_tensor(output, &fields[i].type, value, style);
    }
    output_add(output, "}\n", 2);
}

static FlowStatus jsonl_write(FlowWriter *writer, int64_t first, int64_t records) {
    FlowStatus status = flow_ok;
    for (int64_t i = 0; i < records && !status.exit; i++) {
        status = check_texts(writer, first, i);
        if (!status.exit) write_object(&writer->output, writer->fields, writer->count, i);
    }
    FlowStatus passed = output_pass(&writer->output);
    return status.exit ? status : passed;
}

const FlowSink flow_sink_jsonl = {"jsonl", writer_open, jsonl_write, writer_close, NULL};
