/* Stage_cost: what of making a batch takes longest, by the name that the program has for it. */
#include "runtime/decode/decoder.h"
#include "runtime/stage_state.h"

#include <stdio.h>
#include <string.h>

typedef struct Sums {
    double times[COST_PARTS], records, waits;
} Sums;

static void add(Sums *sums, const Costs *costs) {
    for (int i = 0; i < COST_PARTS; i++) sums->times[i] += (double)costs->times[i];
    sums->records += (double)costs->records;
    sums->waits += (double)costs->waits;
}

static Sums sums_of(const Stage *stage) {
    Sums sums = {0};
    for (int i = 0; i < stage->hand_count; i++) add(&sums, &stage->hands[i]->costs);
    for (int i = 0; i < stage->worker_count; i++) add(&sums, &stage->workers[i]->hand.costs);
    return sums;
}

static const char *decoder_name(const FlowDecoder *decoder) {
    static const char *const names[][2] = {
#define DECODER(name, library) {#name, "decode_" #name},
#include "runtime/decode/decoders.def"
#undef DECODER
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(decoder->name, "any") && !strcmp(decoder->name, names[i][0])) return names[i][1];
    return "decode";
}

/* Of what its bytes become. */
static const char *decode_name(const FlowSection *section) {
    static const char *const tokens[] = {[FLOW_TOKENS_bytes] = "bytes",
                                         [FLOW_TOKENS_characters] = "characters",
                                         [FLOW_TOKENS_bpe] = "bpe"};
    for (int i = 0; i < section->field_count; i++)
        if (section->fields[i].decoder) return decoder_name(section->fields[i].decoder);
    for (int i = 0; i < section->field_count; i++)
        if (section->fields[i].tokens) return tokens[section->fields[i].tokens->kind];
    return "decode";
}

static const char *part_name(const Stage *stage, int part) {
    const FlowPipeline *pipeline = stage->pipeline;
    if (part == COST_decode) return decode_name(&pipeline->sections[0]);
    if (part >= COST_record) return "map";
    return pipeline->source ? pipeline->source->name : pipeline->name;
}

/* Records, on the average: the last one of an epoch and those of a feed are not full. */
static double batch_size(const Stage *stage) {
    return (double)stage->given_rows / (double)stage->given_batches;
}

Bottleneck stage_bottleneck(const Stage *stage) {
    Sums sums = sums_of(stage);
    int most = 0;
    for (int i = 1; i < COST_PARTS; i++)
        if (sums.times[i] > sums.times[most]) most = i;
    if (!sums.records || !stage->given_batches) return (Bottleneck){0};
    bool team = !stage->wanted;
    int threads = team ? stage->team->threads : stage->wanted + stage_helps(stage, stage->wanted);
    double record = sums.times[most] / sums.records;
    return (Bottleneck){.name = part_name(stage, most),
                        .time = record * batch_size(stage) / threads,
                        .threads = threads,
                        .team = team,
                        .waits = sums.waits * 2 > sums.records};
}
