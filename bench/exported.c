/* What the C library offers for the same work, on whole numbers of 64 bits. */

#include <stdint.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void library_sort(int64_t *items, size_t count) { qsort(items, count, sizeof *items, compare); }

/* Looks every query up and returns how many are there. */
int64_t library_search(const int64_t *items, size_t count, const int64_t *queries, size_t query_count)
{
    int64_t found = 0;
    for (size_t k = 0; k < query_count; ++k)
        found += bsearch(&queries[k], items, count, sizeof *items, compare) != NULL;
    return found;
}

int64_t surpass_search_i64(const int64_t *items, size_t count, int64_t query, int64_t *steps);

/* Looks every query up by the exported program and returns how many are there; adds up the steps. */
int64_t exported_search(const int64_t *items, size_t count, const int64_t *queries, size_t query_count, int64_t *steps)
{
    int64_t found = 0, taken;
    for (size_t k = 0; k < query_count; ++k) {
        found += surpass_search_i64(items, count, queries[k], &taken) >= 0;
        *steps += taken;
    }
    return found;
}
