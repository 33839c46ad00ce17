/* Program: a whole .flow file as graphs and tables; what lower makes and the back end reads.
 *
 * Each piece of computation is a Function over one graph. Everything else is data: which
 * function a training step is, where batches come from, what happens when. */
#ifndef FLOW_GRAPH_PROGRAM_H
#define FLOW_GRAPH_PROGRAM_H

#include "compiler/graph/graph.h"

typedef enum InputKind {
    INPUT_field,
    INPUT_option,
    INPUT_step,    /* updates made so far, i64 */
    INPUT_seed,    /* of the run, i64 */
    INPUT_draw,    /* the seed, another one for each batch that is trained, i64 */
    INPUT_batch,   /* records in this batch, i64 */
    INPUT_plateau, /* the product of the factors that `reduce` applied so far, f32 */
    INPUT_pass,    /* of a record: the epoch it is made for, i64 */
    INPUT_epoch,   /* passes over the data so far, f64 */
    INPUT_size,    /* Program.sizes[index], i64 */
} InputKind;

/* What an input node stands for. */
typedef struct Input {
    const char *name; /* of the input node */
    InputKind kind;
    int index;         /* field: of the batch, of a source's record or of an export's arguments;
                         option: of Program.options */
    Type type;         /* of one record; for other kinds, of the value */
    int64_t low, high; /* of an export's argument: low <= each value < high; both 0: any value */
    bool zeros;        /* field: it may be zero in many places */
} Input;

enum { DECIDED_cpu = -1 };

/* One graph and the meaning of its inputs. Results are the graph's outputs, in order. */
typedef struct Function {
    const char *name;     /* "fit.step" */
    Graph *graph;         /* replaced by each pass */
    const Graph *lowered; /* before all of them; NULL until lowering is done */
    Vector(Input) inputs; /* those that the graph has, in no order */
    Vector(Type) results; /* of one record, for each OUTPUT_result in order */
    Vector(bool) totals;  /* of measures: the last one counts for the whole pass, not the mean */
    bool of_record;       /* of a pipeline: what it takes and gives lies behind pointers */
    bool of_turn;         /* the body of a loop: the same */
    bool once;            /* it is run once, which takes less time than to compile it */
    Placement loop_given; /* of_turn: where the loop runs */
    const signed char *decided; /* of each kernel that nobody placed: the number of a GPU, or
                                   DECIDED_cpu; NULL: nothing was decided */
} Function;

/* Is it called for records, and not for the turns of a loop? */
static inline bool makes_records(const Function *function) {
    return function->of_record && !function->of_turn;
}

typedef Vector(Function *) FunctionList;

/* How an image of any size becomes one of the field's type: names as in the runtime's FlowFit,
 * FlowMethod and FlowLike. */
typedef struct Picture {
    const char *fit, *method, *like;
    bool antialias, approximate;
    double numbers[4];
    int64_t stream;
    int channels;      /* 0: not said yet */
    Dim height, width; /* NULL: not said yet */
} Picture;

/* How a text becomes tokens. */
typedef struct TextTokens {
    const char *kind; /* FLOW_TOKENS_… of the runtime; NULL: it does not */
    const char *alphabet, *vocabulary, *merges; /* or NULL */
    int vocabulary_option, merges_option;       /* as Field.path_option */
    double unknown;                             /* -1: there is none */
    const char *use, *cut;                      /* FLOW_TOKENS_…, FLOW_CUT_… */
    double filling;
    Dim limit; /* every token is smaller; NULL: a file says it */
} TextTokens;

/* A named value of each record. The rest says how a source makes it of bytes or text. */
typedef struct Field {
    const char *name, *path; /* path: the file a source reads it from; else NULL */
    Type type;
    const char *column;  /* what the file calls it, where that differs; or NULL */
    const char *decoder; /* of images: an entry of the runtime's decoders.def; else NULL */
    Picture picture;     /* where there is a decoder */
    Vector(const char *) categories; /* texts that stand for 0, 1, … */
    int vocabulary; /* 1 + the one of Program.vocabularies that has them instead, or 0 */
    int unknown;    /* 1 + what a text is that is none of them, or 0: an error */
    bool fills;     /* an empty cell is `filling` */
    double filling;
    bool digits;                 /* its bytes are a number as text */
    int path_option;             /* 1 + the option that says the path, or 0 */
    bool varies;                 /* from epoch to epoch */
    bool learned;                /* it follows from texts that a vocabulary has */
    bool columns;                /* csv: several, from `column` on */
    bool numbers;                /* or all that hold numbers */
    Vector(const char *) except; /* but these */
    TextTokens tokens;           /* of a text */
    bool reads;                  /* its bytes are the name of a file, which is read */
    bool line;                   /* they are a line, or a name */
    Placement placement;         /* of what decodes it, as the program says */
} Field;

