"""How the writers of this folder are told what to do: by numbers of steps on standard input, one a line.

What the tables hold then is printed, in one line. Starting Python with its libraries takes longer than a step.
"""
import json
import os
import pathlib
import random
import sys


def take_steps(step):
    """Takes steps of a lake, each with its own random numbers, until nobody asks for more."""
    lake, seed = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    for line in sys.stdin:
        number = int(line)
        print(json.dumps(step(lake, random.Random(seed * 1000 + number), number)), flush=True)
    # The libraries' threads do not survive an ordinary end.
    os._exit(0)
