/* Records_learn: has each record of a source that training takes made once, for the texts in it.
 * Nothing behind the source is made. The pipeline was opened while its vocabularies are found. */
#ifndef FLOW_RECORDS_LEARN_H
#define FLOW_RECORDS_LEARN_H

#include "runtime/records.h"
#include "runtime/team.h"

/* Goes over all records. stops: fails at the first that can't be read; else goes on without it,
 * unless there is no memory for it. */
FlowStatus records_learn(const Records *records, bool stops, Team *team);

/* Makes what the record is made of, unless it was made before. False: a source can't read it;
 * *failure (unless it is NULL) says why, also where it was tried before. Thread-safe. */
bool records_learn_one(const Records *records, int64_t record, char *scratch, FlowStatus *failure);

#endif
