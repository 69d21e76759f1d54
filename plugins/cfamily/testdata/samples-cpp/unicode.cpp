std::cout << "grüße 🏕" << std::endl;
