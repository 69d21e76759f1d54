print("before")
def fail():
    raise ValueError("boom")
fail()
