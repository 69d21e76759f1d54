int main() {
  return
      undefined;
}
