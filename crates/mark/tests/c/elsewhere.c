/* A second file of the same program: it shares the first one's ring. */
#include "netfathom_mark.h"

void elsewhere(void);

void elsewhere(void) { netfathom_mark("c: elsewhere"); }
