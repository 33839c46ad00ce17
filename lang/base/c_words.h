/* C words: names that a C or C++ program can't have for its own. */
#ifndef FLOW_LANG_BASE_C_WORDS_H
#define FLOW_LANG_BASE_C_WORDS_H

#include <stdbool.h>

bool is_c_word(const char *name);

#endif
