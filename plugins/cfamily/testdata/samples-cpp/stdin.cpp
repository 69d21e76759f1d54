for (int c; (c = std::cin.get()) != EOF;) {
  std::cout.put(std::toupper(c));
}
