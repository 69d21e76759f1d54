System.out.println("before");
System.exit(7);