/* Texts that are found in the training data, and kept with the weights. */
typedef struct Vocabulary {
    const char *name;     /* "passengers.Embarked" */
    int size;             /* they stand for numbers below it, in their order, */
    int unknown, missing; /* but for those of these two: 1 + the number, or 0 */
    bool learned, loaded; /* by a train block; with the weights of a pipeline that runs by itself */
    Range range;
} Vocabulary;

typedef enum OrderKind {
    ORDER_shuffle,
    ORDER_take,
    ORDER_skip,
    ORDER_filter,
    ORDER_bucket
} OrderKind;

/* Which records there are, and which comes first. */
typedef struct Ordering {
    OrderKind kind;
    uint64_t number;    /* shuffle: its seed; take, skip: records */
    bool each_epoch;    /* shuffle: another order in each epoch */
    Function condition; /* filter: a record function of one bool; bucket: of one i64, how much of
                           the size a record fills; else without a graph */
    int64_t window;     /* shuffle: so many records among themselves; 0: all */
    int bound;          /* bucket: the size that batches choose: the smallest of `sizes`, ascending,
                           or what the run has */
    Vector(int64_t) sizes;
} Ordering;

/* Records that are made of others: of the source's, or of a window of the section's before. */
typedef struct Section {
    Dim window, stride;   /* records in one, and from one to the next; of the first: 1, 1 */
    Vector(Field) fields; /* what a record is made of */
    Vector(Ordering) orders;
    Function record; /* from fields to outputs, for one record; OP_check nodes are its checks,
                        which name a field. INPUT_seed and INPUT_pass are numbered behind the
                        fields */
    Vector(Field) outputs;
    bool plain; /* the outputs are the fields */
    bool packs; /* a window is of tokens, laid end to end; the section before has one output */
    double separator; /* packs: a token behind each record; -1: there is none */
} Section;

/* A source, a join or a sink; a stage that takes records, or batches. */
typedef enum StageKind {
    STAGE_source,
    STAGE_join,
    STAGE_stream,
    STAGE_batch,
    STAGE_sink
} StageKind;

/* A source, `map`, `batch`, as it was called. */
typedef struct Stage {
    const char *name;
    Range range;
    Placement placement;
    StageKind kind;
    size_t section; /* whose records it is given */
} Stage;

/* A number that an annotation gives: `@threads(4)`. value 0: there is none. */
typedef struct Wish {
    int value;
    Range range;
} Wish;

/* A stream of batches: source → sections → batch. */
/* What becomes of a record that can't be made. */
typedef enum OnError { ON_ERROR_stop, ON_ERROR_skip, ON_ERROR_log } OnError;

/* Where records come from. Any of those in files can be asked for; all others come one after the
 * other. A source is told of the first four of them that its file is "-". */
typedef enum OriginKind {
    ORIGIN_files,
    ORIGIN_input,
    ORIGIN_command,
    ORIGIN_connect,
    ORIGIN_listen,
    ORIGIN_folder, /* that is being filled: their names */
} OriginKind;

typedef struct OriginWord {
    const char *text;
    int option; /* 1 + the option that says it, or 0 */
} OriginWord;

typedef struct FeedOrigin {
    OriginKind kind;
    bool optional;            /* an option says so, which may say something else when it runs */
    Vector(OriginWord) words; /* a command and its arguments; or an address */
} FeedOrigin;

typedef struct Pipeline Pipeline;

typedef enum JoinKind {
    JOIN_concat,
    JOIN_zip,
    JOIN_interleave,
    JOIN_mix,
    JOIN_repeat,
    JOIN_cache
} JoinKind;

