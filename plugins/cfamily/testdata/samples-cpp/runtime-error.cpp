#include <cassert>
std::cout << "before" << std::endl;
assert(!"boom");
