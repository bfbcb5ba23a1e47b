"""What every test of running programs needs: conditions that come true in time, and how it ends otherwise."""

import time

SKIP = 77  # the exit status of a test that this machine cannot run


class Failure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


def wait_until(what, condition, limit=30.0, pause=0.1):
    """Polls until condition() is true and returns its value; errors on the way count as not yet."""
    end = time.monotonic() + limit
    last = None
    while True:
        try:
            value = condition()
            if value:
                return value
            last = value
        except (Failure, OSError, ValueError, KeyError, IndexError) as error:
            last = error
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {limit:.0f} s (last: {last})")
        time.sleep(pause)
