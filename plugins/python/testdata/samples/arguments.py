import sys

for argument in sys.argv[1:]:
    print(argument)
