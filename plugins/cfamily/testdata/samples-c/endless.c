puts("begun");
fflush(stdout);
for (;;) {
}
