export function say(text: string): void {
  console.log("lib: " + text);
}
