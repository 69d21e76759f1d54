use std::io::Read;
let mut text = String::new();
std::io::stdin().read_to_string(&mut text)?;
print!("{}", text.to_uppercase());
