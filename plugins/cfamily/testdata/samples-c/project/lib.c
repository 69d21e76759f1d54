#include "lib.h"

const char *mark(void) { return "lib: "; }
