/* Stream: what the files that lower pipelines share. */
#ifndef FLOW_LOWER_STREAM_H
#define FLOW_LOWER_STREAM_H

#include "compiler/lower/lowering.h"
#include "runtime/bounds.h"

enum { CHECK_LIMIT = 1000 /* of a record */ };

/* source.c */

/* The name of a source as it lies in memory for ever, or NULL. */
const char *find_source(const char *name);
const char *nearest_source(const char *name);
Value open_source(const Context *context, const Expression *call, const char *source,
                  const Value *piped);

/* A column of sources.def. */
typedef enum SourceRecords { RECORDS_stored, RECORDS_coming, RECORDS_either } SourceRecords;
SourceRecords source_records(const char *source);

/* Those of `either`: "`binary`, `csv`". */
const char *streaming_sources(const Context *context);

/* A field of the source whose type is known. path: a string, or NULL. */
Value *add_typed_field(const Context *context, Stream *stream, const char *name, const Value *path,
                       Type type, Range range);

/* binary.c */
bool open_binary(const Context *context, const Expression *call, Stream *stream);

/* origin.c: the call with "-" in the place of `command(…)` and the like, which the pipeline gets to
 * know. NULL after reporting. */
const Expression *take_origin(const Context *context, const Expression *call, Pipeline *pipeline);

/* How one of that name is written, "listen(\"unix:/tmp/records\")"; NULL: there is none. */
const char *origin_example(const char *name);

/* The pipeline gets to know whether the source's path is standard input. False after reporting that
 * the source does not read that. */
bool take_path(const Context *context, Pipeline *pipeline, const Value *path, Range range);

/* coming.c */

/* Can any record be asked for, as the asker does ("`repeat`")? False after reporting. */
bool can_look_up(const Context *context, Range range, const char *asker, const Pipeline *pipeline);

/* The same of a shuffle without a window. */
bool can_shuffle(const Context *context, Range range, const Pipeline *pipeline);

/* Is it known how many there are? False after reporting. */
bool can_count(const Context *context, Range range, const char *sink, const Pipeline *pipeline);

/* Is there a last one? False after reporting. */
bool has_end(const Context *context, Range range, const char *asker, const Pipeline *pipeline);

/* stage.c: arguments. */

/* The call's only argument, perhaps named; NULL after reporting. */
const Expression *only_argument(const Context *context, const Expression *call, const char *name,
                                const char *example);

/* A whole number known at compile time; false after reporting. */
bool whole_number(const Context *context, const Expression *argument, const char *name,
                  double least, double most, double *number);

/* May the stream go on here? False after reporting; else it has gone on: a stream flows on once. */
bool use_stream(const Context *context, Range range, const Value *stream);

/* Keeps what was called, and where it is to run. */
void note_stage(const Context *context, Pipeline *pipeline, const Expression *call, StageKind kind);

/* record.c: the graph that computes a record. */

Context record_context(const Context *context, Stream *stream);

/* Makes a new section, the last of the pipeline. */
Section *add_section(const Context *context, Pipeline *pipeline);
Value lower_map(const Context *context, const Expression *call, const Value *stream);

/* Does it have any? False after reporting. */
bool has_fields(const Context *context, const Stream *stream);

/* Of a value of which nobody asked for an element type. */
Element usual_element(const Value *value);
/* Is the value another one in each epoch? */
bool varies(const Section *section, NodeId node);

/* Does it follow from texts that are found in the training data? */
bool is_learned(const Section *section, NodeId node);

/* The record's fields become the outputs of its section. False after reporting. */
bool finish_section(const Context *context, Stream *stream);

/* The fields of a section or record, by name, in the scope. */
void put_record(const Context *context, Scope *scope, const Items *record);

/* The fields that a call makes, each with a name: in `inner`. names NULL after reporting. */
Items lower_fields(const Context *context, const Context *inner, const Expression *call);

/* order.c: which records there are. */
Value lower_shuffle(const Context *context, const Expression *call, const Value *stream);
Value lower_take(const Context *context, const Expression *call, const Value *stream);
Value lower_skip(const Context *context, const Expression *call, const Value *stream);
Value lower_filter(const Context *context, const Expression *call, const Value *stream);
Value lower_window(const Context *context, const Expression *call, const Value *stream);

/* Shuffles so far, of its inputs as well, deal the records once. */
void settle_orders(Pipeline *pipeline);

/* A function of what the node needs, which is its result. */
Function extract_function(Arena *arena, const Function *from, NodeId node, const char *name);

/* bucket.c: batches of records of like length. */
Value lower_bucket(const Context *context, const Expression *call, const Value *stream);

/* That of the pipeline's batches, or NULL. */
const Ordering *bucket_of(const Pipeline *pipeline);

/* Can its records be made with the size of each bucket? False after reporting. */
bool fits_bucket(const Context *context, const Pipeline *pipeline);

/* Has a value of that type one size in all batches? False after reporting. */
bool has_one_size(const Context *context, const Pipeline *pipeline, const char *name,
                  const Type *type, Range range);

/* pack.c */
Value lower_pack(const Context *context, const Expression *call, const Value *stream);

/* joined.c: pipelines whose records come from others. */

/* `zip`, `interleave`, `mix`. False: the call is none of them. */
bool lower_join(const Context *context, const Expression *call, const Value *piped, Value *result);
bool is_join_name(const char *name);

/* `concat` of streams. */
bool holds_streams(const Value *list);
Value join_list(const Context *context, const Expression *call, const Value *list);

Value lower_repeat(const Context *context, const Expression *call, const Value *stream);

/* A pipeline that one stream is the input of; NULL after reporting. The call is a stage: it is
 * noted behind those of the input. */
Stream *join_one(const Context *context, const Expression *call, const Value *piped, JoinKind kind);

/* cache.c */
Value lower_cache(const Context *context, const Expression *call, const Value *stream);

/* batch.c */
Value lower_batch(const Context *context, const Expression *call, const Value *stream);
Value lower_batch_map(const Context *context, const Expression *call, const Value *batch);
Value lower_unbatch(const Context *context, const Expression *call, const Value *batch);

/* Ends the pipeline in batches of `size` records. False after reporting. */
bool finish_pipeline(const Context *context, Stream *stream, int64_t size);

/* The graph that computes the stream's batches. */
Context batch_context(const Context *context, Stream *stream);

/* Is the value one for each record of a batch? False after reporting. */
bool is_of_records(const Context *inner, const char *name, const Value *value);

/* sink.c */
Value lower_sink(const Context *context, const Expression *call, const Value *stream);

/* tee.c */
Value lower_tee(const Context *context, const Expression *call, const Value *stream);

/* Does the stream pass one where it can't? Then that was reported. */
bool report_tees(const Context *context, const Stream *stream, Range range);

/* In the section or the function that has just got its outputs: what tees take is among them. */
void place_tees(const Context *inner, Stream *stream);

#endif
