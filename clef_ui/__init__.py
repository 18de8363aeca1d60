"""The page; it knows the model as the Decider protocol and the pure types, and never imports torch."""
