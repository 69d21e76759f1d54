loop {
    println!("again and again and again and again and again and again");
}
