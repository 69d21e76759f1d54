// It fails.
System.out.println("before");
throw new IllegalStateException("boom");
