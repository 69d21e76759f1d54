print("never")

x = = 2
