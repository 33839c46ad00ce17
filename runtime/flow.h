/* flow.h: what a generated program is made of, and what it calls.
 *
 * The compiler writes one FlowProgram full of constant tables and functions; `flow_main` (a
 * trainer) or `flow_library_*` (a deployed library) does the rest. Sizes are in bytes, counts in
 * records unless a name says otherwise. All floating-point data is in the machine's byte order,
 * rows first (C order). Nothing here is thread-safe unless it says so.
 *
 * Ownership: tables are constant and never freed; whoever creates a thing destroys it. */
#ifndef FLOW_H
#define FLOW_H

#include "runtime/half.h"
#include "runtime/size.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FLOW_RANK_LIMIT = 8, FLOW_ALIGNMENT = 64 };

/* What a process ends with. */
typedef enum FlowExit {
    FLOW_EXIT_ok = 0,
    FLOW_EXIT_data = 1,        /* wrong program, data or checkpoint */
    FLOW_EXIT_usage = 2,       /* wrong command line */
    FLOW_EXIT_resource = 3,    /* no memory, disk full, a device lost */
    FLOW_EXIT_interrupted = 4, /* stopped by a signal, state saved */
    FLOW_EXIT_internal = 70,
} FlowExit;

/* Success, or what went wrong: `exit` is FLOW_EXIT_ok or says which kind of failure, `text` is one
 * line for the user, naming file and record where there are any. */
typedef struct FlowStatus {
    FlowExit exit;
    char text[512];
} FlowStatus;

/* Success. Each step returns it several times, so no more of the text is written than its end. */
#define flow_ok flow_success()
static inline FlowStatus flow_success(void) {
    FlowStatus status;
    status.exit = FLOW_EXIT_ok;
    status.text[0] = 0;
    return status;
}

