/* Merge: a short word is looked through again and again. The tokens of a long one are linked, and
 * all pairs that can be merged wait in a heap; one that has changed meanwhile is passed over when
 * it is its turn. */
#include "runtime/text/merge.h"

#include <string.h>

enum { SHORT = 24 /* tokens */ };

/* Short words. */

typedef struct Short {
    const Pairs *pairs;
    int32_t *tokens;
    size_t count;
    int32_t ranks[SHORT], merged[SHORT]; /* of token i and the next; rank INT32_MAX: not a pair */
} Short;

static void look_up(Short *word, size_t at) {
    const Pair *pair = pairs_find(word->pairs, word->tokens[at], word->tokens[at + 1]);
    bool known = pair->key != PAIR_NONE;
    word->ranks[at] = known ? pair->rank : INT32_MAX;
    word->merged[at] = known ? pair->token : 0;
}

static size_t lowest(const Short *word) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < word->count; i++)
        if (word->ranks[i] < word->ranks[best]) best = i;
    return best;
}

static void close_gap(int32_t *items, size_t at, size_t count) {
    memmove(items + at, items + at + 1, (count - at - 1) * sizeof *items);
}

static void merge_at(Short *word, size_t at) {
    word->tokens[at] = word->merged[at];
    close_gap(word->tokens, at + 1, word->count);
    close_gap(word->ranks, at, word->count - 1);
    close_gap(word->merged, at, word->count - 1);
    word->count--;
    if (at) look_up(word, at - 1);
    if (at + 1 < word->count) look_up(word, at);
}

static size_t merge_short(const Pairs *pairs, int32_t *tokens, size_t count) {
    Short word = {.pairs = pairs, .tokens = tokens, .count = count};
    for (size_t i = 0; i + 1 < count; i++) look_up(&word, i);
    while (word.count > 1) {
        size_t best = lowest(&word);
        if (word.ranks[best] == INT32_MAX) break;
        merge_at(&word, best);
    }
    return word.count;
}

/* Long words. */

#define NOWHERE UINT32_MAX

typedef struct Link {
    int32_t token; /* -1: it has become part of the one before */
    uint32_t before, next;
} Link;

/* A pair that could be merged: of the token at `place` and the next. */
typedef struct Chance {
    int32_t rank, token;
    uint32_t place;
} Chance;

typedef struct Long {
    const Pairs *pairs;
    Link *links;
    Chance *heap; /* the lowest first; each merge takes one and adds two at most */
    size_t chances;
} Long;

static bool is_before(const Chance *a, const Chance *b) {
    return a->rank != b->rank ? a->rank < b->rank : a->place < b->place;
}

static void push(Long *word, Chance chance) {
    size_t at = word->chances++;
    for (; at && is_before(&chance, &word->heap[(at - 1) / 2]); at = (at - 1) / 2)
        word->heap[at] = word->heap[(at - 1) / 2];
    word->heap[at] = chance;
}

static Chance pop(Long *word) {
    Chance first = word->heap[0], last = word->heap[--word->chances];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < word->chances; at = child) {
        child += child + 1 < word->chances && is_before(&word->heap[child + 1], &word->heap[child]);
        if (!is_before(&word->heap[child], &last)) break;
        word->heap[at] = word->heap[child];
    }
    word->heap[at] = last;
    return first;
}

/* What the token and the next could become. */
static void consider(Long *word, uint32_t place) {
    const Link *link = place == NOWHERE ? NULL : &word->links[place];
    if (!link || link->next == NOWHERE) return;
    const Pair *pair = pairs_find(word->pairs, link->token, word->links[link->next].token);
    if (pair->key != PAIR_NONE) push(word, (Chance){pair->rank, pair->token, place});
}

static bool is_still_there(const Long *word, const Chance *chance) {
    const Link *link = &word->links[chance->place];
    if (link->token < 0 || link->next == NOWHERE) return false;
    const Pair *pair = pairs_find(word->pairs, link->token, word->links[link->next].token);
    return pair->key != PAIR_NONE && pair->rank == chance->rank;
}

static void take(Long *word, const Chance *chance) {
    Link *link = &word->links[chance->place], *gone = &word->links[link->next];
    link->token = chance->token;
    link->next = gone->next;
    gone->token = -1;
    if (link->next != NOWHERE) word->links[link->next].before = chance->place;
    consider(word, link->before);
    consider(word, chance->place);
}

static size_t merge_long(Long *word, int32_t *tokens, size_t count) {
    size_t left = 0;
    for (uint32_t i = 0; i < count; i++)
        word->links[i] = (Link){tokens[i], i ? i - 1 : NOWHERE, i + 1 < count ? i + 1 : NOWHERE};
    for (uint32_t i = 0; i < count; i++) consider(word, i);
    while (word->chances) {
        Chance chance = pop(word);
        if (is_still_there(word, &chance)) take(word, &chance);
    }
    for (uint32_t i = 0; i != NOWHERE; i = word->links[i].next)
        tokens[left++] = word->links[i].token;
    return left;
}

bool merge_word(const Pairs *pairs, TokenList *tokens, size_t first, Room *work) {
    size_t count = tokens->count - first;
    if (count <= SHORT) {
        tokens->count = first + merge_short(pairs, tokens->items + first, count);
        return true;
    }
    size_t links = count * sizeof(Link);
    char *memory = room_for(work, links + 3 * count * sizeof(Chance));
    if (!memory) return false;
    Long word = {pairs, (Link *)(void *)memory, (Chance *)(void *)(memory + links), 0};
    tokens->count = first + merge_long(&word, tokens->items + first, count);
    return true;
}