/* Other pipelines, whose records are a pipeline's. */
typedef struct Join {
    JoinKind kind;
    Vector(Pipeline *) inputs;
    int depth;              /* joins on the longest way to a source, this one included */
    Vector(int) places;     /* of each output of each input: the field that it becomes */
    uint64_t number;        /* mix: its seed; repeat: passes */
    Vector(double) weights; /* mix: one an input */
    const char *path;       /* cache: its file, or NULL */
    int path_option;        /* as Field.path_option */
    bool seeded;            /* cache: its records depend on the run's seed */
    const char *code;       /* cache: the fingerprint of its input; NULL until it is taken */
} Join;

struct Pipeline {
    const char *name; /* "digits" */
    Range range;
    const char *source; /* an entry of the runtime's sources.def; NULL: a join */
    Join join;          /* inputs: none where there is a source */
    bool headless;      /* csv: no line has the names of its columns */
    FeedOrigin origin;
    int64_t records;              /* range: how many; 0: without end */
    char separator;               /* csv: what stands between cells */
    char comment;                 /* csv: what lines begin with that are no records, or 0 */
    Vector(const char *) missing; /* csv: cells without a value, beside empty ones */
    int64_t header_size;          /* binary: bytes before the first record of a file */
    const char *query;            /* sqlite: what selects the records */
    Vector(Section *) sections;
    Section *section; /* the last */
    int64_t batch;    /* the most records in a batch */
    double patience;  /* seconds that a batch of a feed waits for its last records; 0: for ever */
    bool unordered;   /* within an epoch a batch may overtake others */
    OnError on_error;
    const char *log; /* its path */
    int log_option;  /* 1 + the option that says it, or 0 */
    Vector(Stage) stages;
    Wish threads, queue; /* what makes batches, and how many lie ready at least */
    double memory;       /* bytes that it may take when it runs by itself; 0: no limit */
    Range memory_range;
};

/* "standard input", "what a socket sends"; NULL: files. */
const char *origin_text(const Pipeline *pipeline);

/* Is its source told that the file is "-"? */
bool reads_a_stream(const Pipeline *pipeline);

/* Do its records come one after the other, so that none can be looked up? */
bool comes_as_it_comes(const Pipeline *pipeline);

/* Are there records for ever, all of which can be looked up? */
bool is_endless(const Pipeline *pipeline);

/* `dim T <= 1024`: each run chooses its value. Bound i is the symbol with that number. */
typedef struct Bound {
    const char *name;
    Dim symbol;
    Range range;
} Bound;

typedef enum OptionKind { OPTION_integer, OPTION_real, OPTION_string } OptionKind;

typedef struct Option {
    const char *name, *help; /* help: or NULL */
    OptionKind kind;
    double number;
    const char *string;
    bool fixed; /* a shape depends on it, or a decision at compile time */
    Range range;
} Option;

/* An option of the program, or a constant when option is -1. */
typedef struct Setting {
    int option;
    double value;
} Setting;

/* A weight or a state. All functions of a program share them by name. */
typedef struct Storage {
    const char *name; /* "classifier/dense.1/w" */
    Type type;
    bool trained;        /* a weight, which an optimizer updates; else a state */
    bool of_run;         /* only training needs it: optimizer's state, sums of gradients */
    const char *pass;    /* the function over whose pass it is a sum, zero at its start; or NULL */
    const char *fitted;  /* of a state that is found in the data before the first step: the path of
                            the call that owns it; or NULL */
    const char *average; /* of a weight: the state that stands for it once trained, or NULL */
    Range range;
} Storage;

typedef enum ActionKind {
    ACTION_evaluate,
    ACTION_print,
    ACTION_save,
    ACTION_stop,   /* ends the training once the watch has lost its patience */
    ACTION_reduce, /* multiplies `plateau` by factor then */
} ActionKind;
typedef enum ActionUnit { UNIT_step, UNIT_epoch, UNIT_second } ActionUnit;

/* A measure that some actions wait for. */
typedef struct Watch {
    bool set;
    int action; /* the evaluate whose result it is; -1: of the step, averaged over the epoch */
    int result;
    bool highest;     /* the more the better */
    Setting patience; /* times without a better value */
} Watch;

