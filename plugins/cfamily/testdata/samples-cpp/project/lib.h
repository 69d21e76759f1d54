#include <string>

std::string mark(const std::string &text);
