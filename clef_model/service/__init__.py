"""System One over HTTP, over any Decider: the same routes beside the page and alone."""
