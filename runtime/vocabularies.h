/* Vocabularies: those of a program. Each is found in the training data or read from a file of
 * weights, where it is kept as metadata: `vocabulary.passengers.Embarked`, a line for each text. */
#ifndef FLOW_VOCABULARIES_H
#define FLOW_VOCABULARIES_H

#include "runtime/format/safetensors.h"
#include "runtime/vocabulary.h"

typedef struct Vocabularies Vocabularies;

/* NULL: no memory. */
Vocabularies *vocabularies_new(const FlowVocabulary *all, int count);
void vocabularies_free(Vocabularies *vocabularies);

/* Texts that a vocabulary has room for. */
int64_t vocabularies_room(const FlowVocabulary *vocabulary);

/* Gives vocabulary `index` its texts, which are in the order of their bytes. False: no memory. */
bool vocabularies_set(Vocabularies *vocabularies, int index, const char *const *texts,
                      int64_t count);

/* While vocabularies are found: fields that are bound get these seers, one a vocabulary. NULL: as
 * usual. */
void vocabularies_learn(Vocabularies *vocabularies, TextSeer *const *seers);

/* Do these fields decode nothing from now on? */
void vocabularies_skim(Vocabularies *vocabularies, bool skims);

bool vocabularies_are_learned(const Vocabularies *vocabularies);

/* Gives the field the categories of its vocabulary, if it has one. */
FlowStatus vocabularies_bind(const Vocabularies *vocabularies, FlowField *field);

/* Reads those that the file has and that are not known yet. Fails when one of them is damaged. */
FlowStatus vocabularies_read(Vocabularies *vocabularies, const Safetensors *file, const char *path);

/* As metadata; text NULL: it is not known. Valid until it gets other texts. */
Metadata vocabularies_metadata(const Vocabularies *vocabularies, int index);
int vocabularies_count(const Vocabularies *vocabularies);

/* What the text stands for; NULL: what is missing. -1: nothing. */
int32_t vocabularies_find(const Vocabularies *vocabularies, int index, const char *text);

/* The text that stands for the number; NULL: none does. */
const char *vocabularies_text(const Vocabularies *vocabularies, int index, int32_t category);

#endif
