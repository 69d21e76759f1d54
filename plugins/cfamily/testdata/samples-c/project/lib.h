const char *mark(void);
