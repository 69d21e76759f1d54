print("grüße 🏕")
