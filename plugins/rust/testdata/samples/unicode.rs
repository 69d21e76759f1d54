println!("grüße 🏕");
