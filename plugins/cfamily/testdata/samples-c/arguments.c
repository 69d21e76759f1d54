for (int i = 1; i < argc; i++) {
  puts(argv[i]);
}
