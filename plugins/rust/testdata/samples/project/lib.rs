pub fn mark(text: &str) -> String {
    format!("lib: {}", text)
}
