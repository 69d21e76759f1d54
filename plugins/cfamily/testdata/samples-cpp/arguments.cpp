for (int i = 1; i < argc; i++) {
  std::cout << argv[i] << std::endl;
}
