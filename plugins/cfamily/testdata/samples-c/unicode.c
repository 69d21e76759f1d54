puts("grüße 🏕");
