#include <cstdio>

int deeper(volatile int *n) {
  volatile int more = *n + 1;
  return deeper(&more) + more;
}

int main() {
  int n = 0;
  printf("%d\n", deeper(&n));
}
