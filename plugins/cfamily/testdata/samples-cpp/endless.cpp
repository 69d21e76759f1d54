std::cout << "begun" << std::endl;
for (volatile int i = 0;; i = i + 1) {
}
