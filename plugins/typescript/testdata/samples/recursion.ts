const f = (n: number): number => f(n + 1) + 1;
f(0);
