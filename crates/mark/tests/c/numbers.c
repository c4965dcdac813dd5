/* Prints where everything lies, to be compared with what the crate says of it. */
#include <stdio.h>

#include "netfathom_mark.h"

#define HEADER(field) printf(#field " %zu\n", offsetof(struct netfathom_mark_header, field))
#define SLOT(field) printf("slot." #field " %zu\n", offsetof(struct netfathom_mark_slot, field))
#define NUMBER(name) printf(#name " %llu\n", (unsigned long long)NETFATHOM_MARK_##name)

int main(void) {
    uint64_t magic;
    memcpy(&magic, NETFATHOM_MARK_MAGIC, 8);
    HEADER(magic);
    HEADER(version);
    HEADER(header_bytes);
    HEADER(slot_bytes);
    HEADER(slots);
    HEADER(name_bytes);
    HEADER(listener);
    HEADER(head);
    HEADER(tail);
    HEADER(lost);
    printf("header %zu\n", sizeof(struct netfathom_mark_header));
    SLOT(word);
    SLOT(at_ns);
    SLOT(owner);
    SLOT(name);
    printf("slot %zu\n", sizeof(struct netfathom_mark_slot));
    printf("MAGIC %llu\n", (unsigned long long)magic);
    NUMBER(VERSION);
    NUMBER(NAME_BYTES);
    NUMBER(SLOTS);
    NUMBER(LEAST_SLOTS);
    NUMBER(MOST_SLOTS);
    printf("free %d\nwriting %d\nwritten %d\nabandoned %d\n", netfathom_mark_free, netfathom_mark_writing,
           netfathom_mark_written, netfathom_mark_abandoned);
    printf("ring %zu\n", netfathom_mark_ring_bytes(NETFATHOM_MARK_SLOTS));
    return 0;
}
