"""Becomes fork.py, the zygote.

    python3 zygote.py KERNEL [MODULE…]

It is a separate file because Python keeps the parsed text of its main program until the end,
and a fork that ends would copy those pages to free them.
"""

with open(__file__[: -len("zygote.py")] + "fork.py", "rb") as text:
    program = compile(text.read(), text.name, "exec")
exec(program)
