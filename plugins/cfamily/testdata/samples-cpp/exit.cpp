std::cout << "before" << std::endl;
exit(7);
