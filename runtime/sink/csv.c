/* csv: a table (RFC 4180, lines end in LF): a column for each element of a field, named x, or x[0],
 * x[1], …; of text one, in quotes where the text needs them. */
#include "runtime/sink/number.h"
#include "runtime/sink/writer.h"

#include <stdio.h>
#include <string.h>

static const NumberStyle style = {.comma = ","};

static void write_column_name(Output *output, const FlowSinkField *field, int64_t i) {
    char index[32];
    int64_t block = element_count(&field->type);
    output_text(output, field->name);
    for (int axis = 0; axis < field->type.rank && !field->text; axis++) {
        block /= field->type.sizes[axis];
        snprintf(index, sizeof index, "[%lld]", (long long)(i / block));
        output_text(output, index);
        i %= block;
    }
}

static void write_header(Output *output, const FlowSinkField *fields, int count) {
    for (int i = 0; i < count; i++) {
        int64_t columns = fields[i].text ? 1 : element_count(&fields[i].type);
        for (int64_t j = 0; j < columns; j++) {
            if (i || j) output_add(output, ",", 1);
            write_column_name(output, &fields[i], j);
        }
    }
    output_add(output, "\n", 1);
}

/* Spaces at an end are part of the text, and a row of one empty cell is no empty line. */
static bool needs_quotes(const char *text, size_t size) {
    if (!size || *text == ' ' || text[size - 1] == ' ') return true;
    for (size_t i = 0; i < size; i++)
        if (strchr(",\"\r\n", text[i])) return true; /* NUL too */
    return false;
}

static void write_text(Output *output, const char *text, size_t size) {
    bool quotes = needs_quotes(text, size);
    if (quotes) output_add(output, "\"", 1);
    for (const char *end = text + size; text < end;) {
        const char *quote = memchr(text, '"', (size_t)(end - text));
        const char *next = quote ? quote + 1 : end;
        output_add(output, text, (size_t)(next - text));
        if (quote) output_add(output, "\"", 1);
        text = next;
    }
    if (quotes) output_add(output, "\"", 1);
}

static void write_row(Output *output, const FlowSinkField *fields, int count, int64_t record) {
    for (int i = 0; i < count; i++) {
        const FlowSinkField *field = &fields[i];
        const char *value = value_of(field, record);
        if (i) output_add(output, ",", 1);
        if (field->text) write_text(output, value, text_size(field, value));
        else write_numbers(output, field->type.element, value, element_count(&field->type), style);
    }
    output_add(output, "\n", 1);
}

static FlowStatus csv_open(const FlowSinkArguments *arguments, const FlowSinkField *fields,
                           int count, int64_t records, FlowWriter **writer) {
    FlowStatus status = writer_open(arguments, fields, count, records, writer);
    if (!status.exit) write_header(&(*writer)->output, fields, count);
    return status;
}

static FlowStatus csv_write(FlowWriter *writer, int64_t first, int64_t records) {
    (void)first;
    for (int64_t i = 0; i < records; i++)
        write_row(&writer->output, writer->fields, writer->count, i);
    return output_pass(&writer->output);
}

const FlowSink flow_sink_csv = {"csv", csv_open, csv_write, writer_close, NULL};
