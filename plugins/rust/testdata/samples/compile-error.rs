fn main() {
    println!("never");
    undefined();
}
