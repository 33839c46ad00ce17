/* Picture: a field's bytes as an image: how it is decoded, resized and cut. */
#include "compiler/lower/given.h"
#include "compiler/lower/operation.h"

#include <math.h>
#include <string.h>

bool is_channels(int64_t channels) {
    return channels == 1 || channels == 3 || channels == 4;
}

bool is_random(const Picture *picture) {
    return picture->fit && !strcmp(picture->fit, "random");
}

static bool is_same_text(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

bool is_same_picture(const Picture *a, const Picture *b) {
    return is_same_text(a->fit, b->fit) && is_same_text(a->method, b->method) &&
           is_same_text(a->like, b->like) && a->antialias == b->antialias &&
           a->approximate == b->approximate && a->stream == b->stream &&
           a->channels == b->channels && a->height == b->height && a->width == b->width &&
           !memcmp(a->numbers, b->numbers, sizeof a->numbers);
}

/* Arguments. */

/* `[low, high]`, above 0 and at most `most`. */
static void pair_of(Given *given, int which, double most, double *pair) {
    if (given->broken || !given->values[which]) return;
    Value value = given_value(given, which);
    bool good = value.kind == VALUE_items && value.items.count == 2;
    for (int i = 0; good && i < 2; i++) {
        const Value *item = &value.items.values[i];
        good = item->kind == VALUE_number && item->number > 0 && item->number <= most;
        pair[i] = item->number;
    }
    if (!good || pair[0] > pair[1])
        given_refuse(given, which, &value,
                     most > 1 ? "two numbers above 0, the smaller first"
                              : "two numbers above 0 and at most 1, the smaller first");
}

/* `h` and `w`. */
static bool size_of(const FieldCall *call, Given *given, int which, Type *type) {
    *type = (Type){.element = TYPE_u8, .rank = 3};
    for (int i = 0; i < 2; i++) type->dims[i] = given_size(given, which + i);
    int channels = call->field.field->picture.channels;
    type->dims[2] = dim_constant(given->context->lowering->dimensions, channels ? channels : 3);
    return !given->broken;
}

/* `method`, `antialias`, `like`, `approximate`, from parameter `first` on. */
static bool choose_method(Given *given, int first, Picture *picture) {
    static const char *const methods[] = {"bilinear", "nearest", "bicubic", "area", NULL};
    static const char *const likes[] = {"pil", "tensorflow", NULL};
    picture->method = given_choice(given, first, methods);
    picture->antialias = given_truth(given, first + 1, true);
    picture->like = given_choice(given, first + 2, likes);
    picture->approximate = given_truth(given, first + 3, false);
    bool filters = !strcmp(picture->method, "bilinear") || !strcmp(picture->method, "bicubic");
    if (!given->broken && filters && !picture->antialias && !strcmp(picture->like, "pil")) {
        Diagnostic *d = report(given->context, E0211, given->values[first + 1]->range,
                               "Pillow always resizes with `antialias = true`");
        diagnostic_help(d, "`like = \"tensorflow\"`, or `method = \"nearest\"`");
        given->broken = true;
    }
    return !given->broken;
}

/* The value of the call: the field described anew and, as its size is known, of that type. */
static Value become_image(const FieldCall *call, Field *field, const Type *type) {
    field->picture.height = type->dims[0];
    field->picture.width = type->dims[1];
    Value value = become(call, field, FORM_image);
    return type_field(call->context, &value, *type, call->call->range);
}

/* Calls. */

Value lower_decode(const FieldCall *call) {
    static const char *const parameters[] = {"channels", NULL};
    if (!expect(call, FORM_feature, FORM_bytes, "the bytes of a field")) return value_error;
    Given given = given_behind_field(call, parameters, 0, "decode(jpg, channels = 1)");
    double channels = given_number(&given, 0, 0, 1, 4);
    if (!given.broken && given.values[0] && !is_channels((int64_t)channels)) {
        Diagnostic *d = report(call->context, E0211, given.values[0]->range,
                               "an image has 1, 3 or 4 channels, not %d", (int)channels);
        diagnostic_help(d, "1: grey; 3: red, green, blue; 4: and opacity");
        given.broken = true;
    }
    if (given.broken) return value_error;
    Field *field = describe(call);
    const char *name = call->call->name.text;
    field->decoder = !strcmp(name, "decode_jpeg")  ? "jpeg"
                     : !strcmp(name, "decode_png") ? "png"
                                                   : "any";
    field->placement = call->context->placement;
    field->picture = (Picture){.fit = "exact",
                               .method = "bilinear",
                               .like = "pil",
                               .antialias = true,
                               .channels = (int)channels};
    return become(call, field, FORM_image);
}

Value lower_resize(const FieldCall *call) {
    static const char *const parameters[] = {"h",    "w",           "method", "antialias",
                                             "like", "approximate", NULL};
    Type type;
    if (!expect(call, FORM_image, FORM_image, "an image")) return value_error;
    Given given = given_behind_field(call, parameters, 2, "resize(decode_jpeg(jpg), 32, 32)");
    if (!size_of(call, &given, 0, &type)) return value_error;
    Field *field = describe(call);
    field->picture.fit = "whole";
    if (!choose_method(&given, 2, &field->picture)) return value_error;
    return become_image(call, field, &type);
}

Value lower_resize_short(const FieldCall *call) {
    static const char *const parameters[] = {"n",    "method",      "antialias",
                                             "like", "approximate", NULL};
    if (!expect(call, FORM_image, FORM_image, "an image")) return value_error;
    Given given =
        given_behind_field(call, parameters, 1, "decode_jpeg(jpg) |> resize_short(256) |> …");
    Field *field = describe(call);
    field->picture.fit = "short";
    field->picture.numbers[0] = given_number(&given, 0, 0, 1, 1 << 16);
    if (given.broken || !choose_method(&given, 1, &field->picture)) return value_error;
    return become(call, field, FORM_large);
}

Value lower_center_crop(const FieldCall *call) {
    static const char *const parameters[] = {"h", "w", NULL};
    Type type;
    if (!expect(call, FORM_image, FORM_large, "an image")) return value_error;
    Given given = given_behind_field(call, parameters, 2, "center_crop(decode_jpeg(jpg), 32, 32)");
    if (!size_of(call, &given, 0, &type)) return value_error;
    Field *field = describe(call);
    if (call->field.form == FORM_image) field->picture.fit = "middle";
    return become_image(call, field, &type);
}

Value lower_crop(const FieldCall *call) {
    static const char *const parameters[] = {"top", "left", "h", "w", NULL};
    Type type;
    if (!expect(call, FORM_image, FORM_image, "an image")) return value_error;
    Given given = given_behind_field(call, parameters, 4, "crop(decode_jpeg(jpg), 0, 0, 32, 32)");
    if (!size_of(call, &given, 2, &type)) return value_error;
    Field *field = describe(call);
    field->picture.fit = "place";
    for (int i = 0; i < 2; i++) field->picture.numbers[i] = given_number(&given, i, 0, 0, 1 << 28);
    return given.broken ? value_error : become_image(call, field, &type);
}

Value lower_random_resized_crop(const FieldCall *call) {
    static const char *const parameters[] = {"h",         "w",    "area",        "ratio", "method",
                                             "antialias", "like", "approximate", NULL};
    Type type;
    if (!expect(call, FORM_image, FORM_image, "an image")) return value_error;
    Given given =
        given_behind_field(call, parameters, 2, "random_resized_crop(decode_jpeg(jpg), 224, 224)");
    if (!size_of(call, &given, 0, &type)) return value_error;
    Field *field = describe(call);
    double numbers[] = {0.08, 1, 3.0 / 4, 4.0 / 3};
    pair_of(&given, 2, 1, numbers);
    pair_of(&given, 3, 1e6, numbers + 2);
    if (given.broken || !choose_method(&given, 4, &field->picture)) return value_error;
    memcpy(field->picture.numbers, numbers, sizeof numbers);
    field->picture.fit = "random";
    field->picture.stream = stream_key(call->context);
    return become_image(call, field, &type);
}
