/* CSV feed: rows of a table that comes piece by piece. */
#ifndef FLOW_CSV_FEED_H
#define FLOW_CSV_FEED_H

#include "runtime/feed.h"
#include "runtime/source/csv_file.h"

typedef struct CsvFeed {
    CsvForm form;
    bool header; /* the first row is no record; it is kept */
    char *names; /* that row; or NULL */
    size_t names_size;
    Feed *feed;
} CsvFeed;

/* Opens csv->feed, and waits for the first record: its cells, and the names of the first row, are
 * the table's, as if they were a file of that path. Without any row file->end is NULL.
 * csv_feed_close has to follow. */
FlowStatus csv_feed_open(CsvFeed *csv, const FlowOrigin *origin, CsvFile *file);
void csv_feed_close(CsvFeed *csv);

/* Cuts rows: lines, unless their ends are in quotes. Context: a CsvFeed. */
FeedCut csv_cut;

#endif
