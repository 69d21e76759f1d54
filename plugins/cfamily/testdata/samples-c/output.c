for (;;) {
  puts("again and again and again and again and again and again");
}
