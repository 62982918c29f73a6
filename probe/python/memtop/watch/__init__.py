"""When to measure: what happens between two steps, with a viewer and without, and one measured step."""
