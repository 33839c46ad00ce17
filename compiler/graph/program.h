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
    INPUT_step,  /* updates made so far, i64 */
    INPUT_seed,  /* of the run, i64 */
    INPUT_batch, /* records in this batch, i64 */
} InputKind;

/* What an input node stands for. */
typedef struct Input {
    const char *name; /* of the input node */
    InputKind kind;
    int index; /* field: of the batch, of a source's record or of an export's arguments;
                         option: of Program.options */
    Type type; /* of one record; for other kinds, of the value */
} Input;

/* One graph and the meaning of its inputs. Results are the graph's outputs, in order. */
typedef struct Function {
    const char *name;     /* "fit.step" */
    Graph *graph;         /* replaced by each pass */
    Vector(Input) inputs; /* those that the graph has, in no order */
    Vector(Type) results; /* of one record, for each OUTPUT_result in order */
} Function;

/* A named value of each record. path: the file a source reads it from; else NULL. */
typedef struct Field {
    const char *name, *path;
    Type type;
} Field;

/* A stream of batches: source → shuffle → record function → batch. */
typedef struct Pipeline {
    const char *name; /* "digits" */
    Range range;
    const char *source;   /* an entry of the runtime's sources.def */
    Vector(Field) fields; /* what the source delivers */
    bool shuffled;
    uint64_t shuffle_seed;
    Function record; /* from fields to outputs, for one record; OP_check nodes are its checks,
                        which name a source field */
    Vector(Field) outputs;
    int64_t batch; /* the most records in a batch */
} Pipeline;

typedef enum OptionKind { OPTION_integer, OPTION_real, OPTION_string } OptionKind;

typedef struct Option {
    const char *name, *help; /* help: or NULL */
    OptionKind kind;
    double number;
    const char *string;
    bool fixed; /* a shape depends on it */
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
    bool trained; /* a weight, which an optimizer updates; else a state */
    Range range;
} Storage;

typedef enum ActionKind { ACTION_evaluate, ACTION_save } ActionKind;
typedef enum ActionUnit { UNIT_step, UNIT_epoch, UNIT_second } ActionUnit;

typedef struct Action {
    Setting every;
    ActionUnit unit;
    ActionKind kind;
    Function *function; /* evaluate */
    Pipeline *pipeline; /* evaluate */
    const char *path;   /* save */
} Action;

typedef struct Train {
    const char *name;
    Range range;
    Function initialise, step; /* results of step: loss first, then the metrics */
    Pipeline *data;
    Setting epochs, seed;
    Vector(Action) actions;
} Train;

/* A function of the deployed library. */
typedef struct Export {
    Function function;
    Vector(Field) arguments;
} Export;

typedef struct Program {
    Arena *arena;
    Dimensions *dimensions;
    const char *name;        /* "digits" */
    const char *fingerprint; /* of what is computed; NULL until it is taken */
    const Source *source;
    Vector(Option) options;
    Vector(Storage) storage;
    Vector(Pipeline *) pipelines; /* all that trains and actions use */
    Vector(Train) trains;
    Vector(Export) exports;
} Program;

#endif
