const answer: number = 42;
