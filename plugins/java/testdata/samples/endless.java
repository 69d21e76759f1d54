System.out.println("begun");
while (true) {
}
