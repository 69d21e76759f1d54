fn deeper(n: &mut [u64; 100]) -> u64 {
    let mut more = [n[0] + 1; 100];
    deeper(&mut more) + more[7]
}

fn main() {
    println!("{}", deeper(&mut [0; 100]));
}
