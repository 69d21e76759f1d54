answer=42
