while (true) {
    System.out.println("again and again and again and again and again and again");
}
