#include "lib.h"

std::string mark(const std::string &text) { return "lib: " + text; }
