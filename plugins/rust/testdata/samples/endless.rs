println!("begun");
loop {
    std::hint::spin_loop();
}