typedef struct Action {
    Setting every;
    ActionUnit unit;
    ActionKind kind;
    Function *function; /* evaluate, print */
    Pipeline *pipeline; /* evaluate */
    const char *text; /* print: unless a function's result is; evaluate: its data's name, or NULL */
    const char *path; /* save */
    bool weights_only; /* save: what is deployed, without the state of the run */
    int keep;          /* save: this many files, the older ones numbered; at least 1 */
    Watch watch;       /* stop, reduce; save: only when the measure is better than ever */
    Setting factor;    /* reduce */
    int path_option;   /* save: as Field.path_option */
} Action;

enum { ALL_GPUS = -1 };

typedef struct Train {
    const char *name;
    Range range;
    Function initialise, step; /* results of step: loss first, then the metrics */
    Function accumulate;       /* runs instead of step but for each accumulate_count-th batch; same
                            results; graph NULL: there is none */
    FunctionList fits;         /* run over all data before the first step, one after the other */
    int64_t accumulate_count;  /* batches of one update */
    GraphWishes wishes;        /* of step and accumulate */
    Pipeline *data;
    Setting epochs, steps, seed;
    Wish replicas, microbatches; /* of a batch; replicas: or ALL_GPUS */
    bool on_gpus;                /* each replica wants a GPU */
    double memory;               /* bytes it may take; 0: no limit */
    Range memory_range;
    Vector(Action) actions;
} Train;

/* Weights that are read from a file: all whose names begin with the prefix. */
typedef struct Load {
    const char *prefix, *path;
} Load;
typedef Vector(Load) LoadList;

/* A function of the deployed library. */
typedef struct Export {
    Function function;
    Vector(Field) arguments;
} Export;

/* A call, as a line of `flowc summary`. */
typedef struct Layer {
    const char *path;   /* "classifier/dense.1": the weights' names begin so */
    const Graph *graph; /* as lowered */
    NodeId first, end;  /* the nodes added while it ran */
    NodeId value;       /* NODE_NONE: no tensor */
} Layer;

/* A value of each record, as a sink takes it. */
typedef struct SinkField {
    const char *name;
    Type type;
    bool text;           /* u8[n]: characters */
    const char *path;    /* a file of its own, or NULL */
    int path_option;     /* as Field.path_option */
    const char *encoder; /* of an image: an entry of the runtime's encoders.def; else NULL */
    int index;           /* of the function's results, or of the outputs of the last section */
} SinkField;

/* Where the records of a pipeline go, at its end or on their way. */
typedef struct Sink {
    const char *name; /* an entry of the runtime's sinks.def */
    const char *path; /* NULL: standard output */
    int path_option;  /* as Field.path_option */
    int quality;      /* of lossy images */
    int64_t shard;    /* records in a file, whose names differ in {shard}; 0: all */
    bool of_results;  /* its fields are results of the run's function */
    int files;        /* that stay open while it writes */
    Vector(SinkField) fields;
} Sink;

typedef Vector(Sink) SinkList;

/* A pipeline that runs by itself. */
typedef struct Run {
    const char *name;
    Range range;
    Pipeline *pipeline;
    Function *function; /* of its batches; or NULL */
    SinkList sinks;     /* in the order written: the last is the end */
    LoadList loads;
} Run;

typedef struct Program {
    Arena *arena;
    Dimensions *dimensions;
    const char *name;        /* "digits" */
    const char *fingerprint; /* of what is computed; NULL until it is taken */
    const Source *source;
    bool exact;           /* --exact: so are the wishes of all functions */
    Placement usual;      /* where what nobody placed runs; any: on the CPU */
    int gpus;             /* code is written for those numbered below this */
    bool deploys_on_gpus; /* exports, too */
    bool simulated;       /* the GPUs are */
    Vector(Option) options;
    Vector(Bound) bounds;
    Vector(Dim) sizes; /* wanted as numbers when the program runs */
    Vector(Storage) storage;
    Vector(Vocabulary) vocabularies;
    Vector(Pipeline *) pipelines; /* all that trains, runs and actions use, inputs first */
    Vector(Train) trains;
    Vector(Run) runs;
    Vector(Export) exports;
    Vector(Layer) layers; /* the caller before the called */
} Program;

/* Every function of the program. */
FunctionList program_functions(Arena *arena, const Program *program);

#endif
