int main(void) {
  return
      undefined;
}
