"""The high-level server: tools, prompts and resources made of Python functions."""
