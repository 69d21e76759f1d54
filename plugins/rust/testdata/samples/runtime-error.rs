fn main() {
    println!("before");
    panic!("boom");
}
