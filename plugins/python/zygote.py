"""Becomes fork.py, an interpreter that waits.

    python3 zygote.py KERNEL [MODULE…]

It is a file of its own because Python keeps, for as long as a program runs, what it made of
the program's text, and a fork that ends would copy that to free it.
"""

with open(__file__[: -len("zygote.py")] + "fork.py", "rb") as text:
    program = compile(text.read(), text.name, "exec")
exec(program)
