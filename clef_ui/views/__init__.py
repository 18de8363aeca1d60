"""What the panels draw: plain dictionaries made from decisions, encoded records and drafts."""
