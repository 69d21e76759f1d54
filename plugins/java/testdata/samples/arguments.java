for (String arg : args) {
    System.out.println(arg);
}
