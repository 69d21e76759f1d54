class Hello {
    public static void main(String[] args) {
        undefined();
    }
}
