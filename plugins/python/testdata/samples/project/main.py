import sys

from src.lib import say

for argument in sys.argv[1:]:
    say(argument)
