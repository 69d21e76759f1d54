#include <assert.h>
puts("before");
fflush(stdout), assert(!"boom");