FlowStatus flow_failure(FlowExit exit, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Types. */

typedef enum FlowElement {
    FLOW_bool,
    FLOW_u8,
    FLOW_i8,
    FLOW_i32,
    FLOW_i64,
    FLOW_f16,
    FLOW_bf16,
    FLOW_f32,
    FLOW_f64,
} FlowElement;

/* A size that only a run knows is ~i: FlowProgram.sizes[i] tells it. */
typedef struct FlowType {
    FlowElement element;
    int rank;
    int64_t sizes[FLOW_RANK_LIMIT];
} FlowType;

size_t flow_element_size(FlowElement element);
size_t flow_type_size(const FlowType *type);

/* Compiled functions. */

#define FLOW_NOWHERE INT64_MAX /* no place in memory */

typedef struct FlowBarrier FlowBarrier;
typedef struct FlowObserver FlowObserver;

/* Holds back new values of weights and states that are not finite, unless they are the old ones. */
typedef struct FlowGuard {
    bool open;     /* nothing is held back */
    int64_t place; /* the first in memory that something was held back from; FLOW_NOWHERE */
} FlowGuard;

/* Memory that another processor has written and a later call reads. Its lines are asked for a few
 * at a time, before each kernel: who asks for many has to wait for the first of them. */
typedef struct FlowAsked {
    const char *next, *end;
} FlowAsked;

/* One call of a compiled function. */
typedef struct FlowFrame {
    char *memory;              /* the program's one allocation: weights, state, scratch */
    const void *const *inputs; /* one pointer for each FlowFunction.inputs */
    int64_t batch;             /* records in this batch, at most the planned number */
    FlowBarrier *barrier;      /* of the team that runs it */
    const int64_t *sizes;      /* one for each of FlowProgram.bounds */
    FlowObserver *observer;    /* makes the calls, or NULL: they are simply made */
    FlowGuard *guard;          /* or NULL: it is not said where anything was held back */
    bool ahead;                /* of a function that may: nobody waits for it at its end */
    FlowAsked *asked;          /* or NULL: what its first thread asks for meanwhile */
} FlowFrame;

/* One call of a kernel in a function. An operand is a number, a size (size.h), or the place of a
 * value: an offset in the frame's memory, or ~i for the frame's input i. */
typedef void FlowKernel(const FlowFrame *frame, const int64_t *operands, int thread, int threads);

typedef struct FlowCall {
    FlowKernel *kernel;
    bool barrier; /* before it */
    const int64_t *operands;
} FlowCall;

/* Sees each call of a function, and of the bodies of its loops. */
struct FlowObserver {
    /* Makes call `number` of those that it stands among, behind its barrier. */
    void (*make)(FlowObserver *observer, const FlowFrame *frame, const FlowCall *call, int number,
                 int thread, int threads);
    bool goes_on; /* it does not want GPUs to be waited for behind each of their kernels */
};

/* How a value is made of others, for those who want a single element of it. */
typedef enum FlowMaking {
    FLOW_MADE_elsewhere, /* an input, a weight; what no formula here says */
    FLOW_MADE_constant,
    FLOW_MADE_elementwise,
    FLOW_MADE_choice, /* the second or the third operand, as the first says */
    FLOW_MADE_generate,
    FLOW_MADE_reduce,
    FLOW_MADE_best, /* the index of one */
    FLOW_MADE_product,
    FLOW_MADE_same, /* the same elements in the same order */
    FLOW_MADE_broadcast,
    FLOW_MADE_view,
    FLOW_MADE_gather,
    FLOW_MADE_row,     /* each row by itself, in a way that no formula here says */
    FLOW_MADE_scatter, /* of any of the second operand */
} FlowMaking;

/* A coordinate in the operand of a view: (start + the sum of factors[j] * o[j]) / divisor. */
typedef struct FlowCoordinate {
    int64_t start;
    int size; /* 1 + the index in FlowProgram.sizes of a size that is added to the start; or 0 */
    int64_t factors[FLOW_RANK_LIMIT];
    int64_t divisor;
} FlowCoordinate;

/* What values have in common that the same place of the program makes in the same way. */
typedef struct FlowMade {
    FlowMaking making;
    const char *text; /* "log, digits.flow:24" */
    FlowType type;
    int operation; /* FlowTraceText.compute knows it */
    double number; /* constant: the number; reduce: what is begun with; view: what lies outside */
    uint32_t axes; /* reduce, best */
    int64_t stream;
    const FlowCoordinate *coordinates; /* view: one an axis of the operand */
} FlowMade;

/* What leads to the first result and to the updates of a training function, or what a turn of a
 * loop computes: as text that runtime/trace_text.h reads, which compiles soon. */
typedef struct FlowTraceText {
    const FlowCall *calls; /* to be made one by one; NULL in a loop */
    int call_count, value_count, stored_count, read_count, update_count;
    const FlowMade *made; /* how values are */
    const char *numbers;  /* of the values, of those that are stored, of the updates */
    const struct FlowTraceText *const *bodies; /* of each call: what a turn of it does, or NULL */
    double (*compute)(int operation, double a, double b, double c, double y, int64_t stream,
                      int64_t index);
} FlowTraceText;

/* Where a function's input comes from. */
typedef enum FlowInputKind {
    FLOW_INPUT_field,   /* field `index` of the batch; of an export: argument `index` */
    FLOW_INPUT_option,  /* option `index`, converted to `type.element` */
    FLOW_INPUT_step,    /* updates made so far, i64 */
    FLOW_INPUT_seed,    /* the run's seed, i64 */
    FLOW_INPUT_draw,    /* the seed, another one for each batch that is trained, i64 */
    FLOW_INPUT_batch,   /* records in this batch, i64 */
    FLOW_INPUT_plateau, /* the product of the factors that `reduce` applied so far, f32 */
    FLOW_INPUT_epoch,   /* passes over the data so far, f64 */
    FLOW_INPUT_size,    /* what FlowProgram.sizes[index] tells, i64 */
} FlowInputKind;

typedef struct FlowInput {
    const char *name;
    FlowInputKind kind;
    int index;
    FlowType type;     /* of one record, when a field */
    int64_t low, high; /* of an export's argument: low <= each value < high; both 0: any value */
} FlowInput;

/* A value that a call leaves in memory: a metric (scalar), or an export's result. */
typedef struct FlowResult {
    const char *name;
    size_t offset;
    FlowType type; /* of one record */
    bool total;    /* a measure over the whole pass so far: its last value counts, not the mean */
} FlowResult;

/* In which numbers a call computes most. */
typedef enum FlowArithmetic {
    FLOW_SINGLE,
    FLOW_DOUBLE,
    FLOW_HALVES, /* products of bf16, added up in f32 */
    FLOW_THIRDS, /* products of floats, by thirds where there are matrix tiles (product/thirds.h) */
    FLOW_ELSEWHERE, /* on a GPU, of whose limits nothing is known here */
} FlowArithmetic;

/* What a call computes and moves, at the largest sizes; for those who look where the time goes. */
typedef struct FlowWork {
    int kernel;       /* as `--explain` counts them */
    const char *text; /* "contraction [B, 784, 128]: digits.flow:24 matmul, add, maximum" */
    const char *how;  /* "tiles of 12 x 32 by 2 vectors"; or "" */
    FlowArithmetic arithmetic;
    double operations;
    double bytes; /* of the values it reads and writes, each once */
    double far;   /* of them: what the caches are taken to have lost */
} FlowWork;

/* All threads of a team call `run` with the same frame. Weights are updated in place; of a training
 * function only if the first result is finite, and not to another value that is not. */
typedef struct FlowFunction {
    const char *name;
    void (*run)(const FlowFrame *frame, int thread, int threads);
    const FlowInput *inputs;
    int input_count;
    const FlowResult *results;
    int result_count;
    const FlowTraceText *trace; /* of training functions; or NULL */
    const FlowWork *work;       /* of each call; NULL in a library */
    int work_count;
    bool ahead; /* one GPU computes all of it, so `run` may return before it is done */
} FlowFunction;

/* Waits until all threads of the frame's team are here. Spins, then yields the processor. */
void flow_barrier(const FlowFrame *frame, int thread, int threads);

#ifndef FLOW_HALF_MEANS /* which is set where the processor is known, and by tests */
#define FLOW_HALF_MEANS flow_half_means()
#endif

/* Pipelines. */

/* Of images: bytes that somebody else has written become pixels. */
typedef struct FlowDecoder FlowDecoder;

#define DECODER(name, library) extern const FlowDecoder flow_decoder_##name;
#include "runtime/decode/decoders.def"
#undef DECODER

/* What part of an image becomes one of the field's height and width. */
typedef enum FlowFit {
    FLOW_FIT_exact,  /* the image has that size */
    FLOW_FIT_whole,  /* all of it, resized */
    FLOW_FIT_short,  /* resized until its shorter side is numbers[0]; of that the middle */
    FLOW_FIT_middle, /* the middle, not resized */
    FLOW_FIT_place,  /* from row numbers[0] and column numbers[1] on, not resized */
    FLOW_FIT_random, /* a box of numbers[0] to numbers[1] of its area, numbers[2] to numbers[3]
                        times as wide as high, resized; another one for each key of a record */
} FlowFit;

typedef enum FlowMethod {
    FLOW_METHOD_nearest,
    FLOW_METHOD_bilinear,
    FLOW_METHOD_bicubic,
    FLOW_METHOD_area,
} FlowMethod;

/* Whose pixels those of a resized image are. */
typedef enum FlowLike { FLOW_LIKE_pil, FLOW_LIKE_tensorflow } FlowLike;

/* How an image of any size becomes one of the field's type. */
typedef struct FlowImage {
    FlowFit fit;
    FlowMethod method;
    FlowLike like;
    bool antialias;
    bool approximate; /* the decoder may halve it while it is at least twice as large as needed */
    double numbers[4];
    int64_t stream; /* of random choices: tells them from those of other fields */
} FlowImage;

/* What the tokens of a text are: its bytes, its characters, or merged bytes (GPT-2's). */
typedef enum FlowTokenKind {
    FLOW_TOKENS_bytes,
    FLOW_TOKENS_characters,
    FLOW_TOKENS_bpe
} FlowTokenKind;

/* What a field is of a text's tokens. */
typedef enum FlowTokenUse {
    FLOW_TOKENS_exact,  /* the tokens; there are so many as the field's type says */
    FLOW_TOKENS_padded, /* so many at most, and `filling` behind them */
    FLOW_TOKENS_length, /* how many there are */
    FLOW_TOKENS_span,   /* i64[2]: the address of tokens, i32, and how many; while the thread makes
                           no other span */
} FlowTokenUse;

/* What a text with too many tokens loses. */
typedef enum FlowTokenCut { FLOW_CUT_nothing, FLOW_CUT_start, FLOW_CUT_end } FlowTokenCut;

/* How a text becomes tokens, which are i32. */
typedef struct FlowTokens {
    FlowTokenKind kind;
    const char *alphabet;   /* characters: those that stand for 0, 1, …; or NULL */
    const char *vocabulary; /* a path: JSON, which number each text is; or NULL */
    const char *merges;     /* bpe: a path: which two texts become one, the first ones first */
    int vocabulary_option, merges_option; /* as FlowField.option */
    int64_t unknown;                      /* characters: what all others are; -1: they are errors */
    FlowTokenUse use;
    FlowTokenCut cut; /* padded; nothing: that is an error */
    int32_t filling;
} FlowTokens;

/* A named value of each record. `path` is where a source's field is read from; else NULL. `option`
 * is 1 + the index of the string option that says the path instead, or 0. */
typedef struct FlowField {
    const char *name;
    const char *path;
    FlowType type;
    const FlowDecoder *decoder;    /* of an image; NULL: the value is a number, or bytes */
    FlowImage image;               /* where there is a decoder */
    const char *const *categories; /* texts that stand for 0, 1, …; or NULL */
    int category_count;
    bool fills; /* what is missing is `filling` */
    double filling;
    bool digits; /* bytes are a number as text */
    int option;
    bool numbers;              /* csv: all columns that hold numbers; of other arrays of columns
                                  `name` is the first */
    const char *const *except; /* but these */
    int except_count;
    const FlowTokens *tokens;          /* of a text; or NULL */
    const struct Tokenizer *tokenizer; /* that makes them: given to a source, not by a program */
    int vocabulary; /* 1 + the one of FlowProgram.vocabularies that has the categories; or 0 */
    int unknown;    /* 1 + what a text is that is no category; 0: an error */
    bool reads;     /* bytes are the name of a file, which has the value */
    /* Set where the pipeline is opened: */
    const struct Vocabulary
        *texts;            /* finds what a text stands for; NULL: the field is no category */
    struct TextSeer *seer; /* sees the texts while they are found; or NULL */
    const bool *skims;     /* while it is true nothing is decoded: only texts are wanted; or NULL */
} FlowField;

/* Texts that are found in the training data, and kept with the weights. They stand for numbers
 * below `size`, in the order of their bytes; none for the two others: 1 + the number, or 0. */
typedef struct FlowVocabulary {
    const char *name; /* "passengers.Embarked" */
    int size;
    int unknown, missing;
} FlowVocabulary;

/* A condition that every record has to meet; `text` says it: "`y` must lie in 0..10". */
typedef struct FlowCheck {
    const char *text;
    const char *line; /* of the program: "digits.flow:19" */
    int field;        /* the field it speaks of, or -1 */
} FlowCheck;

/* Where the bytes come from that the path "-" stands for. */
typedef enum FlowOriginKind {
    FLOW_ORIGIN_input,   /* standard input */
    FLOW_ORIGIN_command, /* what a child process writes; words: its program and arguments */
    FLOW_ORIGIN_connect, /* a socket; the word: its address */
    FLOW_ORIGIN_listen,  /* the clients of one */
} FlowOriginKind;

/* A text, unless an option says it, as FlowField.option. */
typedef struct FlowWord {
    const char *text;
    int option;
} FlowWord;

typedef struct FlowOrigin {
    FlowOriginKind kind;
    const FlowWord *words;
    int word_count;
} FlowOrigin;

/* What a source is told beside its fields. */
typedef struct FlowSourceArguments {
    bool header;     /* csv: the first line has the names */
    int64_t records; /* range: how many; 0: without end */
    char separator;  /* csv: what stands between cells; 0: a comma */
    char comment;    /* csv: what a line begins with that is no record; 0: there are none */
    const char *const *missing; /* csv: cells that say that a value is missing, beside empty ones */
    int missing_count;
    int64_t header_size; /* binary: bytes before the first record of each file */
    const char *query;   /* sqlite: what selects the records */
    FlowOrigin origin;   /* of a feed */
} FlowSourceArguments;

/* A reader of one data format. Readers are opened once, read by many threads at the same time. */
typedef struct FlowReader FlowReader;
typedef struct FlowSource {
    const char *name;
    /* Opens what the fields' paths name and checks it against the fields' types; element types
     * are widened where no value can change. Fails with a message that names the file. */
    FlowStatus (*open)(const FlowField *fields, int count, const FlowSourceArguments *arguments,
                       FlowReader **reader);
    int64_t (*records)(const FlowReader *reader); /* not of a feed */
    /* What the records come from, one after the other, when they can't be counted; else NULL. They
     * are made as others are, while the feed has them. NULL: of any file they can. */
    struct Feed *(*feed)(const FlowReader *reader);
    /* Points firsts[i] at field i of record 0, valid until close; those of the other records lie
     * behind each other. False, or NULL: values have to be made. */
    bool (*point)(const FlowReader *reader, const void **firsts);
    /* Makes field i of the record in values[i]. False: it can't be; *failure (unless it is NULL)
     * then says why, naming file and record. Thread-safe. */
    bool (*make)(const FlowReader *reader, int64_t record, void *const *values,
                 FlowStatus *failure);
    /* Asks for the record's bytes, since it is going to be made soon. Thread-safe. NULL: there is
     * no need. */
    void (*prefetch)(const FlowReader *reader, int64_t record);
    /* Writes where the record comes from: "people.jsonl: line 7". NULL: file and number say it. */
    void (*locate)(const FlowReader *reader, int64_t record, char *text, size_t size);
    void (*close)(FlowReader *reader);
    bool finds_many; /* paths are patterns: "shard-*.tar" */
    bool awaits;     /* patterns of files that are still to come */
    bool is_folder;  /* the path is that of a folder */
} FlowSource;

#define SOURCE(name, ...) extern const FlowSource flow_source_##name;
#include "runtime/source/sources.def"
#undef SOURCE

/* Records are asked from memory that many before they are made, and once more shortly before: what
 * is made between pushes them out of the first cache. */
enum { FLOW_ROWS_AHEAD = 8, FLOW_ROWS_NEAR = 3 };

/* Records that a compiled function makes one after the other. */
typedef struct FlowRows {
    int64_t count;
    int64_t ahead;             /* more of them that are known, but made later */
    const void *const *fields; /* of each, those known too; behind its fields come two i64: its seed
                                  and the epoch */
    int stride;                /* pointers of each */
    void *const *outputs;      /* of the first; those of others lie behind them */
} FlowRows;

enum { FLOW_NOT_MADE = -1 };

/* What a record has not met: the check of that index, with this value. */
typedef struct FlowUnmet {
    int check;     /* or FLOW_NOT_MADE: none, a GPU has failed, as gpus_status says */
    bool is_whole; /* which of the two the value is */
    int64_t whole;
    double real;
} FlowUnmet;

/* A compiled function of records: from fields to outputs, in `memory` of the caller. Returns how
 * many it has made; when they are fewer, *unmet is why the next is not. While it makes a
 * record it asks for the fields of those that are FLOW_ROWS_AHEAD and FLOW_ROWS_NEAR behind it. */
typedef int64_t (*FlowRecordFunction)(char *memory, const int64_t *sizes, const FlowRows *rows,
                                      FlowUnmet *unmet);

typedef enum FlowOrderKind {
    FLOW_ORDER_shuffle,
    FLOW_ORDER_take,
    FLOW_ORDER_skip,
    FLOW_ORDER_filter,
    FLOW_ORDER_bucket
} FlowOrderKind;

/* Which records there are, and which comes first. */
typedef struct FlowOrder {
    FlowOrderKind kind;
    uint64_t number;              /* shuffle: its seed; take, skip: records */
    bool each_epoch;              /* shuffle: another order in each epoch */
    FlowRecordFunction condition; /* filter: one bool; bucket: one i64, how much of the size a
                                     record fills; not of the epoch */
    const FlowCheck *checks;      /* of the condition */
    int64_t window;               /* shuffle: so many records among themselves; 0: all */
    int bound;                    /* bucket: the size that each batch chooses: one of FlowProgram.
                                     bounds; the smallest of `sizes`, ascending, or the run's */
    const int64_t *sizes;
    int size_count;
} FlowOrder;

/* Records that are made of others: of the source's, or of a window of the section's before. A
 * window's fields are arrays of that section's outputs, or its tokens. */
typedef struct FlowSection {
    int64_t window, stride; /* records in one, and from one to the next, as in FlowType; of the
                               first: 1, 1 */
    const FlowField *fields;
    int field_count;
    const FlowOrder *orders; /* the only one of each epoch is of the last section */
    int order_count;
    FlowRecordFunction record; /* NULL: the fields are the outputs */
    const FlowCheck *checks;
    const FlowField *outputs;
    int output_count;
    bool packs; /* a window is of tokens, those of all records laid end to end: the section before
                          has one output, a span */
    int32_t separator; /* packs: a token behind each record; -1: there is none */
    int64_t together;  /* GPUs make so many of its records at a time; 0: they are made by the CPU */
} FlowSection;

typedef enum FlowJoinKind {
    FLOW_JOIN_concat,     /* the records of one input after those of the other */
    FLOW_JOIN_zip,        /* fields of all, as many records as the shortest has */
    FLOW_JOIN_interleave, /* one of each in turn, of those that are not through */
    FLOW_JOIN_mix,        /* each of an input by chance, until every one is through */
    FLOW_JOIN_repeat,     /* several passes over one */
    FLOW_JOIN_cache,      /* those of one, kept once made */
} FlowJoinKind;

/* What stands in the place of a source: other pipelines. */
typedef struct FlowJoin {
    FlowJoinKind kind;
    const struct FlowPipeline *const *inputs;
    int input_count;
    const int *places;     /* of each output of each input: the field that it becomes */
    uint64_t number;       /* mix: its seed; repeat: passes */
    const double *weights; /* mix: one an input */
    const char *path;      /* cache: its file; NULL: it is memory */
    int option;            /* as FlowField.option */
    bool seeded;           /* cache: what is kept depends on the run's seed */
    const char *code;      /* cache: the fingerprint of what makes the records */
} FlowJoin;

/* What becomes of a record that can't be made. */
typedef enum FlowOnError {
    FLOW_ON_ERROR_stop,
    FLOW_ON_ERROR_skip, /* its batch does without it */
    FLOW_ON_ERROR_log,  /* the same, and a file says why */
} FlowOnError;

typedef struct FlowPipeline {
    const char *name;
    const char *line;
    const FlowSource *source;
    FlowSourceArguments arguments;
    const FlowJoin *join; /* instead of a source; or NULL */
    const FlowSection *sections;
    int section_count;
    size_t memory; /* bytes: the most that one of its record functions needs */
    int64_t batch; /* records in a batch; the last of an epoch may hold fewer */
    int64_t
        patience; /* nanoseconds: of a feed, that a batch waits for its last records; 0: for ever */
    FlowOnError on_error;
    const char *log; /* its path */
    int log_option;  /* as FlowField.option */
    int threads;     /* that make batches; 0: the run decides */
    int queue;       /* batches that may lie ready before they are needed; 0: the run decides */
    int64_t limit;   /* bytes that it may hold when it runs by itself; 0: no limit */
    bool unordered;  /* within an epoch a batch may overtake others */
    bool on_gpus;    /* some of what makes its records runs there */
} FlowPipeline;

/* Programs. */

typedef enum FlowOptionKind {
    FLOW_OPTION_integer,
    FLOW_OPTION_real,
    FLOW_OPTION_string
} FlowOptionKind;

typedef struct FlowOption {
    const char *name, *help;
    FlowOptionKind kind;
    double number;      /* the default */
    const char *string; /* the default of a string */
    bool fixed;         /* shapes a tensor: set when the program was built */
} FlowOption;

/* `dim T <= 1024`: a size from 1 to `most` that each run chooses. */
typedef struct FlowBound {
    const char *name;
    int64_t most;
} FlowBound;

/* A size that follows from the records of a call and the values of the bounds. */
typedef int64_t FlowSize(int64_t batch, const int64_t *sizes);

/* A number of a train block: option `option`, or `value` when that is -1. */
typedef struct FlowNumber {
    int option;
    double value;
} FlowNumber;

/* A weight or a state. Names are paths: "classifier/dense.1/w". */
typedef struct FlowStorage {
    const char *name;
    FlowType type;
    size_t offset;
    bool of_run;         /* only training needs it; it is not among the weights that are deployed */
    const char *pass;    /* the function over whose pass it is a sum, zero at its start; or NULL */
    const char *average; /* the storage that is deployed in its place, or NULL */
    bool fitted;         /* found in the data before the first step */
} FlowStorage;

typedef enum FlowActionKind {
    FLOW_ACTION_evaluate,
    FLOW_ACTION_print,
    FLOW_ACTION_save,
    FLOW_ACTION_stop,   /* ends the training when the watch has lost its patience */
    FLOW_ACTION_reduce, /* multiplies the plateau's factor then */
} FlowActionKind;
typedef enum FlowUnit { FLOW_UNIT_step, FLOW_UNIT_epoch, FLOW_UNIT_second } FlowUnit;

/* A measure that an action waits for. */
typedef struct FlowWatch {
    bool set;
    int action; /* the evaluate whose result it is; -1: the step's, averaged over the epoch */
    int result;
    bool highest;        /* the more the better */
    FlowNumber patience; /* times without a better value */
} FlowWatch;

/* `every N unit { … }`: one action of it. */
typedef struct FlowAction {
    FlowNumber every;
    FlowUnit unit;
    FlowActionKind kind;
    const FlowFunction *function; /* evaluate, print */
    const FlowPipeline *pipeline; /* evaluate */
    const char *text;             /* print: instead of a function's result; evaluate: the name of
                                     its data in the program, or NULL */
    const char *path;             /* save */
    bool weights_only;            /* save: what is deployed, without the state of the run */
    int keep;                     /* save: so many files; the one before x.y is x.1.y */
    FlowWatch watch;              /* stop, reduce; save: only when the value is the best so far */
    FlowNumber factor;            /* reduce */
    int path_option;              /* save: as FlowField.option */
} FlowAction;

typedef struct FlowTrain {
    const char *name;
    const FlowFunction *initialise, *step; /* results of step: loss first, then the metrics */
    const FlowFunction *accumulate; /* for the batches before the last of an update; or NULL */
    const FlowFunction *const
        *fits; /* run over all data before the first step, one after the other */
    int fit_count;
    int64_t accumulate_count; /* batches of one update; 0 stands for 1 */
    int64_t memory;           /* bytes that it may hold; 0: no limit */
    const FlowPipeline *data;
    FlowNumber epochs, seed;
    FlowNumber steps;          /* the most updates */
    const FlowAction *actions; /* in the order written */
    int action_count;
} FlowTrain;

/* Sinks. */

typedef struct FlowEncoded {
    unsigned char *bytes;
    size_t size;
} FlowEncoded;

/* Of images: pixels become the bytes of a file. Thread-safe. */
typedef struct FlowEncoder {
    const char *name;
    /* type: u8[height, width, channels]; channels are 3 (red, green, blue) or 1. The caller frees
     * what was encoded; after a failure, whose text does not say where, there is nothing. */
    FlowStatus (*encode)(const FlowType *type, const void *pixels, int quality,
                         FlowEncoded *encoded);
} FlowEncoder;

#define ENCODER(name, library) extern const FlowEncoder flow_encoder_##name;
#include "runtime/encode/encoders.def"
#undef ENCODER

/* A value of each record as a sink gets it: record r lies `r` sizes of its type behind `values`. */
typedef struct FlowSinkField {
    const char *name;
    FlowType type;
    const char *values;         /* set anew before each write */
    bool text;                  /* of u8[n]: characters; zeros at the end only fill it */
    const char *path;           /* a file of its own; or NULL */
    int option;                 /* as FlowField.option */
    const FlowEncoder *encoder; /* of an image; or NULL */
    int index;                  /* of what the outlet takes */
} FlowSinkField;

typedef struct FlowSinkArguments {
    const char *path; /* NULL: standard output */
    int option;       /* as FlowField.option */
    int quality;      /* of lossy images, 1 to 100 */
    int64_t shard;    /* records in a file, whose names differ in {shard}; 0: all */
} FlowSinkArguments;

/* How the writing ended: all is there, the run was stopped, something failed. */
typedef enum FlowEnd { FLOW_END_whole, FLOW_END_stopped, FLOW_END_failed } FlowEnd;

/* A writer of one data format. What it opens has its name only when it is whole (runtime/output.h);
 * when the reader of standard output has gone, it fails with FLOW_EXIT_interrupted and no text. */
typedef struct FlowWriter FlowWriter;
typedef struct FlowSink {
    const char *name;
    /* At most `records` will come; INT64_MAX: nobody knows. The fields outlive the writer. */
    FlowStatus (*open)(const FlowSinkArguments *arguments, const FlowSinkField *fields, int count,
                       int64_t records, FlowWriter **writer);
    /* Writes so many records, which lie in the fields' values; `first` were written before. */
    FlowStatus (*write)(FlowWriter *writer, int64_t first, int64_t records);
    /* Frees the writer. What stays of one that was stopped is told as in output_close. */
    FlowStatus (*close)(FlowWriter *writer, FlowEnd end);
    /* Instead of write: called by all threads of a team, each writes its share of the records. */
    FlowStatus (*share)(FlowWriter *writer, int64_t first, int64_t records, int thread,
                        int threads);
} FlowSink;

#define SINK(name) extern const FlowSink flow_sink_##name;
#include "runtime/sink/sinks.def"
#undef SINK

/* Weights that are read from a file: all whose names begin with the prefix. */
typedef struct FlowLoad {
    const char *prefix, *path;
} FlowLoad;

/* Where records go. */
typedef struct FlowOutlet {
    const FlowSink *sink;
    FlowSinkArguments arguments;
    bool results; /* it takes results of the function; else outputs of the pipeline */
    const FlowSinkField *fields; /* without types and values */
    int field_count;
} FlowOutlet;

/* A pipeline that runs by itself. */
typedef struct FlowRun {
    const char *name;
    const FlowPipeline *pipeline;
    const FlowFunction *function; /* of its batches; or NULL */
    size_t memory_size;           /* of weights, states and what the function works in */
    const FlowOutlet *outlets;    /* the last is the end; records pass the others */
    int outlet_count;
    const FlowLoad *loads;
    int load_count;
} FlowRun;

/* Code of a program's kernels that was compiled for GPUs when it was built. */
typedef struct FlowDeviceImage {
    int capability; /* 90: for GPUs of compute capability 9.0, and 9.1 …; 0: the table's end */
    bool is_ptx;    /* drivers compile it further, for all later GPUs, too */
    const char *bytes;
} FlowDeviceImage;

typedef struct FlowProgram {
    const char *name;        /* "digits" */
    const char *folder;      /* where data is looked for after the current folder: that of the .flow
                                file; "" stands for the executable's */
    const char *fingerprint; /* of the compiled program: hexadecimal */
    const FlowOption *options;
    int option_count;
    const FlowBound *bounds;
    int bound_count;
    FlowSize *const *sizes;
    /* NULL, or which size does not come out whole with these values of the bounds; NULL: all do */
    const char *(*misfit)(const int64_t *sizes);
    const FlowStorage *storage;
    int storage_count;
    size_t memory_size;
    const FlowTrain *trains;
    int train_count;
    const FlowRun *runs;
    int run_count;
    const FlowFunction *exports;
    int export_count;
    const FlowVocabulary *vocabularies;
    int vocabulary_count;
    const char *device_text; /* CUDA of the kernels that run on GPUs; NULL: there are none */
    int gpu_count;           /* they are those numbered below this */
    bool exact;              /* --exact: replicas add up in their order */
    bool simulated;          /* --simulate: it was built beside a stand-in for GPUs */
    const FlowDeviceImage *device_images; /* NULL: there are none */
} FlowProgram;

/* A trainer's main. Returns the exit code. */
int flow_main(int argc, char **argv, const FlowProgram *program);

/* Deployed libraries. */

/* An instance of a program's exports with its weights. Different instances may be used by different
 * threads at the same time; one instance by one thread at a time. */
typedef struct FlowLibrary FlowLibrary;

/* How it computes on GPUs: runtime/device/guest.h. */
typedef struct FlowGuest FlowGuest;
extern const FlowGuest flow_guest;

/* Loads the weights of every storage from a safetensors file, and opens the GPUs that the exports
 * use. All memory is allocated here, but for what GPUs need for an export's arguments: its first
 * call takes that. guest: &flow_guest where the program has kernels for GPUs, else NULL. On failure
 * *library is NULL. */
FlowStatus flow_library_create(const FlowProgram *program, const FlowGuest *guest,
                               const char *weights, FlowLibrary **library);
void flow_library_destroy(FlowLibrary *library);

/* How many threads compute its calls on the CPU from now on, the caller's among them, at first it
 * alone; 0: one for each processor that the calling thread may use, which is the most. Fewer where
 * the system does not give them. Returns how many. */
int flow_library_threads(FlowLibrary *library, int threads);

/* Runs export `index`: arguments as in its inputs, results copied out as in its results. sizes: one
 * for each bound of the program. FLOW_EXIT_usage when one is out of its bounds or a size does not
 * come out whole, FLOW_EXIT_data when an argument's value is out of its range; nothing is computed
 * then. FLOW_EXIT_resource when a GPU has failed: so do all calls that follow. */
FlowExit flow_library_run(FlowLibrary *library, int index, const int64_t *sizes,
                          const void *const *arguments, void *const *results);

/* How its GPUs failed, as one line; "": they did not. As long as the library lives. */
const char *flow_library_message(const FlowLibrary *library);

/* What the text stands for in that vocabulary; NULL: what is missing. -1: nothing. */
int32_t flow_library_category(const FlowLibrary *library, int vocabulary, const char *text);

/* The text that stands for the number, as long as the library lives; NULL: none does. */
const char *flow_library_text(const FlowLibrary *library, int vocabulary, int32_t category);

#endif
