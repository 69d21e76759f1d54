System.out.println("grüße 🏕");
