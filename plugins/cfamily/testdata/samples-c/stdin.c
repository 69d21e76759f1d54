for (int c; (c = getchar()) != EOF;) {
  putchar(toupper(c));
}
