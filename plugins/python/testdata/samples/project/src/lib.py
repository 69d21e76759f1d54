def say(text):
    print("lib:", text)
