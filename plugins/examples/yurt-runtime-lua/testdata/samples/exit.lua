print("before")
os.exit(7, true)
